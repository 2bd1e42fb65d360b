"""Time changes what memories are worth, by elapsed time alone; what has had its time goes, and nothing else does."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from perdure.fact_types import Participant, TurnState
from perdure.rules.decay import decayed, regressed
from perdure.store import aging
from perdure.store.changes import supersede
from perdure.store.database import SpaceTransaction
from perdure.store.leases import Leased, take
from perdure.store.memories import add_evidence, read_rows
from perdure.store.spaces import lock_space
from perdure.types import Evidence, Stored, Trust
from perdure.upkeep import keep_up
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure import Memory, Space
    from perdure.store.embedded import ServerUrls
    from tests.doubles.chat_server import ChatServer
    from tests.doubles.clock import SkippingClock
    from tests.doubles.embedder import HashedEmbedder

DAY = timedelta(days=1)
LONG = "\n\n".join(f"Paragraph {n}: " + "the harbour was rebuilt in stone after the flood. " * 12 for n in range(4))


@pytest.fixture
async def memory(urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock) -> AsyncIterator[Memory]:
    async with open_memory(urls, embedder, clock=noon) as memory:
        yield memory


async def save(space: Space, text: str, **given: object) -> int:
    outcome = await space.save(text, **given)  # type: ignore[arg-type]
    assert isinstance(outcome, Stored)
    return outcome.ids[0]


async def run(space: Space, statement: str, **params: object) -> list[dict[str, Any]]:
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def work(tx: SpaceTransaction) -> list[dict[str, Any]]:
        cursor = await tx._connection.execute(statement, {"space_id": tx.space_id, "now": tx.now, **params})
        return await cursor.fetchall() if cursor.description else []

    return await space._memory.resources.database.in_space(row.id, work)


async def states(space: Space) -> dict[int, dict[str, Any]]:
    rows = await run(
        space,
        "SELECT memory_id, salience::float8 AS salience, usefulness_score::float8 AS usefulness FROM memory_state"
        " WHERE space_id = %(space_id)s",
    )
    return {row["memory_id"]: row for row in rows}


async def outdate(space: Space, old: int, new: int | None) -> None:
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def write(tx: SpaceTransaction) -> None:
        await lock_space(tx)
        olds = list((await read_rows(tx, space.name, [old])).values())
        await supersede(tx, olds, new, reason="moved", changed_by="test", at=tx.now)

    await space._memory.resources.database.in_space(row.id, write, writer=True)


async def test_what_nobody_asks_for_fades_at_both_rates_down_to_one(space: Space, noon: SkippingClock) -> None:
    ids = [await save(space, f"Note number {n}.", salience=salience) for n, salience in enumerate((5, 10))]
    days = 0.0
    for step in (10, 21.3, 10.1, 14.7):
        noon.advance(step * DAY)
        days += step
        await space.upkeep()
        now = await states(space)
        for memory_id, salience in zip(ids, (5.0, 10.0), strict=True):
            assert now[memory_id]["salience"] == pytest.approx(decayed(salience, days, days, retrieved=False), rel=1e-5)
    assert now[ids[0]]["salience"] == now[ids[1]]["salience"] == 1.0


async def test_hourly_ticks_and_a_single_one_come_to_the_same(memory: Memory, noon: SkippingClock) -> None:
    spaces = [memory.space(f"space-{secrets.token_hex(6)}") for _ in range(2)]
    ids = [[await save(each, f"Note {n}.", salience=n + 1) for n in range(10)] for each in spaces]
    for _ in range(20 * 24):
        noon.advance(timedelta(hours=1))
        await spaces[0].upkeep()
    await spaces[1].upkeep()
    often, once = [await states(each) for each in spaces]
    for left, right in zip(*ids, strict=True):
        assert often[left]["salience"] == pytest.approx(once[right]["salience"], rel=1e-4)


async def test_retrievals_in_between_change_nothing_about_that(memory: Memory, noon: SkippingClock) -> None:
    rng = random.Random(5)
    spaces = [memory.space(f"space-{secrets.token_hex(6)}") for _ in range(2)]
    ids = [await save(each, "The ferry leaves at noon.", salience=8) for each in spaces]
    for _ in range(12):
        for _ in range(rng.randint(1, 6)):
            noon.advance(rng.random() * 5 * DAY)
            await spaces[0].upkeep()
        for each, memory_id in zip(spaces, ids, strict=True):
            await each.feedback([memory_id])
    often, once = [(await states(each))[memory_id] for each, memory_id in zip(spaces, ids, strict=True)]
    assert often["salience"] == pytest.approx(once["salience"], rel=1e-4)
    assert often["usefulness"] == pytest.approx(once["usefulness"], rel=1e-4)


async def test_usefulness_goes_back_to_the_middle_after_thirty_idle_days(space: Space, noon: SkippingClock) -> None:
    memory_id = await save(space, "The ferry leaves at noon.")
    await run(space, "UPDATE memory_state SET usefulness_score = 0.05 WHERE space_id = %(space_id)s")
    for days in (30, 1, 13, 34):
        noon.advance(days * DAY)
        await space.upkeep()
    expected = regressed(0.05, 78, 78)
    assert expected == pytest.approx(0.462, abs=5e-4)
    assert (await states(space))[memory_id]["usefulness"] == pytest.approx(expected, rel=1e-5)


async def test_what_is_a_day_old_at_most_is_left_alone(space: Space, noon: SkippingClock) -> None:
    memory_id = await save(space, "The ferry leaves at noon.", salience=8)
    noon.advance(DAY - timedelta(minutes=1))
    assert (await space.upkeep()).aged == 0
    assert (await states(space))[memory_id]["salience"] == 8


async def test_a_pinned_row_never_changes(space: Space, noon: SkippingClock) -> None:
    memory_id = await save(space, "Ada is allergic to peanuts.", salience=2)
    await space.pin(memory_id)
    await run(space, "UPDATE memory_state SET usefulness_score = 0.1 WHERE space_id = %(space_id)s")
    for _ in range(4):
        noon.advance(200 * DAY)
        await space.upkeep()
    assert (await states(space))[memory_id] == {
        "memory_id": memory_id,
        "salience": 2.0,
        "usefulness": pytest.approx(0.1),
    }


async def test_what_faded_unused_goes_and_the_past_still_knows_it(space: Space, noon: SkippingClock) -> None:
    await save(space, "The museum had free coffee that day.", salience=2)
    kept = await save(space, "Ada is allergic to peanuts.", salience=9)
    then = noon.now()
    noon.advance(91 * DAY)
    await space.pin(kept)
    report = await space.upkeep()
    assert dict(report.pruned) == {"faded": 1}
    assert [memory.id for memory in await space.list(superseded=True)] == [kept]
    assert not [hit for hit in (await space.search("free coffee in the museum")).hits if "coffee" in hit.memory.summary]
    past = await space.search("free coffee in the museum", as_of=then)
    assert "coffee" in past.hits[0].memory.summary


async def test_what_was_superseded_goes_after_its_grace(space: Space, noon: SkippingClock) -> None:
    old = await save(space, "Ada lives in Boston.", salience=9)
    new = await save(space, "Ada lives in Denver.", salience=9)
    await outdate(space, old, new)
    noon.advance(6.9 * DAY)
    assert not (await space.upkeep()).pruned
    noon.advance(0.2 * DAY)
    assert dict((await space.upkeep()).pruned) == {"superseded": 1}
    assert [memory.id for memory in await space.list(superseded=True)] == [new]


async def test_a_chain_of_replacements_goes_link_by_link(space: Space, noon: SkippingClock) -> None:
    cities = [await save(space, f"Ada lives in {city}.") for city in ("Boston", "Denver", "Oslo")]
    await outdate(space, cities[0], cities[1])
    noon.advance(3 * DAY)
    await outdate(space, cities[1], cities[2])
    noon.advance(5 * DAY)
    assert dict((await space.upkeep()).pruned) == {"superseded": 1}
    noon.advance(3 * DAY)
    assert dict((await space.upkeep()).pruned) == {"superseded": 1}
    assert [memory.id for memory in await space.list(superseded=True)] == [cities[2]]


async def test_a_text_goes_with_all_its_chunks_or_not_at_all(space: Space, noon: SkippingClock) -> None:
    outcome = await space.save(LONG, salience=1)
    assert isinstance(outcome, Stored)
    assert len(outcome.ids) > 2
    await run(
        space,
        "UPDATE memory_state SET retrieval_count = 1 WHERE space_id = %(space_id)s AND memory_id = %(id)s",
        id=outcome.ids[1],
    )
    noon.advance(100 * DAY)
    assert not (await space.upkeep()).pruned
    await run(space, "UPDATE memory_state SET retrieval_count = 0 WHERE space_id = %(space_id)s")
    assert dict((await space.upkeep()).pruned) == {"faded": len(outcome.ids)}
    assert not await space.list(superseded=True)


async def test_what_a_live_memory_rests_on_stays(space: Space, noon: SkippingClock) -> None:
    part = await save(space, "Rain in Oslo on Monday.", salience=1)
    whole = await save(space, "A wet week in Oslo.", salience=10)
    await space.pin(whole)
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def rest(tx: SpaceTransaction) -> None:
        await add_evidence(tx, [(whole, Evidence("memory", str(part), trust=Trust.USER))])

    await space._memory.resources.database.in_space(row.id, rest)
    noon.advance(91 * DAY)
    assert not (await space.upkeep()).pruned
    await outdate(space, whole, None)
    assert dict((await space.upkeep()).pruned) == {"faded": 1}


async def test_one_awkward_row_does_not_stop_the_rest(
    space: Space, noon: SkippingClock, urls: ServerUrls, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [await save(space, f"Faint note {n}.", salience=1) for n in range(30)]
    awkward = ids[7]
    noon.advance(91 * DAY)
    database = space._memory.resources.database
    async with database.owner() as owner:
        await owner.execute(
            "CREATE TABLE awkward (space_id bigint, id bigint, FOREIGN KEY (space_id, id) REFERENCES memories)"
        )
        await owner.execute("INSERT INTO awkward SELECT space_id, id FROM memories WHERE id = %s", (awkward,))
    try:
        report = await space.upkeep()
        assert dict(report.pruned) == {"faded": 29}
        assert report.awkward == (awkward,)
        assert [memory.id for memory in await space.list()] == [awkward]
        assert "Faint note" not in caplog.text
    finally:
        async with database.owner() as owner:
            await owner.execute("DROP TABLE awkward")


async def test_a_dry_run_names_what_would_go_and_changes_nothing(memory: Memory, noon: SkippingClock) -> None:
    name = f"space-{secrets.token_hex(6)}"
    everyone, couple = memory.space(name), memory.space(name, audience="couple")
    faint = await save(everyone, "Faint note.", salience=1)
    await save(couple, "Faint secret.", salience=1)
    noon.advance(91 * DAY)
    before = await states(everyone)
    report = await everyone.upkeep(dry_run=True)
    assert dict(report.pruned) == {"faded": 2}
    assert [(memory.id, memory.reason) for memory in report.listed] == [(faint, "faded")]
    assert await states(everyone) == before
    assert {each.summary for each in (await couple.upkeep(dry_run=True)).listed} == {"Faint note.", "Faint secret."}
    assert dict((await everyone.upkeep()).pruned) == {"faded": 2}


async def test_two_at_once_do_each_thing_once(space: Space, noon: SkippingClock) -> None:
    for n in range(60):
        await save(space, f"Note {n}.", salience=1 + n % 9)
    noon.advance(91 * DAY)
    reports = await asyncio.gather(*(space.upkeep() for _ in range(4)))
    assert sum(report.busy for report in reports) <= 3
    assert sum(sum(report.pruned.values()) for report in reports) == 60 - len(await states(space))
    assert not (await space.upkeep()).pruned


async def test_a_lease_that_was_left_behind_holds_nobody_up_for_long(space: Space, noon: SkippingClock) -> None:
    await save(space, "Note.", salience=5)
    noon.advance(30 * DAY)
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def leave(tx: SpaceTransaction) -> bool:
        return await take(tx, Leased.UPKEEP, "a process that was killed", 120)

    assert await space._memory.resources.database.in_space(row.id, leave)
    assert (await space.upkeep()).busy
    noon.advance(timedelta(seconds=121))
    assert (await space.upkeep()).aged == 1


async def test_decay_can_be_switched_off(urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock) -> None:
    async with open_memory(urls, embedder, clock=noon, memory_decay_enabled=False) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        memory_id = await save(space, "The ferry leaves at noon.", salience=8)
        noon.advance(400 * DAY)
        report = await space.upkeep()
        assert (report.aged, dict(report.pruned)) == (0, {})
        assert (await states(space))[memory_id]["salience"] == 8


async def test_side_tables_keep_what_settings_say(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock
) -> None:
    async with open_memory(urls, embedder, clock=noon, history_days=30) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        memory_id = await save(space, "The ferry leaves at noon.", operation_id="first")
        await space.pin(memory_id)
        noon.advance(91 * DAY)
        await space.save("The ferry leaves at one.", operation_id="second")
        report = await space.upkeep()
        assert dict(report.retired) == {"memory_history": 1, "operations": 1}
        assert not await space.history(memory_id)
        assert dict((await space.upkeep()).retired) == {}


async def test_what_facts_were_is_kept_as_long_as_what_memories_were(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock
) -> None:
    async with open_memory(urls, embedder, clock=noon, history_days=30) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        momo = await space.persona("Momo")
        state = TurnState("guild", None, momo, Participant("u-ada", "Ada"))
        gone = await space.create_long_term_memory(
            state, {"memory_content": "Chess on Mondays", "memory_scope": "server_wide"}
        )
        kept = await space.remember("{user} lives in Rome")
        assert kept.id is not None
        assert gone.id is not None
        await space.edit_fact(kept.id, content="{user} lives in Oslo")
        await space.update_long_term_memory(state, {"memory_id": str(gone.id), "memory_content": ""})
        noon.advance(29 * DAY)
        assert dict((await space.upkeep()).retired) == {}
        assert len(await space.facts(archived=True)) == 2
        noon.advance(2 * DAY)
        assert dict((await space.upkeep()).retired) == {"fact_history": 2, "fact_archive": 1}
        assert [listed.fact.content for listed in await space.facts(archived=True)] == ["{user} lives in Oslo"]
        assert await space.fact_history(kept.id) == ()


async def test_keeping_up_a_space_that_is_not_there_makes_none(memory: Memory) -> None:
    assert (await memory.space("nobody").upkeep()).finished
    assert await memory.find_space("nobody") is None


async def test_one_row_that_cannot_be_aged_does_not_stop_the_rest(
    space: Space, noon: SkippingClock, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [await save(space, f"Note {n}.", salience=8) for n in range(20)]
    awkward = ids[11]
    noon.advance(10 * DAY)
    database = space._memory.resources.database
    async with database.owner() as owner:
        await owner.execute(
            f"ALTER TABLE memory_state ADD CONSTRAINT awkward CHECK (memory_id <> {awkward} OR salience = 8) NOT VALID"
        )
    try:
        report = await space.upkeep()
    finally:
        async with database.owner() as owner:
            await owner.execute("ALTER TABLE memory_state DROP CONSTRAINT awkward")
    assert (report.aged, report.awkward) == (19, (awkward,))
    now = await states(space)
    assert {memory_id for memory_id, row in now.items() if row["salience"] < 7} == {*ids} - {awkward}
    assert "Note" not in caplog.text
    assert (await space.upkeep()).aged == 1


async def test_a_tick_that_ran_out_of_time_goes_on_where_it_was(
    space: Space, noon: SkippingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aging, "WINDOW", 3)
    ids = [await save(space, f"Note {n}.", salience=8) for n in range(10)]
    noon.advance(10 * DAY)
    row = await space._memory.find_space(space.name)
    assert row is not None
    aged = []
    for _ in range(4):
        looks = iter((False, False, True))
        report = await keep_up(space._memory.resources, row, "hurried", stopping=lambda looks=looks: next(looks, True))
        aged.append(report.aged)
        assert not report.finished
        noon.advance(timedelta(hours=1))
    assert aged == [6, 4, 0, 0], "the rest comes before what was aged an hour ago"
    assert (await space.upkeep()).finished
    now = await states(space)
    assert all(now[memory_id]["salience"] < 7 for memory_id in ids)


async def test_a_run_that_left_nothing_is_kept_no_longer_than_usage(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer
) -> None:
    async with open_memory(urls, embedder, clock=noon, thinker_url=chat.url, usage_days=30) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        for n in range(3):
            await save(space, f"Ada walks through the old harbour of Oslo, part {n}.")
        await space.think()
        chat.answer("consolidation", {})
        await save(space, "The rent is 900 euros.", salience=9)
        await space.think()
        assert [each.layer for each in await space.cognition_runs()] == ["consolidation", "episodes"]
        noon.advance(31 * DAY)
        assert (await space.upkeep()).retired["cognition_runs"] == 1
        assert [each.layer for each in await space.cognition_runs()] == ["episodes"]
