"""What a person does with facts: keep, list, change, pin, bring back. Errors are typed and say what to do."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from perdure import Memory, Space
from perdure.errors import Conflict, InvalidInput, NotFound, PrivacyRestricted
from perdure.fact_types import FactKind, FactScope, FactStage, FactStatus, Persona, Privacy
from tests.integration.test_facts_create import TURN, about
from tests.integration.test_facts_update import age


async def test_the_one_user_of_a_space_gets_facts_without_saying_who_they_are(space: Space) -> None:
    outcome = await space.remember("{user} is allergic to peanuts", tags=["food", "Food "], channels="kitchen")
    assert outcome.scope == FactScope(FactKind.PERSONAL, "user", 0)
    (listed,) = await space.facts()
    assert (listed.fact.content, listed.stage) == ("{user} is allergic to peanuts", FactStage.ACTIVE)
    assert (listed.fact.tags, listed.fact.channel_ids, listed.fact.taught_by) == (("food",), ("kitchen",), "user")
    assert await space.facts(about="user") == (listed,)
    assert await space.fact(str(outcome.id)) == listed


async def test_the_same_told_twice_is_known_and_stored_once(space: Space) -> None:
    first = await space.remember("{user} naps at noon")
    again = await space.remember(" {USER}  naps at NOON")
    assert (again.status, again.id, again.ok) == (FactStatus.ALREADY_KNOWN, first.id, True)
    assert len(await space.facts()) == 1


async def test_a_repeated_call_does_nothing_even_after_the_fact_has_gone(space: Space) -> None:
    first = await space.remember("{user} naps", operation_id="op-1")
    assert first.id is not None
    assert await space.remember("{user} naps", operation_id="op-1") == first
    await space.forget_fact(first.id)
    assert await space.remember("{user} naps", operation_id="op-1") == first
    assert await space.facts() == ()
    with pytest.raises(Conflict):
        await space.remember("{user} sings", operation_id="op-1")
    with pytest.raises(Conflict):
        await space.save("Ada naps", operation_id="op-1")


async def test_of_calls_with_one_operation_id_at_once_one_is_done(space: Space) -> None:
    outcomes = await asyncio.gather(*(space.remember("{user} naps", operation_id="op-1") for _ in range(8)))
    assert set(outcomes) == {outcomes[0]}
    assert outcomes[0].status is FactStatus.SAVED


async def test_facts_are_listed_by_whom_they_are_about_and_who_knows_them(memory: Memory, space: Space) -> None:
    momo, kiki = await space.persona("Momo"), await space.persona("Kiki")
    for number, (whom, who) in enumerate(
        (whom, who) for whom in ("user", "server:guild", "person:ada") for who in (None, momo, kiki)
    ):
        await space.remember(f"fact {number}", about=whom, persona=who)

    async def contents(**asked: object) -> list[str]:
        return [listed.fact.content for listed in await space.facts(**asked)]  # type: ignore[arg-type]

    assert await contents() == [f"fact {number}" for number in reversed(range(9))]
    assert await contents(about="server:guild") == ["fact 5", "fact 4", "fact 3"]
    assert await contents(about="server:guild", persona=momo) == ["fact 4", "fact 3"]
    assert await contents(persona=kiki) == ["fact 8", "fact 6", "fact 5", "fact 3", "fact 2", "fact 0"]
    assert await contents(about="person:bob") == []
    assert await contents(limit=2) == ["fact 8", "fact 7"]
    with pytest.raises(InvalidInput, match="10000"):
        await space.facts(limit=0)
    stranger = memory.space(f"space-{secrets.token_hex(6)}")
    assert await stranger.facts() == ()
    assert await memory.find_space(stranger.name) is None, "reading makes no space"


async def test_a_persona_has_one_lineage_under_any_spelling_of_its_name(space: Space) -> None:
    personas = await asyncio.gather(*(space.persona(name) for name in ("Momo", "momo", " MOMO ", "Ｍｏｍｏ")))
    assert len({persona.lineage for persona in personas}) == 1
    assert personas[0].lineage >= 10_000
    other = await space.persona("Kiki")
    assert other.lineage != personas[0].lineage
    assert await space.personas() == tuple(sorted((personas[0], other), key=lambda persona: persona.lineage))


async def test_what_changes_is_kept_and_can_be_undone(memory: Memory, space: Space) -> None:
    first = (await space.remember("{user} lives in Rome", tags=["home"])).id
    assert first is not None
    await age(memory, space, first, 9)
    moved = await space.edit_fact(first, content="{user} lives in {city} Oslo")
    assert (moved.content, moved.tags, moved.decay_days, moved.revision) == (
        "{user} lives in city Oslo",
        ("home",),
        0,
        2,
    )
    await space.edit_fact(first, tags=[], channels=["flat"])
    assert (await space.edit_fact(first, content="{user} lives in city Oslo")).revision == 3, "nothing changed"
    await space.pin_fact(first)
    history = await space.fact_history(first)
    assert [(change.revision, change.content, change.tags, change.action) for change in history] == [
        (1, "{user} lives in Rome", ("home",), "edit"),
        (2, "{user} lives in city Oslo", ("home",), "edit"),
        (3, "{user} lives in city Oslo", (), "pin"),
    ]
    back = await space.restore_fact(first, revision=1)
    assert (back.content, back.tags, back.channel_ids, back.pinned, back.revision) == (
        "{user} lives in Rome",
        ("home",),
        (),
        False,
        5,
    )
    assert (await space.fact(first)).fact == back


async def test_a_pinned_fact_is_never_dormant(memory: Memory, space: Space) -> None:
    fact_id = (await space.remember("{user} is left-handed", pinned=True)).id
    assert fact_id is not None
    await age(memory, space, fact_id, 9)
    assert (await space.fact(fact_id)).stage is FactStage.ACTIVE
    assert not (await space.pin_fact(fact_id, pinned=False)).pinned
    assert (await space.fact(fact_id)).stage is FactStage.DORMANT


async def test_a_person_may_write_where_an_assistant_may_not_unless_everything_is_private(space: Space) -> None:
    await space.set_person("ada", privacy="partial", consents=False)
    fact_id = (await space.remember("{user} is shy", about="person:ada")).id
    assert fact_id is not None
    await space.set_person("ada", privacy=Privacy.FULL)
    with pytest.raises(PrivacyRestricted):
        await space.remember("{user} is brave", about="person:ada")
    with pytest.raises(PrivacyRestricted):
        await space.edit_fact(fact_id, content="{user} is brave")
    await space.pin_fact(fact_id)
    assert (await space.remember("Be kind", about="server:guild")).ok
    await space.forget_fact(fact_id)


async def test_what_says_the_same_is_no_second_fact_by_edit_or_return(space: Space) -> None:
    one = (await space.remember("Tea at four")).id
    two = (await space.remember("Tea at five")).id
    assert one is not None
    assert two is not None
    with pytest.raises(Conflict, match=f"{one} says that"):
        await space.edit_fact(two, content="TEA at four")
    momo = await space.persona("Momo")
    state = TURN.__class__("guild", None, momo, TURN.speaker)
    own = await space.create_long_term_memory(state, about("Ada", "Tea at four"))
    assert own.ok
    await space.update_long_term_memory(state, {"memory_id": str(own.id), "memory_content": ""})
    again = await space.create_long_term_memory(state, about("Ada", "Tea at four"))
    assert again.id != own.id
    assert own.id is not None
    with pytest.raises(Conflict, match=f"{again.id} says that"):
        await space.restore_fact(own.id)
    with pytest.raises(Conflict, match="isn't archived"):
        await space.restore_fact(one)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"fact": ""}, "fact"),
        ({"fact": " \n"}, "fact"),
        ({"fact": 7}, "fact"),
        ({"fact": "x" * 1001}, "fact"),
        ({"about": "me"}, "about"),
        ({"about": "server:"}, "about"),
        ({"about": 7}, "about"),
        ({"about": "person:" + "x" * 201}, "about"),
        ({"persona": 10_000}, "persona"),
        ({"persona": Persona(-1, "Momo")}, "persona.lineage"),
        ({"tags": ["a", "b", "c", "d", "e", "f"]}, "tags"),
        ({"tags": "x" * 33}, "tags"),
        ({"channels": [7]}, "channels"),
        ({"channels": 7}, "channels"),
        ({"pinned": "yes"}, "pinned"),
        ({"operation_id": ""}, "operation_id"),
    ],
)
async def test_bad_input_is_named_and_nothing_is_written(
    memory: Memory, space: Space, arguments: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await space.remember(**{"fact": "{user} naps", **arguments})  # type: ignore[arg-type]
    assert refused.value.field == field
    assert await memory.find_space(space.name) is None


async def test_a_lineage_that_no_persona_has_is_refused_by_name(space: Space) -> None:
    with pytest.raises(InvalidInput, match="10000"):
        await space.remember("{user} naps", persona=Persona(7, "Momo"))


async def test_what_is_not_there_is_not_found(space: Space) -> None:
    await space.remember("{user} naps")
    for call in (
        space.fact("S1000000"),
        space.fact_history("P1000000"),
        space.edit_fact("P1000000", content="x"),
        space.pin_fact("S1000000"),
        space.restore_fact("S1000000"),
        space.restore_fact("S1000000", revision=1),
        space.forget_fact("S1000000"),
    ):
        with pytest.raises(NotFound):
            await call
    for bad in ("24", "X1", "", 5, None):
        with pytest.raises(InvalidInput):
            await space.fact(bad)  # type: ignore[arg-type]


async def test_facts_of_another_space_are_not_there(memory: Memory, space: Space) -> None:
    fact_id = (await space.remember("{user} naps")).id
    assert fact_id is not None
    stranger = memory.space(f"space-{secrets.token_hex(6)}")
    await stranger.remember("{user} sings")
    for call in (stranger.fact(fact_id), stranger.forget_fact(fact_id), stranger.edit_fact(fact_id, content="x")):
        with pytest.raises(NotFound):
            await call
    assert (await space.fact(fact_id)).fact.content == "{user} naps"


async def test_people_are_set_bit_by_bit(space: Space) -> None:
    assert (await space.person("ada")).privacy is Privacy.MINIMAL
    await space.set_person("ada", name="Ada", aliases=["Countess", "Countess"])
    await space.set_person("ada", consents=False)
    await space.set_personalised("ada", "guild", personalised=False)
    ada = await space.person("ada")
    assert (ada.name, ada.aliases, ada.consents, ada.personalised) == ("Ada", ("Countess",), False, {"guild": False})
    assert await space.people() == (ada,)
    for bad in ({"privacy": "none"}, {"consents": "no"}, {"name": ""}, {"aliases": [7]}):
        with pytest.raises(InvalidInput):
            await space.set_person("ada", **bad)  # type: ignore[arg-type]
    assert await space.people() == (ada,)
