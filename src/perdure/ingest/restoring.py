"""Taking a wrong verdict back: a superseded memory lives again."""

from __future__ import annotations

from perdure.ingest.saving import require_row
from perdure.resources import Resources
from perdure.store.changes import restore
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow, lock_space
from perdure.types import StoredMemory


async def restore_memory(resources: Resources, space: SpaceRow, memory_id: int, audience: str | None) -> StoredMemory:
    """Makes a superseded memory live again, with its sibling chunks; one that is live stays as it is.

    What had superseded it stays live, too: whoever restores says that both hold.

    Raises:
        NotFound: no such memory for this audience. Conflict: another live memory holds the same text.
    """

    async def write(tx: SpaceTransaction) -> StoredMemory:
        await lock_space(tx)
        row = await require_row(tx, space, memory_id, audience)
        await restore(tx, [row], "user")
        return (await require_row(tx, space, memory_id, audience)).memory

    return await resources.database.in_space(space.id, write, writer=True)
