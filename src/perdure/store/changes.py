"""Changing what is stored: history first, then the new state; and erasure, which leaves nothing.

All of it needs the space's lock (`spaces.lock_space`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction
from perdure.store.memories import (
    MemoryRow,
    NewMemory,
    chunk_sketches,
    delete_vectors,
    insert_vectors,
    read_rows,
)
from perdure.store.postings import Postings, delete_postings, insert_postings
from perdure.store.sketches import signature

CHANGE_MEMORY: Final = """
    UPDATE memories
    SET summary = %(summary)s, search_text = %(search_text)s, tags = %(tags)s, entities = %(entities)s,
        metadata = %(metadata)s
    WHERE space_id = %(space_id)s AND id = %(id)s
"""

CHANGE_STATE: Final = """
    UPDATE memory_state
    SET salience = least(10, greatest(1, %(salience)s::real)), memory_type = %(memory_type)s, pinned = %(pinned)s,
        term_count = %(term_count)s, signature = %(signature)s::bit(512), is_question = %(is_question)s
    WHERE space_id = %(space_id)s AND memory_id = %(id)s
"""

CHANGE_TEXT_STATE: Final = """
    UPDATE memory_state SET content_hash = %(content_hash)s, sketch = %(sketch)s::bit(256)
    WHERE space_id = %(space_id)s AND memory_id = %(id)s
"""

# The whole text is not there any more once one of its chunks says something else.
FORGET_WHOLE_TEXT: Final = """
    UPDATE memory_state SET content_hash = NULL
    WHERE space_id = %(space_id)s AND memory_id = %(root)s AND content_hash IS NOT NULL
"""

PIN: Final = """
    UPDATE memory_state SET pinned = %(pinned)s WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

INSERT_HISTORY: Final = """
    INSERT INTO memory_history (space_id, memory_id, action, changed_at, changed_by, reason, summary, state,
                                valid_from, valid_to)
    VALUES (%(space_id)s, %(memory_id)s, %(action)s, %(now)s, %(changed_by)s, %(reason)s, %(summary)s, %(state)s,
            %(valid_from)s, %(now)s)
"""

READ_HISTORY: Final = """
    SELECT action, changed_at, changed_by, reason, summary, state, valid_from, valid_to
    FROM memory_history WHERE space_id = %(space_id)s AND memory_id = %(id)s ORDER BY id
"""

# Erasure. What points at the erased rows is cleared first: no foreign key sets anything to null by itself. What an
# erased row had superseded stays a tombstone (superseded_at), or an outdated value would come back to life.
CLEAR_SUPERSEDED_BY: Final = """
    UPDATE memory_state SET superseded_by = NULL
    WHERE space_id = %(space_id)s AND superseded_by = ANY(%(ids)s)
"""

SET_RELATED: Final = """
    UPDATE memories SET related_ids = %(related_ids)s WHERE space_id = %(space_id)s AND id = %(id)s
"""

DELETE_HISTORY: Final = """
    DELETE FROM memory_history WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

DELETE_MEMORIES: Final = """
    DELETE FROM memories WHERE space_id = %(space_id)s AND id = ANY(%(ids)s)
"""


async def write_history(tx: SpaceTransaction, row: MemoryRow, action: str, changed_by: str, reason: str = "") -> None:
    """Keeps what a memory was until now."""
    memory = row.memory
    state = {
        "memory_type": memory.memory_type,
        "salience": memory.salience,
        "usefulness": memory.usefulness,
        "confidence": memory.confidence,
        "tags": list(memory.tags),
        "metadata": dict(memory.metadata),
        "pinned": memory.pinned,
        "superseded_by": memory.superseded_by,
    }
    await tx.execute(
        INSERT_HISTORY,
        {
            "memory_id": memory.id,
            "action": action,
            "changed_by": changed_by,
            "reason": reason,
            "summary": memory.summary,
            "state": Jsonb(state),
            "valid_from": memory.source_date,
        },
    )


async def read_history(tx: SpaceTransaction, memory_id: int) -> list[dict[str, Any]]:
    return await tx.fetch_all(READ_HISTORY, {"id": memory_id})


async def change(tx: SpaceTransaction, before: MemoryRow, after: NewMemory, keys: tuple[Postings, Postings]) -> None:
    """Replaces text and state of one memory; `keys` are its postings before and after. Needs the space's lock.

    Where the words are new, `change_text` has to follow.
    """
    memory_id = before.memory.id
    await delete_postings(tx, [keys[0]])
    await tx.execute(
        CHANGE_MEMORY,
        {
            "id": memory_id,
            "summary": after.summary,
            "search_text": after.search_text,
            "tags": list(after.tags),
            "entities": list(after.entities),
            "metadata": Jsonb(dict(after.metadata)),
        },
    )
    await tx.execute(
        CHANGE_STATE,
        {
            "id": memory_id,
            "salience": after.salience,
            "memory_type": after.memory_type,
            "pinned": after.pinned,
            "term_count": after.length,
            "signature": signature(after.terms, after.entity_keys),
            "is_question": after.is_question,
        },
    )
    await insert_postings(tx, [keys[1]])


async def change_text(
    tx: SpaceTransaction, memory_id: int, after: NewMemory, family_id: int, *, root: int | None
) -> None:
    """Replaces vector, sketch and hash of a memory whose words changed; `root` is the first chunk of its text."""
    state = {"id": memory_id, "content_hash": after.content_hash, "sketch": chunk_sketches([after])[0]}
    await tx.execute(CHANGE_TEXT_STATE, state)
    if root is not None:
        await tx.execute(FORGET_WHOLE_TEXT, {"root": root})
    await delete_vectors(tx, [memory_id])
    await insert_vectors(tx, family_id, [(memory_id, after.vector)])


async def pin(tx: SpaceTransaction, ids: Sequence[int], *, pinned: bool) -> None:
    await tx.execute(PIN, {"ids": list(ids), "pinned": pinned})


async def erase(tx: SpaceTransaction, rows: Sequence[MemoryRow], postings: Sequence[Postings]) -> None:
    """Removes memories with everything that holds their words: postings, vectors, evidence, history. Irreversible.

    Needs the space's lock.
    """
    ids = [row.memory.id for row in rows]
    await delete_postings(tx, postings)
    await tx.execute(CLEAR_SUPERSEDED_BY, {"ids": ids})
    partners = sorted({partner for row in rows for partner in row.memory.related_ids} - set(ids))
    for partner in (await read_rows(tx, "", partners)).values():
        kept = [related for related in partner.memory.related_ids if related not in ids]
        await tx.execute(SET_RELATED, {"id": partner.memory.id, "related_ids": kept})
    await tx.execute(DELETE_HISTORY, {"ids": ids})
    await tx.execute(DELETE_MEMORIES, {"ids": ids})
