"""Vectors of self-taught facts, one for each embedding family: how near facts are to a query; filling what lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from pgvector import HalfVector

from perdure.fact_types import Fact, FactId, FactKind
from perdure.store.database import SpaceTransaction
from perdure.store.fact_tables import of_kind

VECTORS_POSSIBLE: Final = """
    SELECT to_regtype('halfvec') IS NOT NULL AS possible
"""

# One row for each kind: a row for each fact would take longer to be read than all cosines to be worked out.
SCORE_FACTS: Final = """
    SELECT 'server' AS kind, array_agg(v.memory_id) AS ids,
           array_agg(1 - (v.embedding <=> %(vector)b::halfvec)) AS cosines
    FROM server_memory_vectors v
    WHERE v.space_id = %(space_id)s AND v.family_id = %(family_id)s AND v.memory_id = ANY(%(server_ids)s::bigint[])
    UNION ALL
    SELECT 'personal', array_agg(v.memory_id), array_agg(1 - (v.embedding <=> %(vector)b::halfvec))
    FROM personal_memory_vectors v
    WHERE v.space_id = %(space_id)s AND v.family_id = %(family_id)s AND v.memory_id = ANY(%(personal_ids)s::bigint[])
"""

FIND_MISSING: Final = """
    SELECT m.id FROM {facts} m
    WHERE m.space_id = %(space_id)s AND m.id = ANY(%(ids)s::bigint[])
      AND NOT EXISTS (
          SELECT 1 FROM {fact_vectors} v
          WHERE v.space_id = %(space_id)s AND v.memory_id = m.id AND v.family_id = %(family_id)s)
"""

# The row is held, so that nobody changes the words between the look at them and the vector that stands for them.
FILL_VECTORS: Final = """
    WITH held AS MATERIALIZED (
        SELECT m.id, t.embedding
        FROM unnest(%(ids)s::bigint[], %(contents)s::text[], %(embeddings)b::halfvec[]) AS t (id, content, embedding)
        JOIN {facts} m ON m.space_id = %(space_id)s AND m.id = t.id AND m.content = t.content
        ORDER BY m.id
        FOR SHARE OF m
    )
    INSERT INTO {fact_vectors} (space_id, family_id, memory_id, embedding)
    SELECT %(space_id)s, %(family_id)s, h.id, h.embedding FROM held h
    ON CONFLICT (space_id, memory_id, family_id) DO NOTHING
"""

ROUNDING: Final = 1e-6
"""Vectors are kept in half precision, and the cosine of two that are exactly so far apart comes out a little off."""


async def vectors_possible(tx: SpaceTransaction) -> bool:
    """Whether the database still has pgvector: somebody may have dropped it since Perdure was opened."""
    row = await tx.fetch_one(VECTORS_POSSIBLE)
    return bool(row and row["possible"])


async def score_facts(
    tx: SpaceTransaction, family_id: int, vector: np.ndarray, facts: Iterable[FactId]
) -> dict[FactId, float]:
    """The cosine of each fact that has a vector of this family to a query's vector; the others are missing."""
    wanted = list(facts)
    ids = _numbers(wanted)
    params = {
        "family_id": family_id,
        "vector": HalfVector(vector),
        "server_ids": ids[FactKind.SERVER],
        "personal_ids": ids[FactKind.PERSONAL],
    }
    rows = await tx.fetch_all(SCORE_FACTS, params, prepare=False)
    cosines = {row["kind"]: dict(zip(row["ids"] or (), row["cosines"] or (), strict=True)) for row in rows}
    return {fact: cosine + ROUNDING for fact in wanted if (cosine := cosines[fact.kind].get(fact.number)) is not None}


async def without_vector(tx: SpaceTransaction, family_id: int, facts: Iterable[FactId]) -> frozenset[FactId]:
    """Which of these facts are there and have no vector of this family."""
    found: set[FactId] = set()
    for kind, ids in _numbers(facts).items():
        if ids:
            rows = await tx.fetch_all(of_kind(FIND_MISSING, kind), {"ids": ids, "family_id": family_id})
            found.update(FactId(kind, row["id"]) for row in rows)
    return frozenset(found)


async def fill_vectors(
    tx: SpaceTransaction, family_id: int, facts: Sequence[Fact], vectors: Sequence[np.ndarray]
) -> int:
    """Stores a vector for each fact that still says what was embedded; returns how many were stored."""
    filled = 0
    for kind in FactKind:
        own = [(fact, vector) for fact, vector in zip(facts, vectors, strict=True) if fact.id.kind is kind]
        if not own:
            continue
        params = {
            "family_id": family_id,
            "ids": [fact.id.number for fact, _ in own],
            "contents": [fact.content for fact, _ in own],
            "embeddings": [HalfVector(vector) for _, vector in own],
        }
        filled += await tx.execute(of_kind(FILL_VECTORS, kind), params)
    return filled


def _numbers(facts: Iterable[FactId]) -> Mapping[FactKind, list[int]]:
    numbers: dict[FactKind, list[int]] = {kind: [] for kind in FactKind}
    for fact in facts:
        numbers[fact.kind].append(fact.number)
    return numbers
