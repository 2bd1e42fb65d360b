"""Memories that a new one may contradict: the nearest live ones, and those that share an entity with it.

Distances are exact whatever the size of the space. As for ranking, the code chooses by stored counts: up to
`EXACT_ROWS` rows are all compared, in larger spaces the family's index says which. Where the index comes back
short, because other spaces of the family lie in its way, sketches say it, which lie with the space's own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, LiteralString

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector
from psycopg import sql

from perdure.store.database import SpaceTransaction
from perdure.store.families import StoredFamily
from perdure.store.ranking_counts import EXACT_ROWS, read_counts
from perdure.store.sketches import sketches
from perdure.store.spaces import read_state
from perdure.store.statements import kept
from perdure.types import HIDDEN_TYPES, Filters, MemoryType

UNRELATED_TYPES: Final = sorted(kind.value for kind in HIDDEN_TYPES | {MemoryType.EPISODE})
"""What was made out of other memories: it repeats them, and would be told to contradict what it rests on."""

COMMON_ENTITY: Final = 200
"""An entity that so many memories carry (the user's own name) says nothing about what two of them have in common."""

LOOKED_AT: Final = 24
"""Rows that the index is asked for beyond the limit: it is right about which are near, less so about their order."""

EF_SEARCH: Final = 400
"""How far the index looks. In 50,000 made-up memories of tight topics, 100 missed the nearest one 6 times in a hundred
(6 ms), 200 twice, 400 never in 230 (10 ms). A miss is a contradiction that nobody judges."""

SKETCHED_ROWS: Final = 1000
SKETCHED_SHARE: Final = 10
"""The nearest tenth by sketch, and at least so many rows, hold 96 of 100 of the three nearest in 50,000 memories."""

LIVE: Final = """
    m.superseded_at IS NULL AND (m.audience IS NULL OR m.audience = %(audience)s)
    AND m.memory_type <> ALL (%(types)s::text[]) AND m.memory_id <> ALL (%(excluding)s::bigint[])
    AND (%(since)s::timestamptz IS NULL OR m.source_date >= %(since)s::timestamptz)
"""

# `ANY (ARRAY (…))` instead of a join: the same plan whatever the planner believes of a table that nobody has analysed
# yet. As a join it looked at every vector for every memory there, 8 ms at 300 memories.
MEASURED: Final = """
    SELECT n.memory_id, n.distance
    FROM (
        SELECT v.memory_id, v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) AS distance
        FROM memory_vectors v
        WHERE v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = ANY (ARRAY ({chosen}))
        OFFSET 0
    ) n
    WHERE n.distance < %(below)s
    ORDER BY n.distance, n.memory_id
    LIMIT %(limit)s
"""

EVERY_ROW: Final = """
    SELECT m.memory_id FROM memory_state m WHERE m.space_id = %(space_id)s AND {live}
"""

BY_INDEX: Final = """
    SELECT m.memory_id
    FROM memory_vectors v
    JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = v.memory_id
    WHERE v.space_id = %(space_id)s AND v.family_id = {family} AND {live}
    ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT %(rows)s
"""

BY_SKETCH: Final = """
    SELECT m.memory_id FROM memory_state m
    WHERE m.space_id = %(space_id)s AND m.sketch IS NOT NULL AND {live}
    ORDER BY m.sketch <~> %(sketch)s::bit(256), m.memory_id
    LIMIT %(rows)s
"""

OF_THESE: Final = """
    SELECT t.memory_id FROM unnest(%(found)s::bigint[]) AS t (memory_id)
"""

SHARING: Final = """
    SELECT m.memory_id
    FROM space_counts c
    JOIN memory_entities e ON e.space_id = %(space_id)s AND e.key = c.key
    JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = e.memory_id
    WHERE c.space_id = %(space_id)s AND c.kind = 'entity' AND c.key = ANY(%(keys)s::text[]) AND c.n <= %(common)s
      AND {live}
    GROUP BY m.memory_id, m.source_date
    ORDER BY m.source_date DESC, m.memory_id DESC
    LIMIT %(limit)s
"""

# The planner can't see what vectors cost (docs/sql.md, rule e). A writer goes on after this: what it runs is planned as
# always.
BY_INDEX_ONLY: Final = """
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_sort = off;
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL jit = off;
    SET LOCAL hnsw.iterative_scan = relaxed_order;
    SET LOCAL hnsw.ef_search = {ef_search}
"""

AS_ALWAYS: Final = """
    SET LOCAL enable_seqscan TO DEFAULT;
    SET LOCAL enable_bitmapscan TO DEFAULT;
    SET LOCAL enable_sort TO DEFAULT;
    SET LOCAL enable_hashjoin TO DEFAULT;
    SET LOCAL enable_mergejoin TO DEFAULT;
    SET LOCAL jit TO DEFAULT;
    SET LOCAL hnsw.iterative_scan TO DEFAULT;
    SET LOCAL hnsw.ef_search TO DEFAULT
"""


@dataclass(frozen=True, slots=True)
class Near:
    """A memory (one chunk) and its exact cosine distance, 0..2."""

    memory_id: int
    distance: float


async def nearest_live(
    tx: SpaceTransaction,
    family: StoredFamily,
    vector: npt.NDArray[np.float32],
    *,
    audience: str | None,
    below: float,
    limit: int,
    excluding: Sequence[int] = (),
    since: datetime | None = None,
    memories: int | None = None,
) -> list[Near]:
    """Live memories strictly nearer than `below`, nearest first; one chunk each.

    Args:
        family: the embeddings to compare with.
        vector: float32 of the family's length, normalised.
        audience: of rows with an audience only those with this one are seen.
        below: cosine distance in this family, as its calibration tells (`contradiction_distance`).
        limit: how many rows at most.
        excluding: memories that are not looked at.
        since: only what happened then or later.
        memories: how many there are in the space, if that is known; read if None.
    """
    params = _live_params(audience, excluding, since) | {
        "vector": HalfVector(vector),
        "below": below,
        "limit": limit,
        "rows": limit + LOOKED_AT,
    }
    selected = await _selected(tx, audience, memories) if family.index_name else 0
    if selected <= EXACT_ROWS:
        return await _measure(tx, EVERY_ROW, family, params)
    await tx.execute(sql.SQL(BY_INDEX_ONLY).format(ef_search=sql.Literal(EF_SEARCH)))
    found = await tx.fetch_all(_by_index(family.id, family.dimensions), params, prepare=False)
    await tx.execute(AS_ALWAYS)
    if len(found) < params["rows"]:
        rows = max(SKETCHED_ROWS, selected // SKETCHED_SHARE)
        return await _measure(tx, BY_SKETCH, family, params | {"sketch": sketches(vector[None])[0], "rows": rows})
    return await _measure(tx, OF_THESE, family, params | {"found": [row["memory_id"] for row in found]})


async def sharing_entities(
    tx: SpaceTransaction, keys: Sequence[str], *, audience: str | None, limit: int, excluding: Sequence[int] = ()
) -> list[int]:
    """Live memories that carry one of these entity keys, newest first (when it happened).

    Keys that more than `COMMON_ENTITY` memories carry are skipped.
    """
    if not keys:
        return []
    params = _live_params(audience, excluding, None) | {"keys": list(keys), "common": COMMON_ENTITY, "limit": limit}
    return [row["memory_id"] for row in await tx.fetch_all(_sharing(), params, prepare=False)]


async def _selected(tx: SpaceTransaction, audience: str | None, memories: int | None) -> int:
    """How many memories an audience sees, at most; counted only where that could change the way."""
    if memories is None:
        state = await read_state(tx)
        memories = state.memories if state else 0
    if memories <= EXACT_ROWS:
        return memories
    counts = await read_counts(tx, terms=(), entity_keys=(), filters=Filters(), audience=audience, facets=())
    return counts.selected


def _live_params(audience: str | None, excluding: Sequence[int], since: datetime | None) -> dict[str, Any]:
    return {"audience": audience, "types": UNRELATED_TYPES, "excluding": list(excluding), "since": since}


@lru_cache(maxsize=64)
def _by_index(family_id: int, dimensions: int) -> sql.SQL:
    slots = {"family": sql.Literal(family_id), "dimensions": sql.Literal(dimensions)}
    return kept(sql.SQL(BY_INDEX).format(**slots, live=sql.SQL(LIVE)))


@lru_cache(maxsize=64)
def _measured(chosen: LiteralString, family_id: int, dimensions: int) -> sql.SQL:
    slots = {"family": sql.Literal(family_id), "dimensions": sql.Literal(dimensions)}
    return kept(sql.SQL(MEASURED).format(**slots, chosen=sql.SQL(chosen).format(live=sql.SQL(LIVE))))


@lru_cache(maxsize=1)
def _sharing() -> sql.SQL:
    return kept(sql.SQL(SHARING).format(live=sql.SQL(LIVE)))


async def _measure(
    tx: SpaceTransaction, chosen: LiteralString, family: StoredFamily, params: dict[str, Any]
) -> list[Near]:
    rows = await tx.fetch_all(_measured(chosen, family.id, family.dimensions), params)
    return [Near(row["memory_id"], row["distance"]) for row in rows]
