"""After forgetting, no table holds a word of a fact, or of a person; others lose nothing."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest

from perdure import Memory, Space
from perdure.errors import NotFound
from perdure.fact_types import FactStatus, Participant
from tests.integration.test_facts_create import BOB, MOMO, TURN, about, about_server
from tests.integration.test_facts_room import HERE, fill
from tests.integration.test_facts_update import age
from tests.integration.test_forgetting import held_by


@pytest.fixture
def canary() -> str:
    return f"zq{secrets.token_hex(5)}x"


async def test_nothing_is_left_of_a_fact_nor_of_what_it_said_before(memory: Memory, space: Space, canary: str) -> None:
    fact_id = (await space.remember(f"{{user}} hides {canary}", tags=[canary], operation_id="op-1")).id
    assert fact_id is not None
    await age(memory, space, fact_id, 9)
    await space.edit_fact(fact_id, content=f"{{user}} hid {canary} again", tags=[])
    await space.edit_fact(fact_id, content="{user} hides nothing")
    assert await held_by(space, canary)
    assert await space.forget_fact(fact_id) == (fact_id,)
    assert await held_by(space, canary) == []
    assert await space.facts(archived=True) == ()
    with pytest.raises(NotFound):
        await space.fact_history(fact_id)
    with pytest.raises(NotFound):
        await space.restore_fact(fact_id)


async def test_nothing_is_left_of_a_fact_that_was_archived(memory: Memory, space: Space, canary: str) -> None:
    ids = await fill(memory, space, HERE, 99)
    old = await space.create_long_term_memory(TURN, about_server(f"The key lies under {canary}"))
    assert old.id is not None
    await age(memory, space, old.id, 9)
    new = await space.create_long_term_memory(TURN, about_server("Something new"))
    assert new.replaced == old.id
    await space.update_long_term_memory(TURN, {"memory_id": str(ids[0]), "memory_content": canary})
    await space.update_long_term_memory(TURN, {"memory_id": str(ids[0]), "memory_content": ""})
    assert await space.forget_fact(old.id, ids[0]) == (old.id, ids[0])
    assert await held_by(space, canary) == []
    assert len(await space.facts(archived=True)) == 99


async def test_of_several_facts_all_are_forgotten_or_none(space: Space) -> None:
    fact_id = (await space.remember("{user} naps")).id
    assert fact_id is not None
    with pytest.raises(NotFound):
        await space.forget_fact(fact_id, "P999999")
    assert len(await space.facts()) == 1


async def test_nothing_is_left_of_a_person_and_others_keep_what_is_theirs(
    memory: Memory, space: Space, canary: str
) -> None:
    ghost = Participant(f"u-{canary}", f"Ada {canary}")
    turn = replace(TURN, speaker=ghost, participants=(ghost, BOB), message_id="message-of-the-ghost")
    await space.set_person(ghost.user_id, name=ghost.name, aliases=[f"{canary}!"])
    await space.set_personalised(ghost.user_id, "guild", personalised=False)
    own = await space.create_long_term_memory(turn, about(ghost.name, f"{{user}} owns {canary}"))
    for_all = await space.remember(f"{{user}} sings {canary}", about=f"person:{ghost.user_id}")
    of_bob = await space.create_long_term_memory(turn, about("Bob", "{user} cooks"))
    deleted = await space.create_long_term_memory(turn, about("Bob", "{user} dances"))
    changed = await space.create_long_term_memory(turn, about_server("Chess"))
    for outcome, text in ((deleted, ""), (changed, "Go")):
        done = await space.update_long_term_memory(turn, {"memory_id": str(outcome.id), "memory_content": text})
        assert done.ok
    await space.add_document("The rules of the house", name="rules.txt", uploaded_by=ghost.user_id)
    assert await held_by(space, canary)

    erased = await space.forget_person(ghost.user_id)

    assert set(erased.facts) == {own.id, for_all.id}
    assert await held_by(space, canary) == []
    assert await held_by(space, "message-of-the-ghost") == []
    assert of_bob.id is not None
    kept = (await space.fact(of_bob.id)).fact
    assert (kept.content, kept.taught_by) == ("{user} cooks", None)
    assert kept.evidence == {"server_id": "guild", "channel_id": "general", "lineage": MOMO.lineage}
    assert changed.id is not None
    assert [change.changed_by for change in await space.fact_history(changed.id)] == ["assistant"]
    again = await space.create_long_term_memory(turn, about(ghost.name, "{user} is back"))
    assert again.status is FactStatus.SAVED
    assert (await space.forget_person("nobody-at-all")).facts == ()


async def test_a_space_can_be_emptied_of_all_its_facts_and_people(memory: Memory, space: Space, canary: str) -> None:
    other = memory.space(f"space-{secrets.token_hex(6)}")
    kept = await other.remember("{user} naps")
    await space.persona(f"Momo {canary}")
    await space.set_person(canary, name=canary)
    await space.set_personalised(canary, canary, personalised=True)
    await space.set_server(canary, self_teaching_enabled=True)
    gone = await space.create_long_term_memory(TURN, about_server(f"Chess {canary}"))
    await space.update_long_term_memory(TURN, {"memory_id": str(gone.id), "memory_content": ""})
    one = await space.create_long_term_memory(TURN, about("Ada", canary))
    two = await space.remember(canary, about=f"server:{canary}")
    assert set(await space.forget_all_facts()) == {gone.id, one.id, two.id}
    assert await held_by(space, canary) == []
    assert await space.facts(archived=True) == ()
    assert await space.people() == ()
    assert await space.personas() == ()
    assert [listed.fact.id for listed in await other.facts()] == [kept.id]
    assert (await space.remember("{user} begins anew")).ok


async def test_a_scope_that_was_erased_and_comes_again_is_never_taken_for_the_one_before(
    memory: Memory, space: Space
) -> None:
    """Text may be rendered and kept in another process, under a revision that must not come twice."""
    row = await memory.ensure_space(space.name)

    async def revision() -> int:
        async with memory.resources.database.owner() as owner:
            found = await (
                await owner.execute("SELECT revision FROM fact_scopes WHERE space_id = %s", (row.id,))
            ).fetchone()
            assert found is not None
            return int(found["revision"])

    seen = []
    for number in range(3):
        await space.remember(f"fact {number}")
        seen.append(await revision())
        await space.remember(f"another fact {number}")
        seen.append(await revision())
        await space.forget_all_facts()
    assert seen == sorted(set(seen))
