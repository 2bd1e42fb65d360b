"""A turn with 1,100 self-taught facts: what building it takes beside the embedding, and counting it afterwards.

A hundred facts of the server and a hundred of each of ten people, all with vectors, a third of them dormant.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import psycopg

from benchmarks.corpus import EPOCH
from benchmarks.measuring import measured, say, summary
from benchmarks.recalling import MadeUpEmbedder
from benchmarks.server import BenchServer
from perdure import Memory, Space, ltm
from perdure.clock import SimulatedClock
from perdure.fact_types import FactId, FactKind, Participant, Persona, TurnState
from perdure.rules.placeholders import SERVER_USER
from perdure.store.accounting import Counted, Scored, record_recall_day
from perdure.store.database import Database, DatabaseUrls
from perdure.store.spaces import SpaceRow
from perdure.types import Family

DIMENSIONS: Final = (384, 2560)
PEOPLE: Final = 10
EACH: Final = 100
TURNS: Final = {"S": 30, "M": 100, "L": 200}
DAYS: Final = {"S": 10, "M": 20, "L": 30}
PROCESSES: Final = 16
COUNTED_DAYS: Final = 5
WARM_UP: Final = 10
QUERY: Final = "What do we do on Sunday?"

SLEEPING: Final = {
    FactKind.SERVER: "UPDATE server_memories SET decay_days = CASE WHEN id % 3 = 0 THEN 9 ELSE 1 END",
    FactKind.PERSONAL: "UPDATE personal_memories SET decay_days = CASE WHEN id % 3 = 0 THEN 9 ELSE 1 END",
}
ZERO: Final = {
    FactKind.SERVER: "UPDATE server_memories SET decay_days = 0, last_counted_day = NULL",
    FactKind.PERSONAL: "UPDATE personal_memories SET decay_days = 0, last_counted_day = NULL",
}
COUNTS: Final = """
    SELECT 'server' AS kind, id, decay_days, last_counted_day FROM server_memories
    UNION ALL
    SELECT 'personal', id, decay_days, last_counted_day FROM personal_memories
