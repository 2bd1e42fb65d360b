"""`update_long_term_memory`: the whole fact is replaced or deleted, and only one that the turn has to do with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure import Memory, Space
from perdure.fact_types import FactId, FactStage, FactStatus, Persona, Privacy, TurnState
from perdure.store.database import SpaceTransaction
from tests.integration.test_facts_create import ADA, BOB, TURN, about, about_server

KIKI = replace(TURN, persona=Persona(10_008, "Kiki"))


async def taught(space: Space, arguments: dict[str, object], state: TurnState = TURN) -> FactId:
    outcome = await space.create_long_term_memory(state, arguments)
    assert outcome.status is FactStatus.SAVED
    assert outcome.id is not None
    return outcome.id


async def update(
    space: Space, memory_id: object, content: object, state: TurnState = TURN, **more: object
) -> FactStatus:
    arguments = {"memory_id": memory_id, "memory_content": content, **more}
    return (await space.update_long_term_memory(state, arguments)).status


async def content(space: Space, fact_id: FactId) -> str:
    return (await space.fact(fact_id)).fact.content


async def age(memory: Memory, space: Space, fact_id: FactId, days: int) -> None:
    """As if a fact had lost on so many days, and were scored in this family."""
    row = await memory.find_space(space.name)
    assert row is not None
    table = "server_memories" if str(fact_id).startswith("S") else "personal_memories"
    vectors = table.replace("memories", "memory_vectors")
    async with memory.resources.database.owner() as owner:
        await owner.execute(
            f"UPDATE {table} SET decay_days = %s, last_counted_day = '2026-03-01' WHERE space_id = %s AND id = %s",  # type: ignore[arg-type]
            (days, row.id, fact_id.number),
        )
        await owner.execute(
            f"INSERT INTO {vectors} (space_id, family_id, memory_id, embedding) VALUES (%s, %s, %s, '[1,0]')",  # type: ignore[arg-type]
            (row.id, memory.resources.family.id, fact_id.number),
        )


async def vectors(memory: Memory, space: Space) -> int:
    async def count(tx: SpaceTransaction) -> int:
        found = await tx.fetch_one(
            "SELECT (SELECT count(*) FROM server_memory_vectors WHERE space_id = %(space_id)s)"
            " + (SELECT count(*) FROM personal_memory_vectors WHERE space_id = %(space_id)s) AS n"
        )
        assert found is not None
        return int(found["n"])

    row = await memory.find_space(space.name)
    assert row is not None
    return await memory.resources.database.in_space(row.id, count)


@pytest.mark.parametrize("written", ["S{n}", "ID:S{n}", "id:s{n}", "{n}", "ID:{n}", 0, 0.0])
async def test_a_fact_of_the_server_is_found_by_typed_and_by_bare_id(space: Space, written: object) -> None:
    fact_id = await taught(space, about_server())
    number = fact_id.number
    memory_id = written.format(n=number) if isinstance(written, str) else type(written)(number)  # type: ignore[call-arg]
    assert await update(space, memory_id, "  The server plays go {on} Fridays ") is FactStatus.UPDATED
    assert await content(space, fact_id) == "The server plays go on Fridays"


async def test_a_bare_id_is_of_the_table_that_the_target_names(space: Space) -> None:
    of_server = await taught(space, about_server())
    of_ada = await taught(space, about("Ada"))
    assert await update(space, of_ada.number, "{user} hates it", target_user="Ada") is FactStatus.UPDATED
    assert await content(space, of_ada) == "{user} hates it"
    assert await content(space, of_server) == "The server plays chess on Mondays"
    assert await update(space, str(of_ada), "{user} likes it") is FactStatus.UPDATED, "a typed id needs no target"
    assert await update(space, str(of_server), "x", target_user="Ada") is FactStatus.INVALID_ARGUMENTS
    assert await update(space, str(of_ada), "x", target_user="Bob") is FactStatus.NOT_FOUND


@pytest.mark.parametrize("memory_id", [None, True, 1.5, "S", "Q7", "S0", -3, [], "S99999999999999999999999"])
async def test_what_is_no_id_is_refused(space: Space, memory_id: object) -> None:
    await taught(space, about_server())
    assert await update(space, memory_id, "x") is FactStatus.INVALID_ARGUMENTS


async def test_only_facts_of_this_server_persona_and_people_can_be_changed(memory: Memory, space: Space) -> None:
    of_server = await taught(space, about_server())
    of_ada = await taught(space, about("Ada"))
    without_ada = replace(TURN, speaker=BOB, participants=(BOB,))
    other_server = replace(TURN, server_id="other")
    stranger = memory.space(f"{space.name}-other")
    await taught(stranger, about_server("Something else"))
    for text in ("mine now", ""):
        for attempt in (
            update(space, str(of_server), text, other_server),
            update(space, str(of_server), text, KIKI),
            update(space, str(of_server), text, replace(TURN, server_id=None)),
            update(space, str(of_ada), text, KIKI),
            update(space, str(of_ada), text, without_ada),
            update(space, of_ada.number, text, without_ada, target_user="Bob"),
            update(stranger, str(of_server), text),
            update(stranger, str(of_ada), text),
            update(space, "S999999", text),
        ):
            assert await attempt is FactStatus.NOT_FOUND
    assert await update(space, of_ada.number, "x", without_ada, target_user="Ada") is FactStatus.TARGET_UNKNOWN
    assert await content(space, of_server) == "The server plays chess on Mondays"
    assert await content(space, of_ada) == "{user} loves Crème brûlée"
    assert await update(space, str(of_ada), "x", other_server) is FactStatus.UPDATED, "people go with their facts"


async def test_other_words_lose_their_vectors_and_wake_up(memory: Memory, space: Space) -> None:
    fact_id = await taught(space, about("Ada"))
    await age(memory, space, fact_id, 9)
    assert (await space.fact(fact_id)).stage is FactStage.DORMANT
    assert await update(space, str(fact_id), "{user} loves Crème brûlée") is FactStatus.NO_CHANGE
    assert await vectors(memory, space) == 1
    assert (await space.fact(fact_id)).fact.revision == 1

    assert await update(space, str(fact_id), "{user} is vegan now") is FactStatus.UPDATED
    listed = await space.fact(fact_id)
    assert (listed.stage, listed.fact.decay_days, listed.fact.revision) == (FactStage.ACTIVE, 0, 2)
    assert str(listed.fact.last_counted_day) == "2026-03-01", "what lost today can't lose again today"
    assert await vectors(memory, space) == 0
    (change,) = await space.fact_history(fact_id)
    assert (change.action, change.content, change.changed_by) == (
        "update",
        "{user} loves Crème brûlée",
        "assistant for u-ada",
    )


@pytest.mark.parametrize("blank", ["", "  \n", "\u200b"])
async def test_blank_words_delete_and_what_is_deleted_can_come_back(memory: Memory, space: Space, blank: str) -> None:
    fact_id = await taught(space, about_server())
    await age(memory, space, fact_id, 8)
    outcome = await space.update_long_term_memory(TURN, {"memory_id": str(fact_id), "memory_content": blank})
    assert (outcome.status, outcome.content) == (FactStatus.DELETED, "The server plays chess on Mondays")
    assert await space.facts() == ()
    assert await vectors(memory, space) == 0
    assert (await space.facts(archived=True))[0].stage is FactStage.ARCHIVED
    assert await update(space, str(fact_id), blank) is FactStatus.NOT_FOUND
    restored = await space.restore_fact(fact_id)
    assert (restored.id, restored.content, restored.decay_days) == (fact_id, "The server plays chess on Mondays", 0)


async def test_nothing_new_is_written_of_a_private_person_and_everything_can_be_deleted(space: Space) -> None:
    fact_id = await taught(space, about("Ada"))
    await space.set_person("u-ada", privacy=Privacy.PARTIAL)
    assert await update(space, str(fact_id), "{user} is a spy") is FactStatus.PRIVACY_RESTRICTED
    assert await content(space, fact_id) == "{user} loves Crème brûlée"
    assert await update(space, str(fact_id), "") is FactStatus.DELETED


async def test_models_leave_alone_what_is_pinned_or_every_personas(space: Space) -> None:
    pinned = await taught(space, about_server())
    await space.pin_fact(pinned)
    everybodys = (await space.remember("Always whisper", about="server:guild")).id
    adas = (await space.remember("{user} is left-handed", about=f"person:{ADA.user_id}")).id
    for fact_id in (pinned, everybodys, adas):
        for text in ("other", ""):
            assert await update(space, str(fact_id), text) is FactStatus.PROTECTED
    await space.pin_fact(pinned, pinned=False)
    assert await update(space, str(pinned), "other") is FactStatus.UPDATED


async def test_two_facts_never_come_to_say_the_same(space: Space) -> None:
    one = await taught(space, about_server("Chess on Mondays"))
    two = await taught(space, about_server("Go on Mondays"))
    outcome = await space.update_long_term_memory(TURN, {"memory_id": str(two), "memory_content": "CHESS on mondays"})
    assert (outcome.status, outcome.ok, outcome.id) == (FactStatus.DUPLICATE, False, one)
    assert await update(space, str(one), "CHESS on mondays") is FactStatus.UPDATED, "its own spelling may change"


async def test_the_checks_of_content_are_those_of_creating(space: Space) -> None:
    fact_id = str(await taught(space, about_server()))
    assert await update(space, fact_id, "x" * 1001) is FactStatus.CONTENT_TOO_LONG
    assert await update(space, fact_id, None) is FactStatus.INVALID_ARGUMENTS
    off_record = replace(TURN, message="Don't remember this: I moved to Rome")
    assert await update(space, fact_id, "{user} moved to Rome", off_record) is FactStatus.NOT_TO_REMEMBER
    assert await update(space, fact_id, "x", replace(TURN, persona=None)) is FactStatus.INCOMPLETE_TURN
    await space.set_server("guild", self_teaching_enabled=False)
    assert await update(space, fact_id, "x") is FactStatus.DISABLED
