"""A scope never holds more than it may, whoever writes at once; a dormant fact makes room, and can come back."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from perdure import Memory, Space
from perdure.errors import Conflict, ScopeFull
from perdure.fact_types import FactId, FactKind, FactOutcome, FactScope, FactStage, FactStatus, Persona
from perdure.store.database import SpaceTransaction
from perdure.store.embedded import ServerUrls
from perdure.store.fact_scopes import lock_scope
from perdure.store.fact_writing import NewFact, insert_fact
from perdure.store.facts import read_scopes
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.test_facts_create import TURN, about, about_server, counts
from tests.integration.test_facts_update import age

HERE = FactScope(FactKind.SERVER, "guild", 10_007)
ADA = FactScope(FactKind.PERSONAL, "u-ada", 10_007)


async def fill(memory: Memory, space: Space, scope: FactScope, count: int) -> list[FactId]:
    """Facts, oldest first."""

    async def write(tx: SpaceTransaction) -> list[FactId]:
        await lock_scope(tx, scope, make=True)
        return [(await insert_fact(tx, scope, NewFact(f"old fact {number}"))).id for number in range(count)]

    row = await memory.ensure_space(space.name)
    return await memory.resources.database.in_space(row.id, write)


async def create(space: Space, content: str = "Something new", **more: object) -> FactOutcome:
    return await space.create_long_term_memory(TURN, about_server(content), **more)  # type: ignore[arg-type]


async def test_of_64_at_once_into_a_scope_with_room_for_one_exactly_one_is_kept(memory: Memory, space: Space) -> None:
    await fill(memory, space, HERE, 99)
    outcomes = await asyncio.gather(*(create(space, f"new fact {number}") for number in range(64)))
    assert Counter(outcome.status for outcome in outcomes) == {FactStatus.SAVED: 1, FactStatus.LIMIT_EXCEEDED: 63}
    assert len(await space.facts(about="server:guild")) == 100


async def test_of_64_of_four_processes_exactly_one_is_kept(memory: Memory, urls: ServerUrls, space: Space) -> None:
    await fill(memory, space, HERE, 99)
    caller = [sys.executable, "-m", "tests.integration.facts_caller", urls.app, urls.worker, space.name, "16"]
    root = Path(__file__).parents[2]
    processes = [
        await asyncio.create_subprocess_exec(
            *caller,
            cwd=root,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 60) == b"ready\n"
    said = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    told: Counter[str] = Counter()
    for out, _ in said:
        for line in out.decode().splitlines():
            status, times = line.split()
            told[status] += int(times)
    assert told == {"saved": 1, "limit_exceeded": 63}
    assert len(await space.facts(about="server:guild")) == 100


async def test_of_the_same_told_many_times_at_once_one_is_kept_and_all_know_it(space: Space) -> None:
    outcomes = await asyncio.gather(*(create(space) for _ in range(16)))
    assert Counter(outcome.status for outcome in outcomes) == {FactStatus.SAVED: 1, FactStatus.ALREADY_KNOWN: 15}
    assert len({outcome.id for outcome in outcomes}) == 1


async def test_each_scope_and_lineage_has_room_of_its_own(urls: ServerUrls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder, max_server_memories=2, max_personal_memories=1) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        kiki = replace(TURN, persona=Persona(10_008, "Kiki"))
        assert [(await create(space, text)).status for text in ("a", "b", "c")] == [
            FactStatus.SAVED,
            FactStatus.SAVED,
            FactStatus.LIMIT_EXCEEDED,
        ]
        for turn, arguments in (
            (kiki, about_server("c")),
            (replace(TURN, server_id="other"), about_server("c")),
            (TURN, about("Ada")),
            (TURN, about("Bob")),
            (kiki, about("Ada")),
        ):
            assert (await space.create_long_term_memory(turn, arguments)).status is FactStatus.SAVED
        assert (await space.remember("{user} naps", about="person:u-ada")).ok, "lineage 0 is counted by itself"
        with pytest.raises(ScopeFull, match="1 facts of personal 'u-ada'"):
            await space.remember("{user} sings", about="person:u-ada")
        outcome = await space.create_long_term_memory(TURN, about("Ada", "{user} sings"))
        assert outcome.status is FactStatus.LIMIT_EXCEEDED
        assert "delete" in outcome.message


async def test_a_full_scope_gives_up_the_longest_dormant_and_one_call_brings_it_back(
    memory: Memory, space: Space
) -> None:
    ids = await fill(memory, space, HERE, 100)
    others = await fill(memory, space, ADA, 3)
    await age(memory, space, others[0], 40)
    for fact_id, days in ((ids[3], 6), (ids[5], 9), (ids[9], 12), (ids[11], 12), (ids[20], 30), (ids[21], 20)):
        await age(memory, space, fact_id, days)
    await space.pin_fact(ids[20])

    outcome = await create(space, winners=[ids[21], others[0]])

    assert (outcome.status, outcome.replaced) == (FactStatus.SAVED, ids[9])
    assert str(ids[9]) in outcome.message
    assert (await space.fact(ids[9])).stage is FactStage.ARCHIVED
    assert len(await space.facts(about="server:guild")) == 100
    assert outcome.id is not None

    with pytest.raises(ScopeFull, match=f"instead_of={outcome.id}"):
        await space.restore_fact(ids[9])
    restored = await space.restore_fact(ids[9], instead_of=outcome.id)
    assert (restored.id, restored.content, restored.decay_days) == (ids[9], "old fact 9", 0)
    assert (await space.fact(ids[9])).stage is FactStage.ACTIVE
    assert (await space.fact(outcome.id)).stage is FactStage.ARCHIVED
    assert len(await space.facts(about="server:guild")) == 100


async def test_nothing_makes_room_that_is_not_dormant_or_is_pinned_or_won(memory: Memory, space: Space) -> None:
    ids = await fill(memory, space, HERE, 100)
    await age(memory, space, ids[0], 6)
    await age(memory, space, ids[1], 50)
    await space.pin_fact(ids[1])
    await age(memory, space, ids[2], 50)
    before = await counts(memory)
    outcome = await create(space, winners=[ids[2]])
    assert (outcome.status, outcome.replaced) == (FactStatus.LIMIT_EXCEEDED, None)
    assert await counts(memory) == before
    assert (await create(space)).replaced == ids[2]


async def test_what_every_persona_knows_is_never_pushed_out(memory: Memory, space: Space) -> None:
    ids = await fill(memory, space, replace(ADA, lineage=0), 100)
    await age(memory, space, ids[0], 50)
    with pytest.raises(ScopeFull):
        await space.remember("{user} sings", about="person:u-ada")
    assert len(await space.facts(about="person:u-ada")) == 100


async def test_without_decay_a_full_scope_is_full(urls: ServerUrls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder, memory_decay_enabled=False) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        ids = await fill(memory, space, HERE, 100)
        await age(memory, space, ids[0], 50)
        assert (await create(space)).status is FactStatus.LIMIT_EXCEEDED
        assert (await space.fact(ids[0])).stage is FactStage.ACTIVE


async def test_a_lowered_limit_takes_nothing_away(memory: Memory, urls: ServerUrls, embedder: HashedEmbedder) -> None:
    space = memory.space(f"space-{secrets.token_hex(6)}")
    ids = await fill(memory, space, HERE, 10)
    await age(memory, space, ids[0], 50)
    async with open_memory(urls, embedder, max_server_memories=5) as smaller:
        assert (await create(smaller.space(space.name))).status is FactStatus.LIMIT_EXCEEDED
    assert len(await space.facts()) == 10


async def waiting_for_locks(urls: ServerUrls, count: int = 1) -> None:
    """Until so many stand in front of a lock."""
    async with await psycopg.AsyncConnection.connect(urls.owner, autocommit=True) as watcher:
        for _ in range(200):
            row = await (await watcher.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")).fetchone()
            if row is not None and row[0] >= count:
                return
            await asyncio.sleep(0.05)
    raise AssertionError("nobody waits")


@pytest.mark.parametrize("others", [0, 1])
async def test_a_fact_that_is_won_back_meanwhile_stays(
    memory: Memory, urls: ServerUrls, space: Space, others: int
) -> None:
    """The win is committed while the writer waits for the row that it had chosen: it looks again."""
    ids = await fill(memory, space, HERE, 100)
    await age(memory, space, ids[0], 50)
    for other in ids[1 : 1 + others]:
        await age(memory, space, other, 8)
    row = await memory.find_space(space.name)
    assert row is not None
    async with await psycopg.AsyncConnection.connect(urls.owner) as winner:
        await winner.execute(
            "UPDATE server_memories SET decay_days = 0 WHERE space_id = %s AND id = %s", (row.id, ids[0].number)
        )
        creating = asyncio.create_task(create(space))
        await waiting_for_locks(urls)
        await winner.commit()
        outcome = await creating
    assert outcome.replaced == (ids[1] if others else None)
    assert outcome.status is (FactStatus.SAVED if others else FactStatus.LIMIT_EXCEEDED)
    assert (await space.fact(ids[0])).stage is FactStage.ACTIVE


async def test_a_win_that_comes_too_late_finds_nothing_and_disturbs_nothing(
    memory: Memory, urls: ServerUrls, space: Space
) -> None:
    """The other order: the replacement is committed first."""
    ids = await fill(memory, space, HERE, 100)
    await age(memory, space, ids[0], 50)
    assert (await create(space)).replaced == ids[0]
    row = await memory.find_space(space.name)
    assert row is not None
    async with await psycopg.AsyncConnection.connect(urls.owner) as winner:
        done = await winner.execute(
            "UPDATE server_memories SET decay_days = 0 WHERE space_id = %s AND id = %s", (row.id, ids[0].number)
        )
        assert done.rowcount == 0


@pytest.mark.parametrize("first", ["edit", "delete"])
async def test_an_edit_and_a_deletion_at_once_come_one_after_the_other(
    memory: Memory, urls: ServerUrls, space: Space, first: str
) -> None:
    """Both wait for the scope, in a known order; the second sees what the first has done."""
    (fact_id,) = await fill(memory, space, HERE, 1)
    row = await memory.find_space(space.name)
    assert row is not None

    async with open_memory(urls, HashedEmbedder()) as elsewhere:
        there = elsewhere.space(space.name)
        arguments = {"memory_id": str(fact_id), "memory_content": "" if first == "edit" else "new words"}
        async with await psycopg.AsyncConnection.connect(urls.owner) as holder:
            await holder.execute("SELECT 1 FROM fact_scopes WHERE space_id = %s FOR UPDATE", (row.id,))
            before = {"memory_id": str(fact_id), "memory_content": "new words" if first == "edit" else ""}
            one = asyncio.create_task(space.update_long_term_memory(TURN, before))
            await waiting_for_locks(urls)
            two = asyncio.create_task(there.update_long_term_memory(TURN, arguments))
            await waiting_for_locks(urls, 2)
            await holder.commit()
            outcomes = [await one, await two]
    if first == "edit":
        assert [outcome.status for outcome in outcomes] == [FactStatus.UPDATED, FactStatus.DELETED]
        assert outcomes[1].content == "new words"
    else:
        assert [outcome.status for outcome in outcomes] == [FactStatus.DELETED, FactStatus.NOT_FOUND]


async def test_what_is_pinned_or_elsewhere_makes_no_room_for_a_restored_fact(memory: Memory, space: Space) -> None:
    ids = await fill(memory, space, HERE, 2)
    (elsewhere,) = await fill(memory, space, ADA, 1)
    await space.update_long_term_memory(TURN, {"memory_id": str(ids[0]), "memory_content": ""})
    await space.pin_fact(ids[1])
    for other in (ids[1], elsewhere):
        with pytest.raises(Conflict):
            await space.restore_fact(ids[0], instead_of=other)
    await space.pin_fact(ids[1], pinned=False)
    assert (await space.restore_fact(ids[0], instead_of=ids[1])).id == ids[0]


@pytest.mark.parametrize("refused_first", [True, False])
async def test_who_says_no_while_something_is_learnt_of_them_is_heard(
    memory: Memory, urls: ServerUrls, space: Space, refused_first: bool
) -> None:
    """Both commit orders of a no and of a fact whose first look at privacy was before either."""
    (fact_id,) = await fill(memory, space, ADA, 1)
    row = await memory.find_space(space.name)
    assert row is not None

    async def commit_in_between(call: Coroutine[object, object, FactOutcome]) -> FactOutcome:
        async with await psycopg.AsyncConnection.connect(urls.owner) as holder:
            await holder.execute("SELECT 1 FROM fact_scopes WHERE space_id = %s FOR UPDATE", (row.id,))
            writing = asyncio.create_task(call)
            await waiting_for_locks(urls)
            if refused_first:
                await space.set_person("u-ada", privacy="full")
            await holder.commit()
            return await writing

    created = await commit_in_between(space.create_long_term_memory(TURN, about("Ada", "{user} is a spy")))
    await space.set_person("u-ada", privacy="minimal")
    arguments = {"memory_id": str(fact_id), "memory_content": "{user} is a double agent"}
    updated = await commit_in_between(space.update_long_term_memory(TURN, arguments))
    await space.set_person("u-ada", privacy="full")
    contents = {listed.fact.content for listed in await space.facts()}
    if refused_first:
        assert {created.status, updated.status} == {FactStatus.PRIVACY_RESTRICTED}
        assert contents == {"old fact 0"}
    else:
        assert (created.status, updated.status) == (FactStatus.SAVED, FactStatus.UPDATED)
        assert contents == {"{user} is a spy", "{user} is a double agent"}


async def test_what_is_taught_while_its_person_is_forgotten_is_either_gone_or_whole(
    memory: Memory, urls: ServerUrls, space: Space
) -> None:
    """A fact whose scope was erased under it must not become one that is stored and never read."""
    for number in range(12):
        await fill(memory, space, replace(ADA, lineage=10_100 + number), 2)
        turn = replace(TURN, persona=Persona(10_100 + number, "Momo"))
        created, _ = await asyncio.gather(
            space.create_long_term_memory(turn, about("Ada", f"fact {number}")), space.forget_person("u-ada")
        )
        assert created.status is FactStatus.SAVED
        listed = await space.facts(about="person:u-ada")
        assert [fact.fact.id for fact in listed] in ([], [created.id])
        scope = replace(ADA, lineage=10_100 + number)
        row = await memory.ensure_space(space.name)
        read = await memory.resources.database.in_space(row.id, lambda tx, scope=scope: read_scopes(tx, [scope]))
        assert [fact.id for held in read.values() for fact in held.facts] == [fact.fact.id for fact in listed]
        await space.forget_person("u-ada")
