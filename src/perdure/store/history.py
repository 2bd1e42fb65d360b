"""What a memory was: a row per change, with its words and state until then, who changed it and why.

It outlives a purge, so that a question about the past is answered, and ends with erasure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow

# The ranges of a memory follow each other without a gap: each begins where the one before ended, the first one when the
# memory came in. `greatest`, because a writer that waited for the space's lock began before the one it waited for.
INSERT_HISTORY: Final = """
    INSERT INTO memory_history (space_id, memory_id, action, changed_at, changed_by, made_by, reason, about, summary,
                                state, valid_from, valid_to)
    SELECT %(space_id)s, %(memory_id)s, %(action)s, %(now)s, %(changed_by)s, %(made_by)s, %(reason)s, %(about)s,
           %(summary)s, %(state)s, b.begun, greatest(b.begun, %(now)s)
    FROM (SELECT coalesce(max(h.valid_to), %(created_at)s) AS begun
          FROM memory_history h
          WHERE h.space_id = %(space_id)s AND h.memory_id = %(memory_id)s) AS b
"""

READ_HISTORY: Final = """
    SELECT action, changed_at, changed_by, made_by, reason, summary, state, valid_from, valid_to
    FROM memory_history WHERE space_id = %(space_id)s AND memory_id = %(id)s ORDER BY id
"""


async def write_history(
    tx: SpaceTransaction,
    row: MemoryRow,
    action: str,
    changed_by: str,
    reason: str = "",
    *,
    about: int | None = None,
    made_by: str | None = None,
    rests_on: Sequence[int] = (),
) -> None:
    """Keeps what a memory was until now: its words, all else of it that can change, and what a purge would take.

    Who may see it stands there, too: a question about the past is asked by somebody. `about` is the memory that the
    reason speaks of, `made_by` the prompt and model whose answer led to the change, `rests_on` the memories that a
    purge lets go of as evidence.
    """
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
        "source": memory.source,
        "trust": memory.trust,
        "speaker": memory.speaker,
        "audience": memory.audience,
        "conversation_id": memory.conversation_id,
        "language": memory.language,
        "created_at": memory.created_at.isoformat(),
        "source_date": memory.source_date.isoformat(),
        "chunk_of": memory.chunk_of,
        "chunk_no": memory.chunk_no,
    }
    if rests_on:
        state["rests_on"] = list(rests_on)
    await tx.execute(
        INSERT_HISTORY,
        {
            "memory_id": memory.id,
            "action": action,
            "changed_by": changed_by,
            "made_by": made_by,
            "reason": reason,
            "about": memory.superseded_by if about is None else about,
            "summary": memory.summary,
            "state": Jsonb(state),
            "created_at": memory.created_at,
        },
    )


async def read_history(tx: SpaceTransaction, memory_id: int) -> list[dict[str, Any]]:
    return await tx.fetch_all(READ_HISTORY, {"id": memory_id})
