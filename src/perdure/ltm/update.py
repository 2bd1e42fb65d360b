"""`update_long_term_memory`: a model puts other words in the place of a fact, or takes it away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from perdure.errors import DatabaseUnavailable
from perdure.fact_types import (
    EVERY_LINEAGE,
    Fact,
    FactId,
    FactKind,
    FactOutcome,
    FactScope,
    FactStatus,
    Participant,
    TurnState,
)
from perdure.ltm.arguments import UpdateArguments, read_update
from perdure.ltm.content import as_kept, is_blank, require_length, require_wish_to_be_remembered
from perdure.ltm.create import UNAVAILABLE, require_complete, require_self_teaching
from perdure.ltm.privacy import still_agrees, wish_of
from perdure.ltm.publishing import publish
from perdure.ltm.refusing import Refused, refuse
from perdure.ltm.state import require_state, server_scope, taught_for
from perdure.ltm.targets import resolve
from perdure.resources import Resources
from perdure.rules.fact_ids import parse
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.fact_archive import archive_fact
from perdure.store.fact_scopes import lock_scope
from perdure.store.fact_tables import content_key
from perdure.store.fact_writing import change_fact, delete_fact, keep_change
from perdure.store.facts import find_same, read_fact
from perdure.store.spaces import SpaceRow


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which fact is to say what; a blank content takes it away."""

    id: FactId
    owners: tuple[str, ...]
    lineage: int
    content: str
    by: str

    def may_be(self, scope: FactScope) -> bool:
        """Whether a fact of this scope is one that this turn has to do with."""
        return (
            scope.kind is self.id.kind and scope.owner in self.owners and scope.lineage in {self.lineage, EVERY_LINEAGE}
        )


async def update_long_term_memory(
    resources: Resources, space: SpaceRow | None, state: TurnState, arguments: object
) -> FactOutcome:
    """Replaces the whole of a fact, or deletes it where the content is blank; deleted ones can be restored.

    Args:
        arguments: `memory_id` (S24, P24, or 24, which is of a person where `target_user` is given, else of the server),
            `memory_content`, `target_user`; others are ignored.

    Raises:
        InvalidInput: the state is none (the host's mistake).
    """
    turn = require_state(state)
    try:
        wanted = await _checked(resources, space, turn, read_update(arguments))
        if space is None:
            _not_found(wanted.id)
        fact = await _write(resources, space, wanted)
    except Refused as refused:
        return refused.outcome
    except DatabaseUnavailable:
        return UNAVAILABLE
    status = FactStatus.UPDATED if wanted.content else FactStatus.DELETED
    await publish(resources, space, fact, status.value, wanted.by)
    return FactOutcome(status, f"{fact.id} was {status}.", fact.id, fact.scope, fact.content)


async def _checked(resources: Resources, space: SpaceRow | None, turn: TurnState, given: UpdateArguments) -> _Wanted:
    await require_self_teaching(resources, space, turn)
    persona, _ = require_complete(turn)
    content = "" if is_blank(given.content) else as_kept(given.content)
    if content:
        require_wish_to_be_remembered(given.content, turn.message)
        require_length(content, resources.settings.max_memory_length)
    elif not is_blank(given.content):
        refuse(
            FactStatus.BLANK_CONTENT,
            "Nothing was changed: memory_content holds nothing but memories that were shown to you.",
        )
    target = resolve(given.target_user, turn) if given.target_user is not None else None
    fact_id = _id(given, target)
    return _Wanted(fact_id, _owners(fact_id, target, turn), persona.lineage, content, taught_for(turn))


def _id(given: UpdateArguments, target: Participant | None) -> FactId:
    """The id; a bare number is of the table that the target names, and a typed one must not be of another."""
    try:
        fact_id = parse(given.memory_id, FactKind.SERVER if target is None else FactKind.PERSONAL)
    except ValueError as error:
        refuse(FactStatus.INVALID_ARGUMENTS, f"Nothing was changed: {error}.")
    if fact_id.kind is FactKind.SERVER and target is not None:
        refuse(
            FactStatus.INVALID_ARGUMENTS,
            f"Nothing was changed: {fact_id} belongs to the server, and {target.name[:80]!r} is a person. "
            "Leave target_user out, or give the id of one of that person's memories.",
        )
    return fact_id