"""


async def measure(server: BenchServer, size: str) -> list[dict[str, Any]]:
    """Figures for each number of dimensions."""
    return [await _measure(server, size, dimensions) for dimensions in DIMENSIONS]


async def _measure(server: BenchServer, size: str, dimensions: int) -> dict[str, Any]:
    clock = SimulatedClock(EPOCH)
    embedder = MadeUpEmbedder(Family(f"made up {dimensions}", "bench", "none", dimensions))
    with server.passing("facts") as urls:
        async with Memory.open(
            database_url=urls.app,
            database_worker_url=urls.worker,
            database_owner_url=urls.owner,
            embedder=embedder,
            worker=False,
            clock=clock,
        ) as memory:
            space, row = memory.space("guild"), await memory.ensure_space("guild")
            state = await _teach(space, memory, row)
            with psycopg.connect(urls.owner, autocommit=True) as owner:
                for statement in SLEEPING.values():
                    owner.execute(statement)
                owner.execute("VACUUM ANALYZE")
            found = {
                "dimensions": dimensions,
                "facts": EACH * (PEOPLE + 1),
                "turn": await _turns(server, memory, row, state, TURNS[size]),
                "accounting": await _days(memory, row, state, clock, DAYS[size]),
            }
            built = await _build(memory, row, state)
        found["processes"] = _processes(urls.app, urls.worker, urls.owner, row, built)
    say(f"facts, {dimensions} dimensions: {found}")
    return found


async def _teach(space: Space, memory: Memory, row: SpaceRow) -> TurnState:
    people = tuple(Participant(f"u-{number}", f"Person{number}") for number in range(PEOPLE))
    persona = await space.persona("Momo")
    state = TurnState("guild", "general", Persona(persona.lineage, persona.name), people[0], people)
    for number in range(EACH):
        said = f"number {number}: they meet on Sundays at the old mill and bring bread, cheese and a game"
        await _taught(space, state, {"memory_content": f"The server, {said}", "memory_scope": "server_wide"})
        for person in people:
            about = {"memory_scope": "target_user", "target_user": person.name}
            await _taught(space, state, {"memory_content": f"{{user}}, {said}", **about})
    filled = 1
    while filled:
        filled = (await ltm.after_reply(memory.resources, row, await _build(memory, row, state))).filled_count
    return state


async def _taught(space: Space, state: TurnState, arguments: dict[str, object]) -> None:
    outcome = await space.create_long_term_memory(state, arguments)
    if not outcome.ok:
        raise RuntimeError(outcome.message)


async def _build(memory: Memory, row: SpaceRow, state: TurnState) -> ltm.TurnFacts:
    async def embed() -> np.ndarray:
        vectors = await memory.resources.embedder.embed([QUERY], "query")
        vector: np.ndarray = vectors[0]
        return vector

    return await ltm.build(memory.resources, row, ltm.FactTurn(state, QUERY), query=embed)


async def _turns(server: BenchServer, memory: Memory, row: SpaceRow, state: TurnState, turns: int) -> dict[str, Any]:
    """Candidates, scores and the lines of the ordinary blocks, as a prompt is made of them."""
    names = {person.user_id: person.name for person in state.participants}
    times: list[float] = []
    cpu_s = server_cpu_s = 0.0
    for number in range(WARM_UP + turns):
        if number == WARM_UP:
            cpu_s, server_cpu_s = 0.0, -server.cpu_s()
            times.clear()
        with measured() as took:
            built = await _build(memory, row, state)
            ltm.render_facts(memory.resources, row.id, built.server, SERVER_USER, "Momo")
            for user_id, facts in built.people.items():
                ltm.render_facts(memory.resources, row.id, facts, names[user_id], "Momo")
        assert len(built.scored) == EACH * (PEOPLE + 1), built.outcome
        times.append(took.ms)
        cpu_s += took.cpu_s
    server_cpu_s += server.cpu_s()
    return {
        "ms": summary(times),
        "client_cpu_ms": round(cpu_s * 1000 / turns, 2),
        "server_cpu_ms": round(server_cpu_s * 1000 / turns, 2),
    }


async def _days(memory: Memory, row: SpaceRow, state: TurnState, clock: SimulatedClock, days: int) -> dict[str, Any]:
    """Counting all facts once, on one day after the other."""
    built = await _build(memory, row, state)
    turn = _scored(memory.resources.family.id, built, winners=())
    times = []
    for _ in range(days):
        clock.advance(timedelta(days=1))
        day = clock.now()
        assert day is not None
        with measured() as took:
            counted = await _count_day(memory.resources.database, row.id, turn, day.date())
        assert counted.aged == EACH * (PEOPLE + 1)
        times.append(took.ms)
    return {"ms": summary(times)}


async def _count_day(database: Database, space_id: int, turn: Scored, day: date) -> Counted:
    return await database.in_space(space_id, lambda tx: record_recall_day(tx, turn, day))


def _scored(family_id: int, built: ltm.TurnFacts, winners: Sequence[FactId]) -> Scored:
    state = built.turn.state
    return Scored(family_id, built.scored, tuple(winners), built.candidates.scopes, state.server_id, state.channel_id)


def _processes(app: str, worker: str, owner: str | None, row: SpaceRow, built: ltm.TurnFacts) -> dict[str, Any]:
    """Processes that count the same facts of the same days at once, each with a winner of its own on the last."""
    assert owner is not None
    with psycopg.connect(owner, autocommit=True) as connection:
        for statement in ZERO.values():
            connection.execute(statement)
        found = connection.execute("SELECT id FROM families").fetchone()
    assert found is not None
    winners = sorted(built.scored)[:PROCESSES]
    days = [EPOCH.date() + timedelta(days=365 + number) for number in range(COUNTED_DAYS)]
    context = multiprocessing.get_context("spawn")
    crew = [
        context.Process(
            target=_count, args=(DatabaseUrls(app, worker), row.id, _scored(found[0], built, ()), days, winner)
        )
        for winner in winners
    ]
    with measured() as took:
        for process in crew:
            process.start()
        for process in crew:
            process.join()
    with psycopg.connect(owner) as connection:
        rows = connection.execute(COUNTS).fetchall()
    won = {(fact.kind.value, fact.number) for fact in winners}
    wrong = sum(
        (days_at, last) != ((0 if (kind, number) in won else COUNTED_DAYS), days[-1])
        for kind, number, days_at, last in rows
    )
    return {
        "processes": PROCESSES,
        "ended_well": sum(process.exitcode == 0 for process in crew),
        "counts": PROCESSES * COUNTED_DAYS,
        "wrong": wrong,
        "facts": len(rows),
        "seconds": round(took.wall_s, 1),
    }


def _count(urls: DatabaseUrls, space_id: int, turn: Scored, days: Sequence[date], winner: FactId) -> None:
    asyncio.run(_count_all(urls, space_id, turn, days, winner))


async def _count_all(urls: DatabaseUrls, space_id: int, turn: Scored, days: Sequence[date], winner: FactId) -> None:
    database = Database(urls, SimulatedClock(EPOCH), pool_size=1)
    await database.open()
    for day in days:
        of_day = replace(turn, winners=(winner,)) if day == days[-1] else turn
        await _count_day(database, space_id, of_day, day)
    await database.close()
