"""What was live at a time in the past and has changed since: its words and state then, from its history.

A row of history outlives a purge, so that what was removed since is answered, too; erasure takes it away. What has not
changed since is ranked where it lies (`ranking.RankQuery.as_of`).

A memory counts from the day it came in, or from the day it speaks of if that lies before: conversations that were
imported years later were known then. It ceases to count when it was superseded, or when what superseded it was known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perdure.store.database import SpaceTransaction
from perdure.store.memories import memory_of
from perdure.types import Filters, StoredMemory

MOST_VERSIONS: Final = 2000
"""Changed memories that one question is asked of; of more, those that were known last."""

# The first state that ended after that time is the one that held at it. Of what was purged, the history also has what
# can't change: when it came in, from whom, and who may see it.
CHANGED_SINCE: Final = """
    WITH held AS MATERIALIZED (
        SELECT DISTINCT ON (h.memory_id) h.memory_id, h.summary, h.state
        FROM memory_history h
        WHERE h.space_id = %(space_id)s AND h.valid_to > %(as_of)s
        ORDER BY h.memory_id, h.valid_to, h.id
    ),
    known AS (
        SELECT t.memory_id, t.summary, t.state, m.memory_id IS NOT NULL AS stored, m.superseded_by, m.term_count,
            CASE WHEN m.memory_id IS NULL THEN t.state ->> 'audience' ELSE m.audience END AS audience,
            CASE WHEN m.memory_id IS NULL THEN t.state ->> 'conversation_id' ELSE m.conversation_id END
                AS conversation_id,
            coalesce(m.created_at, (t.state ->> 'created_at')::timestamptz) AS created_at,
            coalesce(m.source_date, (t.state ->> 'source_date')::timestamptz) AS source_date
        FROM held t
        LEFT JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = t.memory_id
        WHERE t.state ->> 'superseded_at' IS NULL
            AND (%(memory_type)s::text IS NULL OR t.state ->> 'memory_type' = %(memory_type)s)
    )
    SELECT k.memory_id AS id, k.summary, k.state, k.stored, k.term_count, k.audience, k.conversation_id, k.created_at,
        k.source_date, w.source, w.trust, w.speaker, w.language, w.chunk_of, w.chunk_no, w.search_text,
        k.summary = w.summary AS same_words, CASE WHEN k.summary = w.summary THEN v.embedding END AS embedding
    FROM known k
    LEFT JOIN memories w ON w.space_id = %(space_id)s AND w.id = k.memory_id
    LEFT JOIN memory_vectors v
        ON v.space_id = %(space_id)s AND v.family_id = %(family_id)s AND v.memory_id = k.memory_id
    WHERE (k.audience IS NULL OR k.audience = %(audience)s)
        AND least(k.created_at, k.source_date) <= %(as_of)s
        AND (%(conversation_id)s::text IS NULL OR k.conversation_id = %(conversation_id)s)
        AND (%(since)s::timestamptz IS NULL OR k.source_date >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR k.source_date < %(until)s)
        AND NOT EXISTS (
            SELECT 1 FROM memory_state b
            WHERE b.space_id = %(space_id)s AND least(b.created_at, b.source_date) <= %(as_of)s
                AND b.memory_id = k.superseded_by)
        AND (k.stored OR NOT EXISTS (
            SELECT 1 FROM memory_history l
            JOIN memory_state b ON b.space_id = %(space_id)s
                AND b.memory_id = (l.state ->> 'superseded_by')::bigint
            WHERE l.space_id = %(space_id)s AND l.memory_id = k.memory_id
                AND least(b.created_at, b.source_date) <= %(as_of)s))
    ORDER BY least(k.created_at, k.source_date) DESC, k.memory_id DESC
    LIMIT %(limit)s
"""

ASKED: Final = ("id", "summary", "audience", "conversation_id", "created_at", "source_date")
"""What the statement tells of every memory."""

FIXED: Final = ("source", "trust", "speaker", "language", "chunk_of", "chunk_no")
"""What hardly changes, and of which the statement tells where the memory is still stored; of trust, which a merge may
raise, the history is asked."""

LIVE: Final[Mapping[str, object]] = {
    "superseded_by": None,
    "superseded_at": None,
    "superseded_reason": None,
    "conflicts_with": (),
    "last_retrieved_at": None,
}
"""Nothing had superseded it then; with what it was at odds, and when it was asked for, no history tells."""


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as it was. `search_text`, `length` and `vector` are there if it is stored and still says the same."""

    memory: StoredMemory
    search_text: str | None
    length: int
    vector: npt.NDArray[np.float32] | None


async def changed_since(
    tx: SpaceTransaction,
    space: str,
    as_of: datetime,
    *,
    family_id: int,
    audience: str | None,
    filters: Filters,
) -> list[Version]:
    """What was live at `as_of` for this audience and has changed or gone since, known last first; at most 2,000 + 1.

    Of the filters, type, conversation and time are asked here; tags, source, speaker and metadata are the caller's to
    compare, by the keys of what the memory was.
    """
    params = {
        "as_of": as_of,
        "family_id": family_id,
        "audience": audience,
        "memory_type": None if filters.memory_type is None else filters.memory_type.value,
        "conversation_id": filters.conversation_id,
        "since": filters.since,
        "until": filters.until,
        "limit": MOST_VERSIONS + 1,
    }
    return [_version(space, row) for row in await tx.fetch_all(CHANGED_SINCE, params, prepare=False)]


def _version(space: str, row: Mapping[str, Any]) -> Version:
    state: Mapping[str, Any] = row["state"]
    # What can't change is asked of the row while there is one.
    fixed: Mapping[str, Any] = row if row["stored"] else state
    columns = {
        **state,
        **{name: row[name] for name in ASKED},
        **{name: fixed[name] for name in FIXED},
        "trust": state.get("trust", fixed["trust"]),
        **LIVE,
    }
    vector = None if row["embedding"] is None else np.asarray(row["embedding"].to_numpy(), np.float32)
    same = bool(row["same_words"])
    return Version(
        memory_of(space, columns), row["search_text"] if same else None, row["term_count"] if same else 0, vector
    )
