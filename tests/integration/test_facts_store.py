"""Facts in their tables: read by scope and by nothing else, and every change makes what was rendered stale."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest

from perdure import Memory
from perdure.fact_types import Fact, FactKind, FactScope, Privacy
from perdure.store.database import SpaceTransaction
from perdure.store.fact_archive import archive_fact, list_archived, read_archived
from perdure.store.fact_scopes import lock_scope
from perdure.store.fact_writing import NewFact, bring_back, change_fact, delete_fact, insert_fact, read_changes
from perdure.store.facts import count_facts, find_same, list_facts, read_fact, read_scopes
from perdure.store.people import make_persona, read_people, set_person, set_personalised
from perdure.store.spaces import SpaceRow

HERE = FactScope(FactKind.SERVER, "guild", 10_000)
ADA = FactScope(FactKind.PERSONAL, "ada", 10_000)
EVERYWHERE = FactScope(FactKind.PERSONAL, "ada", 0)
OTHERS = (
    FactScope(FactKind.SERVER, "guild", 10_001),
    FactScope(FactKind.SERVER, "other", 10_000),
    FactScope(FactKind.PERSONAL, "bob", 10_000),
    FactScope(FactKind.PERSONAL, "guild", 10_000),
)


@pytest.fixture
async def room(memory: Memory) -> SpaceRow:
    return await memory.ensure_space(f"space-{secrets.token_hex(6)}")


async def teach(memory: Memory, room: SpaceRow, scope: FactScope, content: str) -> Fact:
    async def write(tx: SpaceTransaction) -> Fact:
        await lock_scope(tx, scope, make=True)
        return await insert_fact(tx, scope, NewFact(content))

    return await memory.resources.database.in_space(room.id, write)


async def test_a_turn_reads_the_facts_of_its_scopes_and_of_no_other(memory: Memory, room: SpaceRow) -> None:
    for scope in (HERE, ADA, EVERYWHERE, *OTHERS):
        await teach(memory, room, scope, f"of {scope.kind} {scope.owner} {scope.lineage}")

    found = await memory.resources.database.in_space(room.id, lambda tx: read_scopes(tx, [HERE, ADA, EVERYWHERE]))

    assert {scope: [fact.content for fact in held.facts] for scope, held in found.items()} == {
        HERE: ["of server guild 10000"],
        ADA: ["of personal ada 10000"],
        EVERYWHERE: ["of personal ada 0"],
    }
    stranger = await memory.ensure_space(f"space-{secrets.token_hex(6)}")
    assert await memory.resources.database.in_space(stranger.id, lambda tx: read_scopes(tx, [HERE, ADA])) == {}


async def test_newest_facts_come_first(memory: Memory, room: SpaceRow) -> None:
    taught = [await teach(memory, room, HERE, f"fact {number}") for number in range(3)]
    found = await memory.resources.database.in_space(room.id, lambda tx: read_scopes(tx, [HERE]))
    assert found[HERE].facts == tuple(reversed(taught))


async def test_every_change_makes_what_was_rendered_stale(memory: Memory, room: SpaceRow) -> None:
    database = memory.resources.database
    fact = await teach(memory, room, HERE, "Tea at four")

    async def revision() -> int:
        async def look(tx: SpaceTransaction) -> int:
            await lock_scope(tx, HERE)
            found = await tx.fetch_one(
                "SELECT revision FROM fact_scopes WHERE space_id = %(space_id)s AND owner = 'guild'"
            )
            assert found is not None
            return int(found["revision"])

        return await database.in_space(room.id, look)

    seen = [await revision()]
    pinned = replace(fact, pinned=True)
    said = replace(pinned, content="Tea at five", revision=2)

    async def pin(tx: SpaceTransaction) -> bool:
        return await change_fact(tx, fact, pinned, "pin", "user")

    async def say(tx: SpaceTransaction) -> bool:
        return await change_fact(tx, replace(pinned, revision=2), said, "edit", "user")

    async def drop(tx: SpaceTransaction) -> bool:
        now = await read_fact(tx, fact.id)
        assert now is not None
        assert now.content == "Tea at five"
        assert now.revision == 3
        await archive_fact(tx, now, "deleted", "user")
        return await delete_fact(tx, now)

    for step in (pin, say, drop):
        assert await database.in_space(room.id, step)
        seen.append(await revision())
    assert seen == sorted(set(seen))

    changes = await database.in_space(room.id, lambda tx: read_changes(tx, fact.id))
    assert [(change.action, change.content, change.pinned, change.revision) for change in changes] == [
        ("pin", "Tea at four", False, 1),
        ("edit", "Tea at four", True, 2),
    ]
    gone = await database.in_space(room.id, lambda tx: read_archived(tx, fact.id))
    assert gone is not None
    assert gone[0].content == "Tea at five"
    assert gone[1] is None

    async def back(tx: SpaceTransaction) -> Fact:
        assert gone is not None
        return await bring_back(tx, gone[0])

    returned = await database.in_space(room.id, back)
    assert (returned.id, returned.revision, returned.decay_days) == (fact.id, 4, 0)
    assert await database.in_space(room.id, lambda tx: list_archived(tx, FactKind.SERVER, 10, owner="guild"))


async def test_who_changes_what_changed_meanwhile_changes_nothing(memory: Memory, room: SpaceRow) -> None:
    fact = await teach(memory, room, ADA, "Tea")
    elsewhere = replace(fact, scope=EVERYWHERE)

    async def change(tx: SpaceTransaction) -> tuple[bool, bool]:
        first = await change_fact(tx, fact, replace(fact, content="Coffee"), "update", "bot")
        return first, await change_fact(tx, fact, replace(fact, content="Milk"), "update", "bot")

    assert await memory.resources.database.in_space(room.id, change) == (True, False)
    assert not await memory.resources.database.in_space(
        room.id, lambda tx: change_fact(tx, elsewhere, replace(elsewhere, content="Milk"), "update", "bot")
    )


async def test_the_same_in_another_spelling_is_the_same(memory: Memory, room: SpaceRow) -> None:
    fact = await teach(memory, room, ADA, "{user} drinks  Crème de Menthe with {char}")

    async def look(tx: SpaceTransaction) -> tuple[object, ...]:
        same = "{{User}} drinks crème de menthe with {bot}"
        found = await list_facts(tx, FactKind.PERSONAL, 10, owner="ada", lineages=[10_000])
        return (
            await find_same(tx, ADA, same),
            await find_same(tx, EVERYWHERE, same),
            await count_facts(tx, ADA),
            len(found),
        )

    assert await memory.resources.database.in_space(room.id, look) == (fact.id, None, 1, 1)


async def test_nobody_registered_is_minimal_and_consents(memory: Memory, room: SpaceRow) -> None:
    async def write(tx: SpaceTransaction) -> None:
        await set_person(tx, "ada", name="Ada", aliases=["ada_l"], privacy=None, consents=None)
        await set_person(tx, "ada", name=None, aliases=None, privacy=Privacy.PARTIAL, consents=False)
        await set_personalised(tx, "guild", "ada", personalised=False)
        await set_personalised(tx, "guild", "bob", personalised=False)

    database = memory.resources.database
    await database.in_space(room.id, write)
    people = await database.in_space(room.id, lambda tx: read_people(tx, ["ada", "bob", "eve"]))

    assert (people["ada"].name, people["ada"].aliases, people["ada"].privacy) == ("Ada", ("ada_l",), Privacy.PARTIAL)
    assert not people["ada"].consents
    assert people["ada"].personalised == {"guild": False}
    assert (people["bob"].privacy, people["bob"].consents) == (Privacy.MINIMAL, True)
    assert people["bob"].personalised == {"guild": False}
    assert (people["eve"].privacy, people["eve"].consents, people["eve"].personalised) == (Privacy.MINIMAL, True, {})


async def test_a_persona_keeps_its_lineage(memory: Memory, room: SpaceRow) -> None:
    database = memory.resources.database
    first = await database.in_space(room.id, lambda tx: make_persona(tx, "Momo", "momo"))
    again = await database.in_space(room.id, lambda tx: make_persona(tx, "MOMO", "momo"))
    other = await database.in_space(room.id, lambda tx: make_persona(tx, "Kiki", "kiki"))
    assert first == again
    assert first.lineage >= 10_000
    assert other.lineage > first.lineage
