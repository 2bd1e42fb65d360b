"""Documents: which passages a query finds. A scope holds few enough that each is compared, and no index is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from pgvector import HalfVector

from perdure.document_types import DocumentScope
from perdure.store.database import SpaceTransaction
from perdure.store.documents import reach_of

ANY_IN_REACH: Final = """
    SELECT 1 AS found FROM documents d
    WHERE d.space_id = %(space_id)s AND d.state = 'complete'
      AND d.server_id = ANY(%(servers)s) AND d.persona_lineage_id = ANY(%(lineages)s)
      AND d.audience = ANY(%(audiences)s)
      AND (d.channel_ids = '{}' OR %(channel_id)s::text = ANY(d.channel_ids))
    LIMIT 1
"""

# The threshold comes before the limit. What a document is and what it says are read in one statement, so that one which
# is replaced meanwhile is found as it was or as it is, and never as half of each. Step by step (MATERIALIZED): else the
# planner compares all vectors of the space first, and looks afterwards who may see them.
SEARCH_DOCUMENTS: Final = """
    WITH reach AS MATERIALIZED (
        SELECT d.id, d.name, d.parts FROM documents d
        WHERE d.space_id = %(space_id)s AND d.state = 'complete'
          AND d.server_id = ANY(%(servers)s) AND d.persona_lineage_id = ANY(%(lineages)s)
          AND d.audience = ANY(%(audiences)s)
          AND (d.channel_ids = '{}' OR %(channel_id)s::text = ANY(d.channel_ids))
    ),
    passages AS MATERIALIZED (
        SELECT c.id, c.document_id FROM reach r
        JOIN document_chunks c ON c.space_id = %(space_id)s AND c.document_id = r.id
    ),
    near AS MATERIALIZED (
        SELECT p.id, p.document_id, 1 - (v.embedding <=> %(vector)s::halfvec) AS cosine FROM passages p
        JOIN document_vectors v ON v.space_id = %(space_id)s AND v.chunk_id = p.id AND v.family_id = %(family_id)s
    ),
    nearest AS MATERIALIZED (
        SELECT n.id, n.document_id, n.cosine FROM near n WHERE n.cosine >= %(least)s
        ORDER BY n.cosine DESC, n.document_id, n.id LIMIT %(limit)s
    )
    SELECT n.document_id, r.name, c.position, r.parts, c.content, c.starts, c.ends, c.page, n.cosine
    FROM nearest n
    JOIN reach r ON r.id = n.document_id
    JOIN document_chunks c ON c.space_id = %(space_id)s AND c.id = n.id
    ORDER BY n.cosine DESC, n.document_id, n.id
"""

ROUNDING: Final = 1e-6
"""What is exactly at a threshold counts: vectors are kept in half precision, and cosines come out a little off."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage within reach of a query."""

    document_id: int
    name: str
    position: int
    parts: int
    text: str
    starts: int
    ends: int
    page: int | None
    cosine: float


async def any_in_reach(tx: SpaceTransaction, scope: DocumentScope, channel_id: str | None) -> bool:
    """Whether any document can be seen from here."""
    return await tx.fetch_one(ANY_IN_REACH, {**reach_of(scope), "channel_id": channel_id}) is not None


async def search_documents(
    tx: SpaceTransaction,
    family_id: int,
    vector: np.ndarray,
    scope: DocumentScope,
    *,
    channel_id: str | None,
    least: float,
    limit: int,
) -> Sequence[FoundPassage]:
    """The nearest passages that can be seen from here, nearest first: at most `limit` with a cosine of `least` or more.

    Passages without a vector of this family are not found.
    """
    params = {
        **reach_of(scope),
        "family_id": family_id,
        "vector": HalfVector(vector),
        "channel_id": channel_id,
        "least": least - ROUNDING,
        "limit": limit,
    }
    rows = await tx.fetch_all(SEARCH_DOCUMENTS, params, prepare=False)
    return [
        FoundPassage(
            document_id=row["document_id"],
            name=row["name"],
            position=row["position"],
            parts=row["parts"],
            text=row["content"],
            starts=row["starts"],
            ends=row["ends"],
            page=row["page"],
            cosine=row["cosine"],
        )
        for row in rows
    ]
