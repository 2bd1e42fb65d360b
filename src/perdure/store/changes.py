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
    NewText,
    add_evidence,
    chunk_sketches,
    delete_vectors,
    insert_vectors,
    read_rows,
)
from perdure.store.postings import Postings, add_facets, delete_postings, insert_postings
from perdure.store.sketches import signature
from perdure.text import fold

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

RAISE_SALIENCE: Final = """
    UPDATE memory_state SET salience = least(10, %(salience)s::real)
    WHERE space_id = %(space_id)s AND memory_id = %(id)s AND salience < least(10, %(salience)s::real)
"""

SET_TAGS: Final = """
    UPDATE memories SET tags = %(tags)s WHERE space_id = %(space_id)s AND id = %(id)s
"""

# The ranges of a memory follow each other without a gap: each begins where the one before ended, the first one when the
# memory came in. `greatest`, because a writer that waited for the space's lock began before the one it waited for.
INSERT_HISTORY: Final = """
    INSERT INTO memory_history (space_id, memory_id, action, changed_at, changed_by, reason, summary, state,
                                valid_from, valid_to)
    SELECT %(space_id)s, %(memory_id)s, %(action)s, %(now)s, %(changed_by)s, %(reason)s, %(summary)s, %(state)s,
           b.begun, greatest(b.begun, %(now)s)
    FROM (SELECT coalesce(max(h.valid_to), %(created_at)s) AS begun
          FROM memory_history h
          WHERE h.space_id = %(space_id)s AND h.memory_id = %(memory_id)s) AS b
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
    """Keeps what a memory was until now: its words, and all else of it that can change."""
    memory = row.memory
    state = {
        "memory_type": memory.memory_type,
        "salience": memory.salience,
        "usefulness": memory.usefulness,
        "confidence": memory.confidence,
        "retrieval_count": memory.retrieval_count,
        "tags": list(memory.tags),
        "entities": list(memory.entities),
        "metadata": dict(memory.metadata),
        "pinned": memory.pinned,
        "related_ids": list(memory.related_ids),
        "superseded_by": memory.superseded_by,
        "superseded_at": memory.superseded_at.isoformat() if memory.superseded_at else None,
        "superseded_reason": memory.superseded_reason,
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
            "created_at": memory.created_at,
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


async def pin(tx: SpaceTransaction, rows: Sequence[MemoryRow], changed_by: str, *, pinned: bool) -> None:
    """Pins or unpins memories, with a row of history for each one that wasn't so already."""
    changing = [row for row in rows if row.memory.pinned is not pinned]
    for row in changing:
        await write_history(tx, row, "pin" if pinned else "unpin", changed_by)
    await tx.execute(PIN, {"ids": [row.memory.id for row in changing], "pinned": pinned})


async def merge_into(tx: SpaceTransaction, rows: Sequence[MemoryRow], text: NewText) -> None:
    """An exact duplicate of a text arrived: tags and evidence are united, salience is the greater of both.

    `rows` are all chunks of the stored text; each one that changes gets a row of history.
    """
    first = text.chunks[0]
    tag_keys = [key for key in first.facets if key.startswith("tag:")]
    for row in rows:
        memory_id = row.memory.id
        known = {fold(tag) for tag in row.memory.tags}
        added = [tag for tag in first.tags if fold(tag) not in known]
        if added:
            await tx.execute(SET_TAGS, {"id": memory_id, "tags": [*row.memory.tags, *added]})
            await add_facets(tx, memory_id, tag_keys)
        raised = await tx.execute(RAISE_SALIENCE, {"id": memory_id, "salience": first.salience})
        if added or raised:
            await write_history(tx, row, "merge", first.source)
    await add_evidence(tx, [(row.memory.id, item) for row in rows for item in first.evidence])


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
