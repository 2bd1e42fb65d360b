"""Facts come back: out of the archive under their own ids, or to what they said before."""

from __future__ import annotations

from dataclasses import replace

from perdure.errors import Conflict, NotFound, ScopeFull
from perdure.fact_types import Fact, FactId, FactKind
from perdure.ltm.by_hand import BY_HAND, FactEdit, edit_fact, no_such_fact, require_new, require_room
from perdure.ltm.privacy import require_by_hand
from perdure.ltm.publishing import publish
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.fact_archive import archive_fact, leave_archive, name_successor, read_archived
from perdure.store.fact_scopes import lock_scope
from perdure.store.fact_writing import bring_back, delete_fact, keep_change, read_changes
from perdure.store.facts import read_fact
from perdure.store.spaces import SpaceRow


async def restore_archived(
    resources: Resources, space: SpaceRow, fact_id: FactId, *, instead_of: FactId | None = None
) -> Fact:
    """Brings back a fact that was replaced or deleted; it is active, and nothing counts against it today.

    Args:
        instead_of: a fact of the same scope which is archived in its turn; where the scope is full, one has to be.

    Raises:
        NotFound. PrivacyRestricted. ScopeFull: there is no room. Conflict: it isn't archived, something says the same
        by now, or `instead_of` is pinned or of another scope.
    """
    gone, successor = await _require_archived(resources, space, fact_id)
    if gone.scope.kind is FactKind.PERSONAL:
        await require_by_hand(resources, space, gone.scope.owner)

    async def write(tx: SpaceTransaction) -> tuple[Fact, Fact | None]:
        await lock_scope(tx, gone.scope, make=True)
        if await read_archived(tx, fact_id) is None:
            raise no_such_fact(space, fact_id)
        left = None if instead_of is None else await _take_out(tx, space, gone, instead_of)
        await require_new(tx, gone)
        try:
            await require_room(tx, resources, gone.scope)
        except ScopeFull as full:
            named = successor or "another fact"
            raise ScopeFull(full.message, hint=f"Name one that goes for it: instead_of={named}.") from None
        fact = await bring_back(tx, gone)
        await leave_archive(tx, fact_id)
        if left is not None:
            await name_successor(tx, left.id, fact.id)
        await note(tx, "restore_fact", [fact_id])
        return fact, left

    fact, left = await resources.database.in_space(space.id, write, writer=True)
    await publish(resources, space, fact, "restored", BY_HAND, replaced=left.id if left else None)
    return fact


async def undo_to(resources: Resources, space: SpaceRow, fact_id: FactId, revision: int) -> Fact:
    """Gives a live fact back what it said, and its tags, channels and pin, at a former revision.

    Raises:
        NotFound: there is no such fact or revision. PrivacyRestricted. Conflict: something else says that by now.
    """
    changes = await resources.database.in_space(space.id, lambda tx: read_changes(tx, fact_id))
    then = next((change for change in changes if change.revision == revision), None)
    if then is None:
        raise NotFound(
            f"{fact_id} of space {space.name!r} has no revision {revision}.",
            hint="`perdure facts history` shows them.",
        )
    edit = FactEdit(then.content, then.tags, then.channel_ids, then.pinned)
    return await edit_fact(resources, space, fact_id, edit, action="undo")


async def _require_archived(resources: Resources, space: SpaceRow, fact_id: FactId) -> tuple[Fact, FactId | None]:
    async def read(tx: SpaceTransaction) -> tuple[Fact, FactId | None]:
        found = await read_archived(tx, fact_id)
        if found is not None:
            return found
        if await read_fact(tx, fact_id) is None:
            raise no_such_fact(space, fact_id)
        raise Conflict(
            f"{fact_id} isn't archived.", hint="To undo a change of it, name the revision that it should go back to."
        )

    return await resources.database.in_space(space.id, read)


async def _take_out(tx: SpaceTransaction, space: SpaceRow, gone: Fact, instead_of: FactId) -> Fact:
    """The fact that makes room, archived."""
    fact = await read_fact(tx, instead_of)
    if fact is None:
        raise no_such_fact(space, instead_of)
    if fact.scope != gone.scope:
        raise Conflict(f"{instead_of} makes no room for {gone.id}: they are not of the same server, person or persona.")
    if fact.pinned:
        raise Conflict(f"{instead_of} is pinned.", hint="Unpin it first, or name another one.")
    await keep_change(tx, fact, "replaced", BY_HAND)
    await archive_fact(tx, fact, "replaced", BY_HAND)
    await delete_fact(tx, fact)
    return replace(fact, updated_at=tx.now)
