"""Erasure, which leaves nothing: no word of a memory, and no pointer to it. Needs the space's lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.store.changes import SET_CONFLICTS, SET_RELATED
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, read_rows
from perdure.store.postings import Postings, delete_postings

# Erasure. What points at the erased rows is cleared first: no foreign key sets anything to null by itself. What an
# erased row had superseded stays a tombstone (superseded_at), or an outdated value would come back to life.
CLEAR_SUPERSEDED_BY: Final = """
    UPDATE memory_state SET superseded_by = NULL
    WHERE space_id = %(space_id)s AND superseded_by = ANY(%(ids)s)
"""

FIND_CONFLICTS: Final = """
    SELECT id, conflicts_with FROM memories WHERE space_id = %(space_id)s AND conflicts_with <> '{}'
"""

DELETE_HISTORY: Final = """
    DELETE FROM memory_history WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

DELETE_MEMORIES: Final = """
    DELETE FROM memories WHERE space_id = %(space_id)s AND id = ANY(%(ids)s)
"""


# What is still to be done about the erased rows, and the exchanges that wait to be judged in their place.
FORGET_FOLLOWUPS: Final = """
    DELETE FROM pending_followups
    WHERE space_id = %(space_id)s AND payload -> 'ids' @> ANY(%(named)s::jsonb[])
"""

FORGET_REPLACING: Final = """
    DELETE FROM pending_triage
    WHERE space_id = %(space_id)s AND payload -> 'replaces' @> ANY(%(named)s::jsonb[])
"""

FORGET_FAILED: Final = """
    DELETE FROM failed_operations
    WHERE space_id = %(space_id)s
      AND (context -> 'payload' -> 'ids' @> ANY(%(named)s::jsonb[])
           OR context -> 'payload' -> 'replaces' @> ANY(%(named)s::jsonb[]))
"""


async def erase(tx: SpaceTransaction, rows: Sequence[MemoryRow], postings: Sequence[Postings]) -> None:
    """Removes memories with everything that holds their words: postings, vectors, evidence, history. Irreversible.

    What waits in a queue to be done about them, or to replace them, goes with them. Needs the space's lock.
    """
    ids = [row.memory.id for row in rows]
    await delete_postings(tx, postings)
    await clear_pointers(tx, rows)
    named = [str(memory_id) for memory_id in ids]
    for statement in (FORGET_FOLLOWUPS, FORGET_REPLACING, FORGET_FAILED):
        await tx.execute(statement, {"named": named})
    await tx.execute(DELETE_HISTORY, {"ids": ids})
    await tx.execute(DELETE_MEMORIES, {"ids": ids})


async def clear_pointers(tx: SpaceTransaction, rows: Sequence[MemoryRow]) -> None:
    """Lets no other memory name these rows any more, so that they can go. Needs the space's lock."""
    ids = [row.memory.id for row in rows]
    await tx.execute(CLEAR_SUPERSEDED_BY, {"ids": ids})
    partners = sorted({partner for row in rows for partner in row.memory.related_ids} - set(ids))
    for partner in (await read_rows(tx, "", partners)).values():
        kept = [related for related in partner.memory.related_ids if related not in ids]
        await tx.execute(SET_RELATED, {"id": partner.memory.id, "related_ids": kept})
    for flagged in await tx.fetch_all(FIND_CONFLICTS):
        kept = [other for other in flagged["conflicts_with"] if other not in ids]
        if len(kept) < len(flagged["conflicts_with"]):
            await tx.execute(SET_CONFLICTS, {"id": flagged["id"], "conflicts_with": kept})
