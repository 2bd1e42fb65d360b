"""What a person does with facts: keep one, look at them, change and pin them. The tools' limits for models don't apply,
those for room, length and privacy do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from perdure.errors import Conflict, NotFound, ScopeFull
from perdure.fact_types import (
    Fact,
    FactChange,
    FactId,
    FactKind,
    FactOutcome,
    FactScope,
    FactStage,
    FactStatus,
    ListedFact,
)
from perdure.ltm.privacy import require_by_hand
from perdure.ltm.publishing import publish
from perdure.ltm.room import limit_of
from perdure.ltm.stage import dormancy_possible
from perdure.resources import Resources
from perdure.rules.dormancy import is_dormant
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.fact_archive import list_archived, read_archived
from perdure.store.fact_scopes import lock_scope
from perdure.store.fact_writing import NewFact, change_fact, insert_fact, read_changes
from perdure.store.facts import count_facts, find_same, list_facts, read_fact
from perdure.store.operations import find_operation, remember_operation, set_outcome
from perdure.store.spaces import SpaceRow

BY_HAND: Final = "user"
"""Who a person's changes are put down to."""
_VERBS: Final = {"edit": "edit_fact", "pin": "pin_fact", "unpin": "unpin_fact", "undo": "restore_fact"}
_DONE: Final = {"edit": "updated", "pin": "pinned", "unpin": "unpinned", "undo": "updated"}
"""What others are told of a change, by its name in the history."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a person wants to keep, as it is kept, and where; and what makes the call safe to repeat."""

    scope: FactScope
    new: NewFact
    operation_id: str | None
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class FactEdit:
    """What to change about a fact; None leaves it as it is."""

    content: str | None = None
    tags: tuple[str, ...] | None = None
    channel_ids: tuple[str, ...] | None = None
    pinned: bool | None = None


async def remember_fact(
    resources: Resources,
    space: SpaceRow | None,
    make_space: Callable[[], Awaitable[SpaceRow]],
    asked: Remembered,
) -> FactOutcome:
    """Stores a fact, unless it is known.

    Raises:
        PrivacyRestricted, ScopeFull. Conflict: the operation id was used for something else.
    """
    if asked.scope.kind is FactKind.PERSONAL:
        await require_by_hand(resources, space, asked.scope.owner)
    place = space or await make_space()

    async def write(tx: SpaceTransaction) -> tuple[Fact | None, FactOutcome]:
        first = await _first_outcome(tx, asked)
        if first is not None:
            return None, first
        await lock_scope(tx, asked.scope, make=True)
        fact = None
        known = await find_same(tx, asked.scope, asked.new.content)
        if known is None:
            await require_room(tx, resources, asked.scope)
            fact = await insert_fact(tx, asked.scope, asked.new)
            await note(tx, "remember", [fact.id])
        outcome = _remembered(asked, fact.id if fact else known, new=fact is not None)
        if asked.operation_id is not None:
            await set_outcome(tx, asked.operation_id, {"fact": str(outcome.id), "status": outcome.status.value})
        return fact, outcome

    fact, outcome = await resources.database.in_space(place.id, write, writer=True)
    if fact is not None:
        await publish(resources, place, fact, "created", BY_HAND)
    return outcome


async def list_known(
    resources: Resources,
    space: SpaceRow,
    *,
    kinds: Sequence[FactKind],
    owner: str | None,
    lineages: Sequence[int] | None,
    archived: bool,
    limit: int,
) -> tuple[ListedFact, ...]:
    """Facts and their stages, newest first; archived ones after them, the latest first. At most so many of each."""

    async def read(tx: SpaceTransaction) -> list[ListedFact]:
        found = [fact for kind in kinds for fact in await list_facts(tx, kind, limit, owner=owner, lineages=lineages)]
        found.sort(key=lambda fact: fact.created_at, reverse=True)
        listed = [ListedFact(fact, stage_of(resources, fact)) for fact in found[:limit]]
        if not archived:
            return listed
        gone = [fact for kind in kinds for fact in await list_archived(tx, kind, limit, owner=owner, lineages=lineages)]
        gone.sort(key=lambda fact: fact.updated_at, reverse=True)
        return [*listed, *(ListedFact(fact, FactStage.ARCHIVED) for fact in gone[:limit])]

    return tuple(await resources.database.in_space(space.id, read))


async def get_fact(resources: Resources, space: SpaceRow, fact_id: FactId) -> ListedFact:
    """One fact, an archived one too. Raises NotFound."""

    async def read(tx: SpaceTransaction) -> ListedFact:
        fact = await read_fact(tx, fact_id)
        if fact is not None:
            return ListedFact(fact, stage_of(resources, fact))
        gone = await read_archived(tx, fact_id)
        if gone is None:
            raise no_such_fact(space, fact_id)
        return ListedFact(gone[0], FactStage.ARCHIVED)

    return await resources.database.in_space(space.id, read)


async def fact_changes(resources: Resources, space: SpaceRow, fact_id: FactId) -> tuple[FactChange, ...]:
    """What a fact was before each change, oldest first. Raises NotFound."""
    await get_fact(resources, space, fact_id)
    return tuple(await resources.database.in_space(space.id, lambda tx: read_changes(tx, fact_id)))


