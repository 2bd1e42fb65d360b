"""Candidates of a turn: the facts that may be used here, now, with these people. What is filtered out is none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perdure.fact_types import EVERY_LINEAGE, Fact, FactKind, FactScope, Participant, Privacy, TurnState
from perdure.ltm.privacy import Wish, wish_of, wish_set_here
from perdure.resources import Resources
from perdure.rules.fact_tags import one_occurs
from perdure.store.database import SpaceTransaction
from perdure.store.fact_vectors import vectors_possible
from perdure.store.facts import read_scopes
from perdure.store.people import read_people
from perdure.store.spaces import SpaceRow
from perdure.text import fold


@dataclass(frozen=True, slots=True)
class FactTurn:
    """A turn as facts see it. `recent` are the latest texts of the conversation, in which keywords are looked for."""

    state: TurnState
    message: str
    recent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """The facts that may be used in a turn, newest first, and the scopes that were looked into.

    `vectors_possible`: the database has pgvector.
    """

    scopes: tuple[FactScope, ...] = ()
    server: tuple[Fact, ...] = ()
    people: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    vectors_possible: bool = True

    @property
    def every(self) -> tuple[Fact, ...]:
        """All of them, those of the server first."""
        return (*self.server, *(fact for facts in self.people.values() for fact in facts))


async def find_candidates(resources: Resources, space: SpaceRow, turn: FactTurn) -> Candidates:
    """Reads the facts of the turn's server and people as they are now.

    Raises DatabaseUnavailable.
    """
    state = turn.state
    told = await _told_by_host(resources, space, state.participants)

    async def read(tx: SpaceTransaction) -> Candidates:
        scopes = await _scopes(tx, state, told)
        found = await read_scopes(tx, scopes)
        texts = [fold(text) for text in (turn.message, *turn.recent)]
        kept = {scope: _used(known.facts, state.channel_id, texts) for scope, known in found.items()}
        return Candidates(
            scopes=scopes,
            server=_of(kept, FactKind.SERVER, state.server_id),
            people={
                person.user_id: facts
                for person in state.participants
                if (facts := _of(kept, FactKind.PERSONAL, person.user_id))
            },
            vectors_possible=await vectors_possible(tx),
        )

    return await resources.database.in_space(space.id, read)


async def scopes_by_now(resources: Resources, space: SpaceRow, state: TurnState) -> frozenset[FactScope]:
    """Whose facts a turn may use by now: since its prompt was built, somebody may have said that theirs are not.

    Raises DatabaseUnavailable.
    """
    told = await _told_by_host(resources, space, state.participants)
    return frozenset(await resources.database.in_space(space.id, lambda tx: _scopes(tx, state, told)))


async def _scopes(tx: SpaceTransaction, state: TurnState, told: Mapping[str, Wish]) -> tuple[FactScope, ...]:
    """The scopes that a turn may look into, with what the host told of people."""
    people = await read_people(tx, [person.user_id for person in state.participants])
    lineages = sorted({EVERY_LINEAGE, state.persona.lineage if state.persona else EVERY_LINEAGE})
    scopes = [
        FactScope(FactKind.PERSONAL, person.user_id, lineage)
        for person in _looked_at(state.participants)
        if people[person.user_id].personalised.get(state.server_id or "", True)
        for lineage in lineages
        if _may_use(told.get(person.user_id) or wish_set_here(people[person.user_id]), lineage)
    ]
    impersonates = any(person.impersonated for person in state.participants)
    if state.server_id is not None and not impersonates:
        scopes += [FactScope(FactKind.SERVER, state.server_id, lineage) for lineage in lineages]
    return tuple(scopes)


def _looked_at(people: Sequence[Participant]) -> Sequence[Participant]:
    """Those whose facts are used: of somebody as whom the persona speaks theirs alone."""
    return [person for person in people if person.impersonated] or people


def _may_use(wish: Wish, lineage: int) -> bool:
    """Whether facts of a person are used: none at full privacy, and what a persona taught itself only while it may."""
    return wish.self_taught or (wish.level is not Privacy.FULL and lineage == EVERY_LINEAGE)


async def _told_by_host(resources: Resources, space: SpaceRow, people: Iterable[Participant]) -> dict[str, Wish]:
    """What each person wants where the host has a lookup of its own; nothing may be used where that fails."""
    if resources.privacy is None:
        return {}
    ids = [person.user_id for person in people]
    wishes = await asyncio.gather(*(wish_of(resources, space, user_id) for user_id in ids))
    return dict(zip(ids, wishes, strict=True))


def _used(facts: Iterable[Fact], channel_id: str | None, texts: Sequence[str]) -> tuple[Fact, ...]:
    """Those that belong into this channel, and whose keywords occur."""
    return tuple(
        [
            fact
            for fact in facts
            if (not fact.channel_ids or channel_id in fact.channel_ids)
            and (not fact.tags or one_occurs([fold(tag) for tag in fact.tags], texts))
        ]
    )


def _of(found: Mapping[FactScope, tuple[Fact, ...]], kind: FactKind, owner: str | None) -> tuple[Fact, ...]:
    own = [facts for scope, facts in found.items() if scope.kind is kind and scope.owner == owner and facts]
    if len(own) == 1:
        return own[0]
    every = [fact for facts in own for fact in facts]
    return tuple(sorted(every, key=lambda fact: (fact.created_at, fact.id.number), reverse=True))
