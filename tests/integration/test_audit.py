"""The audit log: every change leaves who, when, which door, what kind and which rows, with the change or not at all."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta

import psycopg
import pytest

from perdure import InvalidInput, Memory, NotFound, Space
from perdure.acting import Actor, Door, acting
from perdure.fact_types import Participant, Persona, TurnState
from perdure.store.database import SpaceTransaction
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

WORD = "zanzibar"


@pytest.fixture
async def kept(own_database, embedder: HashedEmbedder, noon: SkippingClock) -> AsyncIterator[Memory]:
    async with open_memory(own_database, embedder, clock=noon) as memory:
        yield memory


def a_space(memory: Memory) -> Space:
    return memory.space(f"audited-{secrets.token_hex(4)}")


async def kinds(memory: Memory, space: Space) -> list[str]:
    return [entry.kind for entry in reversed(await memory.audit(space.name))]


async def test_each_change_leaves_its_verb_and_ids_and_no_word(kept: Memory, own_database) -> None:
    space = a_space(kept)
    stored = await space.save(f"The ferry to {WORD} leaves at noon")
    (one,) = stored.ids
    await space.update(one, text=f"The ferry to {WORD} leaves at one")
    await space.pin(one)
    await space.capture(user=f"I love {WORD}", operation_id=f"op-{WORD}")
    await space.drain()
    state = TurnState(None, None, Persona(10_000, "Momo"), Participant("u1", WORD), (Participant("u1", WORD),))
    fact = await space.remember(f"{WORD} is an island")
    await space.create_long_term_memory(
        state, {"memory_content": f"{WORD} is warm", "memory_scope": "target_user", "target_user": WORD}
    )
    await space.pin_fact(fact.id)
    await space.set_person("u1", name=WORD)
    added = await space.add_document(f"All about {WORD}.".encode(), name=f"{WORD}.txt")
    await space.delete_document(added.document.id)
    await space.forget_fact(fact.id)
    found = await kept.audit(space.name)
    assert [entry.kind for entry in reversed(found)] == [
        "save",
        "update",
        "pin",
        "capture",
        "drain",
        "remember",
        "create_long_term_memory",
        "pin_fact",
        "set_person",
        "add_document",
        "delete_document",
        "forget_fact",
    ]
    by_kind = {entry.kind: entry for entry in found}
    assert by_kind["update"].ids == (str(one),)
    assert by_kind["remember"].ids == (str(fact.id),)
    assert {(entry.actor, entry.door) for entry in found} == {("library", "library")}
    async with await psycopg.AsyncConnection.connect(own_database.owner) as connection:
        rows = await (await connection.execute("SELECT row_to_json(a)::text FROM audit_log a")).fetchall()
    assert WORD not in str(rows)


async def test_a_change_that_does_not_happen_leaves_no_entry(kept: Memory) -> None:
    space = a_space(kept)
    await space.save("The cat sleeps", operation_id="once")
    before = await kinds(kept, space)
    await space.save("The cat sleeps", operation_id="once")
    with pytest.raises(NotFound):
        await space.pin(10**12)
    with pytest.raises(InvalidInput):
        await space.save("")
    row = await kept.find_space(space.name)
    assert row is not None

    async def fail(tx: SpaceTransaction) -> None:
        from perdure.store.audit import note

        await note(tx, "never")
        raise KeyError

    with pytest.raises(KeyError):
        await kept.resources.database.in_space(row.id, fail)
    assert await kinds(kept, space) == before == ["save"]


async def test_an_entry_says_who_acted_and_through_which_door(kept: Memory) -> None:
    space = a_space(kept)
    with acting(Actor("laptop", Door.REST)):
        await space.save("The dog barks")
        with acting(Actor("inner", Door.MCP)):
            await space.save("The dog sleeps")
    await space.save("The dog eats")
    found = [(entry.actor, entry.door) for entry in reversed(await kept.audit(space.name))]
    assert found == [("laptop", "rest"), ("inner", "mcp"), ("library", "library")]


async def test_a_name_that_the_database_cannot_take_is_made_fit(kept: Memory) -> None:
    space = a_space(kept)
    with acting(Actor("\0" + "x" * 500, Door.CLI)), acting(Actor("\0", Door.CLI)):
        await space.save("The bird sings")
    assert [entry.actor for entry in await kept.audit(space.name)] == ["cli"]
    assert len(Actor("x" * 500).name) == 200


async def test_the_log_outlives_what_is_forgotten(kept: Memory) -> None:
    space = a_space(kept)
    stored = await space.save(f"The ferry to {WORD} is late")
    await space.forget(*stored.ids)
    assert await kinds(kept, space) == ["save", "forget"]
    assert {entry.ids for entry in await kept.audit(space.name)} == {tuple(map(str, stored.ids))}


async def test_entries_go_after_their_time(kept: Memory, noon: SkippingClock) -> None:
    space = a_space(kept)
    await space.save("The old news", pinned=True)
    name = f"old-{secrets.token_hex(4)}"
    await kept.create_key(name)
    noon.advance(timedelta(days=399))
    await space.save("The news", pinned=True)
    await space.upkeep()
    assert (await kinds(kept, space)).count("save") == 2
    noon.advance(timedelta(days=2))
    await space.upkeep()
    assert (await kinds(kept, space)).count("save") == 1
    since = noon.now() - timedelta(days=402)
    assert [
        e for e in await kept.audit(since=since, kind="create_key") if e.happened_at < since + timedelta(days=2)
    ] == []


async def test_the_log_is_read_by_time_and_kind(kept: Memory, noon: SkippingClock) -> None:
    space = a_space(kept)
    await space.save("One")
    noon.advance(timedelta(hours=1))
    (two,) = (await space.save("Two")).ids
    await space.pin(two)
    since = noon.now() - timedelta(minutes=1)
    assert [entry.kind for entry in await kept.audit(space.name, since=since)] == ["pin", "save"]
    assert next(iter(await kept.audit(space.name, kind="save"))).ids == (str(two),)
    assert len(await kept.audit(space.name, limit=1)) == 1
    with pytest.raises(NotFound):
        await kept.audit("nobody-here")


async def test_one_space_does_not_see_the_log_of_another(kept: Memory) -> None:
    mine, theirs = a_space(kept), a_space(kept)
    await mine.save("Mine")
    await theirs.save("Theirs")
    assert len(await kept.audit(mine.name)) == 1


async def test_the_application_role_cannot_change_what_is_in_the_log(kept: Memory, own_database) -> None:
    space = a_space(kept)
    await space.save("Something")
    row = await kept.find_space(space.name)
    assert row is not None

    async def rewrite(tx: SpaceTransaction) -> int:
        return await tx.execute("UPDATE audit_log SET actor = 'nobody' WHERE space_id = %(space_id)s")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await kept.resources.database.in_space(row.id, rewrite)


async def test_keys_leave_entries_that_belong_to_no_space(kept: Memory) -> None:
    name = f"key-{secrets.token_hex(4)}"
    with acting(Actor("root", Door.CLI)):
        key, _ = await kept.create_key(name)
        await kept.rotate_key(name)
        await kept.revoke_key(name)
    found = [entry for entry in await kept.audit() if entry.ids == (str(key.id),)]
    assert [entry.kind for entry in found] == ["revoke_key", "rotate_key", "create_key"]
    assert {entry.actor for entry in found} == {"root"}


async def test_what_the_worker_does_is_told_as_the_workers(own_database, embedder: HashedEmbedder) -> None:
    async with open_memory(own_database, embedder, worker=True, idle_drain_s=0.05) as memory:
        space = a_space(memory)
        with acting(Actor("laptop", Door.REST)):
            await space.capture(user="The ferry is late")
        async with asyncio.timeout(20):
            while len(found := await memory.audit(space.name)) < 2:
                await asyncio.sleep(0.05)
    assert [(entry.kind, entry.actor, entry.door) for entry in reversed(found)] == [
        ("capture", "laptop", "rest"),
        ("drain", "worker", "worker"),
    ]
