"""Facts of a turn as parts of its prompt, and the tools by which more of them are taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perdure import ltm
from perdure.context import PersonFacts, RecalledFact
from perdure.fact_types import EVERY_LINEAGE, Fact, FactKind, Person, TurnState
from perdure.ltm import TurnFacts


def people_of(state: TurnState, facts: TurnFacts | None) -> list[PersonFacts]:
    """Who takes part, each with the facts that stand in every prompt."""
    known = facts.people if facts else {}
    return [
        PersonFacts(one.user_id, one.name, one.aliases, stable(known.get(one.user_id, ())))
        for one in state.participants
    ]


def stable(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts that don't depend on what was said just now: a keyword may be gone with the next message."""
    return tuple(fact for fact in facts if not fact.tags)


def recalled_in(state: TurnState, facts: TurnFacts) -> list[RecalledFact]:
    """What the message brings: dormant facts by their meaning, best first, then active ones by a keyword."""
    names = {one.user_id: one.name for one in state.participants}
    active = [*facts.server, *(fact for person in sorted(facts.people) for fact in facts.people[person])]
    by_keyword = sorted((fact for fact in active if fact.tags), key=lambda fact: fact.id)
    return [
        RecalledFact(
            fact, None if fact.scope.kind is FactKind.SERVER else names.get(fact.scope.owner, fact.scope.owner)
        )
        for fact in (*facts.recalled, *by_keyword)
    ]


def can_teach(state: TurnState) -> bool:
    """Whether a tool for facts could do anything in this turn: somebody speaks to a persona."""
    return state.persona is not None and state.persona.lineage != EVERY_LINEAGE and state.speaker is not None


def as_set(state: TurnState, people: Mapping[str, Person]) -> TurnState:
    """The one user of a space under the name that was set."""
    named = [
        replace(one, name=people[one.user_id].name or one.name, aliases=people[one.user_id].aliases)
        for one in state.participants
    ]
    return replace(state, speaker=named[0], participants=tuple(named))


def offered(own: tuple[Mapping[str, object], ...], *, first: bool) -> tuple[Mapping[str, object], ...]:
    """The host's tools and those for facts, which come first where something is to be remembered."""
    for_facts = tuple(tool.as_function() for tool in ltm.TOOLS)
    return (*for_facts, *own) if first else (*own, *for_facts)
