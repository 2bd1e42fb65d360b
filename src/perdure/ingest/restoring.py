"""Taking a wrong verdict back: a superseded memory lives again."""

from __future__ import annotations

from perdure.ingest.saving import require_row
from perdure.resources import Resources
from perdure.store.changes import flag_conflict, restore
from perdure.store.database import SpaceTransaction
from perdure.store.memories import read_rows
from perdure.store.spaces import SpaceRow, lock_space
from perdure.types import StoredMemory


async def restore_memory(resources: Resources, space: SpaceRow, memory_id: int, audience: str | None) -> StoredMemory:
    """Makes a superseded memory live again, with its sibling chunks; one that is live stays as it is.

    What had superseded it stays live, too, and each names the other in `conflicts_with`: whoever restores may forget
    the one that is wrong.

    Raises:
        NotFound: no such memory for this audience. Conflict: another live memory holds the same text.
    """

    async def write(tx: SpaceTransaction) -> StoredMemory:
        await lock_space(tx)
        row = await require_row(tx, space, memory_id, audience)
        await restore(tx, [row], "user")
        found = await read_rows(tx, space.name, [row.memory.superseded_by] if row.memory.superseded_by else [])
        for successor, other in found.items():
            await flag_conflict(tx, memory_id, [successor])
            # What the whole space sees mustn't know of what is private.
            if other.memory.audience == row.memory.audience:
                await flag_conflict(tx, successor, [memory_id])
        return (await require_row(tx, space, memory_id, audience)).memory

    return await resources.database.in_space(space.id, write, writer=True)
