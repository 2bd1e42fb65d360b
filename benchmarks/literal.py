"""The mission's ranking as one literal statement: the whole formula in the ORDER BY, worked out for every row."""

from __future__ import annotations

from typing import Final

from pgvector import HalfVector
from psycopg import sql

from benchmarks.corpus import Query
from perdure.store.database import SpaceTransaction
from perdure.store.families import StoredFamily
from perdure.store.ranking import tsquery

ORDER_BY: Final = """
    SELECT m.memory_id
    FROM memory_state m
    JOIN memory_vectors v ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = m.memory_id
    JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
    WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL AND m.audience IS NULL
      AND m.memory_type NOT IN ('identity', 'reflection')
    ORDER BY (v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}))
            / (1 + 10 * ts_rank(w.summary_tsv, to_tsquery('pg_catalog.simple', %(tsquery)s)))
        - 0.1 * m.salience - 0.15 * m.usefulness_score - 0.03 * m.confidence
        - 0.03 * power(0.5, extract(epoch FROM %(now)s - m.created_at) / 86400 / 30)
        - 0.02 * ln(m.retrieval_count + 1)
        - 0.2 * (w.entities && %(entity_keys)s::text[])::int,
        m.memory_id DESC
    LIMIT {limit}
"""


async def rank_literally(tx: SpaceTransaction, family: StoredFamily, query: Query, limit: int) -> list[int]:
    """The ids of the best `limit` memories that everybody may see. The corpus stores its entities folded."""
    slots = {"family": family.id, "dimensions": family.dimensions, "limit": limit}
    statement = sql.SQL(ORDER_BY).format(**{name: sql.Literal(value) for name, value in slots.items()})
    params = {
        "vector": HalfVector(query.vector),
        "tsquery": tsquery(query.terms),
        "entity_keys": list(query.entity_keys),
    }
    return [row["memory_id"] for row in await tx.fetch_all(statement, params, prepare=False)]
