"""Taking a wrong verdict back: a superseded memory lives again."""

from __future__ import annotations

from perdure.ingest.saving import require_row
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.changes import flag_conflict, restore
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, read_rows
from perdure.store.spaces import SpaceRow, lock_space
from perdure.types import StoredMemory


async def restore_memory(resources: Resources, space: SpaceRow, memory_id: int, audience: str | None) -> StoredMemory:
    """Makes a superseded memory live again, with its sibling chunks; one that is live stays as it is.

    What counts in its place by now, be it the successor of its successor, stays live, too, and each names the other in
    `conflicts_with`: whoever restores may forget the one that is wrong.

    Raises:
        NotFound: no such memory for this audience. Conflict: another live memory holds the same text.
    """

    async def write(tx: SpaceTransaction) -> StoredMemory:
        await lock_space(tx)
        row = await require_row(tx, space, memory_id, audience)
        successor = await _live_successor(tx, space, row)
        await restore(tx, [row], "user")
        await note(tx, "restore", [memory_id])
        if successor is not None:
            # Each names the other where it may: what the whole space sees mustn't know of what is private.
            await flag_conflict(tx, memory_id, [successor])
            await flag_conflict(tx, successor, [memory_id])
        return (await require_row(tx, space, memory_id, audience)).memory

    return await resources.database.in_space(space.id, write, writer=True)


async def _live_successor(tx: SpaceTransaction, space: SpaceRow, row: MemoryRow) -> int | None:
    """What says today what is true instead: the live end of the chain of successors, if there is one."""
    passed = {row.memory.id}
    at = row.memory.superseded_by
    while at is not None and at not in passed:
        passed.add(at)
        found = (await read_rows(tx, space.name, [at])).get(at)
        if found is None or found.memory.superseded_at is None:
            return None if found is None else at
        at = found.memory.superseded_by
    return None
