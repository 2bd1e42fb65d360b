"""Two spaces, two servers, two personas, two people: whoever looks or writes reaches their own facts and no others."""

from __future__ import annotations

import secrets
from itertools import product

import pytest

from perdure import Memory, Space
from perdure.fact_types import FactStatus, Participant, Persona, TurnState

PEOPLE = (Participant("u-ada", "Ada"), Participant("u-bob", "Bob"))
SERVERS = ("guild", "tavern")
NAMES = ("Momo", "Kiki")


def server_word(space: Space, server: str, persona: Persona) -> str:
    return f"word-{space.name}-{server}-{persona.name}".lower()


def person_word(space: Space, person: Participant, persona: Persona) -> str:
    return f"word-{space.name}-{person.user_id}-{persona.name}".lower()


@pytest.fixture
async def everywhere(memory: Memory) -> dict[tuple[int, str, str, str], tuple[Space, TurnState]]:
    """Every combination with a fact of its server and one of its person; by their places."""
    found = {}
    for number in range(2):
        space = memory.space(f"space{number}{secrets.token_hex(4)}")
        personas = {name: await space.persona(name) for name in NAMES}
        for server, name, person in product(SERVERS, NAMES, PEOPLE):
            state = TurnState(server, "general", personas[name], person, (person,))
            found[number, server, name, person.user_id] = (space, state)
            for content, more in (
                (server_word(space, server, personas[name]), {"memory_scope": "server_wide"}),
                (
                    person_word(space, person, personas[name]),
                    {"memory_scope": "target_user", "target_user": person.name},
                ),
            ):
                outcome = await space.create_long_term_memory(state, {"memory_content": content, **more})
                assert outcome.status in {FactStatus.SAVED, FactStatus.ALREADY_KNOWN}
    return found


async def test_a_prompt_holds_the_facts_of_its_own_place_alone(
    everywhere: dict[tuple[int, str, str, str], tuple[Space, TurnState]],
) -> None:
    for space, state in everywhere.values():
        assert state.persona is not None
        assert state.speaker is not None
        assert state.server_id is not None
        context = await space.context("What shall we play tonight?", state=state)
        text = context.prefix + context.tail
        own = {server_word(space, state.server_id, state.persona), person_word(space, state.speaker, state.persona)}
        every = {
            word
            for other, turn in everywhere.values()
            if turn.persona and turn.speaker and turn.server_id
            for word in (
                server_word(other, turn.server_id, turn.persona),
                person_word(other, turn.speaker, turn.persona),
            )
        }
        assert len(every) == 16
        assert {word for word in every if word in text} == own


async def test_a_tool_changes_and_deletes_the_facts_of_its_own_place_alone(
    everywhere: dict[tuple[int, str, str, str], tuple[Space, TurnState]],
) -> None:
    spaces = {number: space for (number, *_), (space, _) in everywhere.items()}
    before = {number: await space.facts() for number, space in spaces.items()}
    for (number, server, name, user), (space, state) in everywhere.items():
        assert state.persona is not None
        for other, listed in before.items():
            for fact in (each.fact for each in listed):
                near = other == number and fact.scope.lineage == state.persona.lineage
                own = near and fact.scope.owner in {server, user}
                if own:
                    continue
                for text in ("taken over", ""):
                    outcome = await space.update_long_term_memory(
                        state, {"memory_id": str(fact.id), "memory_content": text}
                    )
                    assert outcome.status is FactStatus.NOT_FOUND, (number, server, name, user, fact)
    assert {number: await space.facts() for number, space in spaces.items()} == before


async def test_lists_are_of_one_space_and_narrowed_as_asked(
    everywhere: dict[tuple[int, str, str, str], tuple[Space, TurnState]],
) -> None:
    for (_, server, _, user), (space, state) in everywhere.items():
        assert state.persona is not None
        assert state.speaker is not None
        facts = {listed.fact.content for listed in await space.facts()}
        assert len(facts) == 8
        assert all(space.name in content for content in facts)
        of_server = await space.facts(about=f"server:{server}", persona=state.persona)
        assert [each.fact.content for each in of_server] == [server_word(space, server, state.persona)]
        of_person = await space.facts(about=f"person:{user}", persona=state.persona)
        assert [each.fact.content for each in of_person] == [person_word(space, state.speaker, state.persona)]
