"""The door for the state of a turn: a host's mistake is an error here, and not something that a model is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from perdure import door
from perdure.errors import InvalidInput
from perdure.fact_types import FactKind, FactScope, Participant, Persona, TurnState
from perdure.text import clean


def require_state(state: object) -> TurnState:
    """The state of a turn, checked; its participants are each there once, and the speaker is one of them.

    Raises:
        InvalidInput: it is no `TurnState`, or one of its ids, names or lineages is none.
    """
    if not isinstance(state, TurnState):
        raise InvalidInput("state", state, "it has to be a TurnState")
    people: dict[str, Participant] = {}
    for person in (*([state.speaker] if state.speaker is not None else []), *state.participants):
        checked = _person(person)
        people.setdefault(checked.user_id, checked)
    speaker = None if state.speaker is None else people[_id(state.speaker.user_id, "state.speaker.user_id")]
    return replace(
        state,
        server_id=_optional_id(state.server_id, "state.server_id"),
        channel_id=_optional_id(state.channel_id, "state.channel_id"),
        persona=None if state.persona is None else require_persona(state.persona, "state.persona"),
        speaker=speaker,
        participants=tuple(people.values()),
        message=None if state.message is None else clean(state.message, "state.message"),
        message_id=_optional_id(state.message_id, "state.message_id"),
    )


def require_persona(persona: object, field: str = "persona") -> Persona:
    """A persona with a lineage of 0 or more; that 0 is nobody's is for the tools to say."""
    if not isinstance(persona, Persona):
        raise InvalidInput(field, persona, "it has to be a Persona, as `space.persona(name)` returns it")
    lineage = door.require_number(persona.lineage, f"{field}.lineage", 0, door.MAX_ID)
    return Persona(lineage, clean(persona.name, f"{field}.name"), _names(persona.aliases, f"{field}.aliases"))


def server_scope(state: TurnState) -> FactScope | None:
    """Where what everybody in this turn's server sees is kept; None outside of servers, or without a persona."""
    if state.server_id is None or state.persona is None:
        return None
    return FactScope(FactKind.SERVER, state.server_id, state.persona.lineage)


def evidence_of(state: TurnState) -> Mapping[str, object]:
    """What is kept of the turn in which something was taught: ids alone, of what is known."""
    known = {
        "server_id": state.server_id,
        "channel_id": state.channel_id,
        "message_id": state.message_id,
        "speaker": state.speaker.user_id if state.speaker else None,
        "lineage": state.persona.lineage if state.persona else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def taught_for(state: TurnState) -> str:
    """Who a change is put down to: the assistant, and whose message it answered."""
    return f"assistant for {state.speaker.user_id}" if state.speaker else "assistant"


def _person(person: object) -> Participant:
    if not isinstance(person, Participant):
        raise InvalidInput("state.participants", person, "each has to be a Participant")
    return Participant(
        _id(person.user_id, "state.participants.user_id"),
        clean(person.name, "state.participants.name"),
        _names(person.aliases, "state.participants.aliases"),
        door.require_flag(person.impersonated, "state.participants.impersonated"),
    )


def _names(names: object, field: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(field, names, "it has to be a list of names")
    return tuple(clean(name, field) for name in names)


def _id(value: object, field: str) -> str:
    return door.require_key(value, field)


def _optional_id(value: object, field: str) -> str | None:
    return None if value is None else _id(value, field)
