"""Forgetting facts, a person, or all of it. Irreversible; no word is left anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from perdure.fact_types import Fact, FactId, FactKind, FactScope
from perdure.ltm import rendered
from perdure.ltm.by_hand import BY_HAND, no_such_fact
from perdure.ltm.publishing import publish
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.fact_archive import read_archived
from perdure.store.fact_erasing import erase_facts, erase_person, erase_scopes, erase_settings, facts_of
from perdure.store.fact_scopes import lock_scope, lock_scopes_of, scopes_of, touch
from perdure.store.facts import read_fact
from perdure.store.spaces import SpaceRow
from perdure.store.tally import Tally

NOBODY = "assistant"
"""Who changes are put down to that answered somebody who is forgotten."""


async def forget_facts(resources: Resources, space: SpaceRow, ids: Sequence[FactId]) -> tuple[FactId, ...]:
    """Erases facts, live or archived, with vectors and history.

    Raises:
        NotFound: one of them isn't there; then none is erased.
    """

    async def find(tx: SpaceTransaction) -> list[Fact]:
        return [await _require(tx, space, fact_id) for fact_id in dict.fromkeys(ids)]

    async def write(tx: SpaceTransaction) -> tuple[list[Fact], datetime]:
        for scope in _in_order(fact.scope for fact in found):
            await lock_scope(tx, scope, make=True)
        facts = await find(tx)
        for kind in FactKind:
            await erase_facts(tx, kind, [fact.id.number for fact in facts if fact.id.kind is kind])
        for scope in _in_order(fact.scope for fact in facts):
            await touch(tx, scope)
        await note(tx, "forget_fact", [fact.id for fact in facts])
        return facts, tx.now

    found = await resources.database.in_space(space.id, find)
    facts, at = await resources.database.in_space(space.id, write, writer=True)
    for fact in facts:
        await publish(resources, space, replace(fact, content=""), "forgotten", BY_HAND, at=at)
    return tuple(fact.id for fact in facts)


async def forget_person(resources: Resources, space: SpaceRow, user_id: str) -> tuple[tuple[FactId, ...], Tally]:
    """Erases all facts of a person, what is set about them, and that it was them who taught others' facts.

    Returns:
        The facts that were erased, and what happened to each table.
    """

    async def write(tx: SpaceTransaction) -> _Gone:
        gone = await _erase_all(tx, await lock_scopes_of(tx, user_id))
        gone.tally.add(await erase_person(tx, user_id, asked_by=f"{NOBODY} for {user_id}", nobody=NOBODY))
        await note(tx, "forget_person", gone.ids)
        return gone

    gone = await resources.database.in_space(space.id, write, writer=True)
    return _let_go(resources, space, gone), gone.tally


async def facts_of_person(tx: SpaceTransaction, user_id: str) -> tuple[FactId, ...]:
    """All facts of a person, archived ones too."""
    return tuple(await facts_of(tx, await scopes_of(tx, user_id)))


async def forget_all(resources: Resources, space: SpaceRow) -> tuple[FactId, ...]:
    """Erases all facts of the space, and all that is set about people, servers and personas."""

    async def write(tx: SpaceTransaction) -> _Gone:
        gone = await _erase_all(tx, await lock_scopes_of(tx))
        await erase_settings(tx)
        await note(tx, "forget_all_facts", gone.ids)
        return gone

    return _let_go(resources, space, await resources.database.in_space(space.id, write, writer=True))


@dataclass(frozen=True, slots=True)
class _Gone:
    """What one transaction erased: facts, the scopes that held them, and what happened to each table."""

    ids: tuple[FactId, ...]
    scopes: tuple[FactScope, ...]
    tally: Tally


async def _erase_all(tx: SpaceTransaction, scopes: Sequence[FactScope]) -> _Gone:
    """Erases what these scopes hold, and the scopes. Needs their locks."""
    ids = await facts_of(tx, scopes)
    tally = Tally()
    for kind in FactKind:
        tally.add(await erase_facts(tx, kind, [fact_id.number for fact_id in ids if fact_id.kind is kind]))
    tally.removed["fact_scopes"] += await erase_scopes(tx, scopes)
    return _Gone(tuple(ids), tuple(scopes), tally)


def _let_go(resources: Resources, space: SpaceRow, gone: _Gone) -> tuple[FactId, ...]:
    for scope in gone.scopes:
        rendered.invalidate(resources, space.id, scope)
    return gone.ids


async def _require(tx: SpaceTransaction, space: SpaceRow, fact_id: FactId) -> Fact:
    fact = await read_fact(tx, fact_id)
    if fact is not None:
        return fact
    gone = await read_archived(tx, fact_id)
    if gone is None:
        raise no_such_fact(space, fact_id)
    return gone[0]


def _in_order(scopes: Iterable[FactScope]) -> list[FactScope]:
    """Each scope once, in the one order in which everybody locks them."""
    return sorted(set(scopes), key=lambda scope: (scope.kind, scope.owner, scope.lineage))