def _owners(fact_id: FactId, target: Participant | None, turn: TurnState) -> tuple[str, ...]:
    """Whose fact it may be: the server's, the target's, or of anybody who takes part where nobody is named."""
    if fact_id.kind is FactKind.SERVER:
        scope = server_scope(turn)
        return (scope.owner,) if scope else ()
    return (target.user_id,) if target else tuple(person.user_id for person in turn.participants)


async def _write(resources: Resources, space: SpaceRow, wanted: _Wanted) -> Fact:
    """The fact as it is now, or as it was before it was deleted."""
    found = await resources.database.in_space(space.id, lambda tx: read_fact(tx, wanted.id))
    if found is None or not wanted.may_be(found.scope):
        _not_found(wanted.id)
    private = bool(wanted.content) and found.id.kind is FactKind.PERSONAL
    if private and not (await wish_of(resources, space, found.scope.owner)).self_taught:
        _restricted()

    async def write(tx: SpaceTransaction) -> Fact:
        await lock_scope(tx, found.scope)
        if private and not await still_agrees(tx, found.scope.owner):
            _restricted()
        fact = await read_fact(tx, wanted.id)
        if fact is None or fact.scope != found.scope:
            _not_found(wanted.id)
        _require_unprotected(fact)
        await note(tx, "update_long_term_memory", [fact.id])
        return await (_replace(tx, fact, wanted) if wanted.content else _delete(tx, fact, wanted.by))

    return await resources.database.in_space(space.id, write, writer=True)


async def _replace(tx: SpaceTransaction, fact: Fact, wanted: _Wanted) -> Fact:
    if fact.content == wanted.content:
        raise Refused(
            FactOutcome(FactStatus.NO_CHANGE, f"{fact.id} says that already.", fact.id, fact.scope, fact.content)
        )
    if content_key(fact.content) != content_key(wanted.content):
        same = await find_same(tx, fact.scope, wanted.content)
        if same is not None:
            refuse(
                FactStatus.DUPLICATE,
                f"Nothing was changed: {same} says that already. Delete {fact.id} if it is no longer true.",
                known=same,
            )
    after = replace(fact, content=wanted.content, revision=fact.revision + 1, decay_days=0, updated_at=tx.now)
    if not await change_fact(tx, fact, after, "update", wanted.by):
        _not_found(wanted.id)
    return after


async def _delete(tx: SpaceTransaction, fact: Fact, by: str) -> Fact:
    await keep_change(tx, fact, "delete", by)
    await archive_fact(tx, fact, "deleted", by)
    if not await delete_fact(tx, fact):
        _not_found(fact.id)
    return replace(fact, updated_at=tx.now)


def _restricted() -> NoReturn:
    refuse(
        FactStatus.PRIVACY_RESTRICTED,
        "Nothing was changed: this person doesn't want to be remembered, or it can't be told whether they do. "
        "Their memories can only be deleted.",
    )


def _require_unprotected(fact: Fact) -> None:
    if fact.pinned or fact.scope.lineage == EVERY_LINEAGE:
        why = "is pinned" if fact.pinned else "belongs to every persona"
        refuse(
            FactStatus.PROTECTED,
            f"Nothing was changed: {fact.id} {why}, so only a person can change it. Tell the user if it is wrong.",
            known=fact.id,
        )


def _not_found(fact_id: FactId) -> NoReturn:
    refuse(
        FactStatus.NOT_FOUND,
        f"Nothing was changed: there is no memory {fact_id} here. Use an id as it is shown in your memories; "
        "for a memory of a person, give their name as target_user.",
    )