async def edit_fact(
    resources: Resources, space: SpaceRow, fact_id: FactId, edit: FactEdit, *, action: str = "edit"
) -> Fact:
    """Changes a fact, and keeps what it was; where nothing changes, nothing is written.

    Raises:
        NotFound, PrivacyRestricted. Conflict: another fact there says the same.
    """
    here = await require_live(resources, space, fact_id)
    if edit.content is not None and here.scope.kind is FactKind.PERSONAL:
        await require_by_hand(resources, space, here.scope.owner)

    async def write(tx: SpaceTransaction) -> tuple[Fact, bool]:
        before = await locked_fact(tx, space, here)
        after = _edited(before, edit)
        if after == before:
            return before, False
        await require_new(tx, after)
        after = replace(
            after,
            revision=before.revision + 1,
            updated_at=tx.now,
            decay_days=before.decay_days if after.content == before.content else 0,
        )
        changed = await change_fact(tx, before, after, action, BY_HAND)
        assert changed, "its scope is locked"
        await note(tx, _VERBS[action], [fact_id])
        return after, True

    fact, changed = await resources.database.in_space(space.id, write, writer=True)
    if changed:
        await publish(resources, space, fact, _DONE[action], BY_HAND)
    return fact


def stage_of(resources: Resources, fact: Fact) -> FactStage:
    """The stage of a live fact now."""
    dormant = is_dormant(fact.decay_days, pinned=fact.pinned, possible=dormancy_possible(resources))
    return FactStage.DORMANT if dormant else FactStage.ACTIVE


async def require_live(resources: Resources, space: SpaceRow, fact_id: FactId) -> Fact:
    """The fact of this id. Raises NotFound where there is none, or where it is archived."""
    listed = await get_fact(resources, space, fact_id)
    if listed.stage is FactStage.ARCHIVED:
        raise NotFound(
            f"{fact_id} of space {space.name!r} is archived.", hint="Bring it back first: `space.restore_fact(id)`."
        )
    return listed.fact


async def locked_fact(tx: SpaceTransaction, space: SpaceRow, seen: Fact) -> Fact:
    """The fact as it is now, with its scope's lock. Raises NotFound if it has gone since it was seen."""
    await lock_scope(tx, seen.scope)
    fact = await read_fact(tx, seen.id)
    if fact is None or fact.scope != seen.scope:
        raise no_such_fact(space, seen.id)
    return fact


async def require_room(tx: SpaceTransaction, resources: Resources, scope: FactScope) -> None:
    """Raises ScopeFull where no fact more fits in; what a person keeps pushes nothing out. Needs the scope's lock."""
    limit = limit_of(resources.settings, scope)
    if await count_facts(tx, scope) >= limit:
        raise ScopeFull(
            f"{limit} facts of {scope.kind} {scope.owner!r} are all that is kept for lineage {scope.lineage}.",
            hint="Forget or edit one of them, or raise the setting max_server_memories or max_personal_memories.",
        )


async def require_new(tx: SpaceTransaction, fact: Fact) -> None:
    """Raises Conflict where another fact of its scope says the same. Needs the scope's lock."""
    same = await find_same(tx, fact.scope, fact.content)
    if same is not None and same != fact.id:
        raise Conflict(f"{same} says that already.", hint=f"Forget {fact.id}, or say something else in it.")


def no_such_fact(space: SpaceRow, fact_id: FactId) -> NotFound:
    """The error of an id that is nobody's."""
    return NotFound(f"Space {space.name!r} has no fact {fact_id}.", hint="`perdure facts list` shows the ids.")


def _edited(fact: Fact, edit: FactEdit) -> Fact:
    return replace(
        fact,
        content=fact.content if edit.content is None else edit.content,
        tags=fact.tags if edit.tags is None else edit.tags,
        channel_ids=fact.channel_ids if edit.channel_ids is None else edit.channel_ids,
        pinned=fact.pinned if edit.pinned is None else edit.pinned,
    )


async def _first_outcome(tx: SpaceTransaction, asked: Remembered) -> FactOutcome | None:
    """What the first call with this operation id came to; None where this is the first, which is noted."""
    if asked.operation_id is None or await remember_operation(tx, asked.operation_id, asked.fingerprint, {}):
        return None
    found = await find_operation(tx, asked.operation_id)
    assert found is not None
    fingerprint, outcome = found
    if fingerprint != asked.fingerprint:
        raise Conflict(
            f"operation_id {asked.operation_id!r} was used before for something else.",
            hint="Use a new operation_id for a new fact; repeat the old one only with the same content.",
        )
    return _replayed(asked, outcome)


def _replayed(asked: Remembered, outcome: Any) -> FactOutcome:
    fact_id = FactId(asked.scope.kind, int(str(outcome["fact"])[1:]))
    return _remembered(asked, fact_id, new=outcome["status"] == FactStatus.SAVED)


def _remembered(asked: Remembered, fact_id: FactId | None, *, new: bool) -> FactOutcome:
    status = FactStatus.SAVED if new else FactStatus.ALREADY_KNOWN
    message = f"Saved as {fact_id}." if new else f"This is known already, as {fact_id}."
    return FactOutcome(status, message, fact_id, asked.scope, asked.new.content)
