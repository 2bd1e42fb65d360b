"""Memories that share an entity with others: one step beyond what a query finds, under its audience and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from psycopg import sql

from perdure.store.database import SpaceTransaction
from perdure.store.statements import kept
from perdure.store.visibility import Conditions, conditions_of, facets_of, filter_params, visible
from perdure.types import Filters

MOST_SHARING: Final = 500
"""Rows that are looked at, those with the rarest entity first."""

# Entities first, rows by their key afterwards, in an order that no planner may turn round: going through a whole space
# to find the few rows of an entity took up to two seconds.
SHARING: Final = """
    WITH followed AS MATERIALIZED (
        SELECT c.key, c.n FROM space_counts c
        WHERE c.space_id = %(space_id)s AND c.kind = 'entity' AND c.key = ANY(%(keys)s::text[]) AND c.n <= %(common)s
    )
    SELECT s.memory_id, s.keys
    FROM (
        SELECT e.memory_id, min(k.n) AS n, array_agg(e.key ORDER BY k.n, e.key) AS keys
        FROM followed k
        JOIN memory_entities e ON e.space_id = %(space_id)s AND e.key = k.key
        WHERE e.memory_id <> ALL (%(excluding)s::bigint[])
        GROUP BY e.memory_id
        ORDER BY min(k.n), e.memory_id DESC
        OFFSET 0
    ) s
    CROSS JOIN LATERAL (
        SELECT FROM memory_state m
        WHERE m.space_id = %(space_id)s AND m.memory_id = s.memory_id AND {visible}
        OFFSET 0
    ) seen
    ORDER BY s.n, s.memory_id DESC
    LIMIT {most}
"""


@dataclass(frozen=True, slots=True)
class Sharing:
    """A memory and which of the entity keys it carries, the rarest first."""

    memory_id: int
    keys: tuple[str, ...]


async def sharing(
    tx: SpaceTransaction,
    keys: Sequence[str],
    *,
    audience: str | None,
    filters: Filters,
    common: int,
    excluding: Sequence[int],
) -> list[Sharing]:
    """Rows that a query of this audience with these filters may return and that carry one of the keys.

    Args:
        keys: folded entity keys. Those that more than `common` memories carry lead nowhere.
        excluding: memories that were found already.
    """
    if not keys:
        return []
    facets = facets_of(filters)
    params = {
        "keys": list(keys),
        "common": common,
        "excluding": list(excluding),
        **filter_params(filters, audience, facets),
    }
    rows = await tx.fetch_all(_statement(conditions_of(filters, audience, facets)), params, prepare=False)
    return [Sharing(row["memory_id"], tuple(row["keys"])) for row in rows]


@lru_cache(maxsize=64)
def _statement(asked: Conditions) -> sql.SQL:
    return kept(sql.SQL(SHARING).format(visible=visible(asked), most=sql.Literal(MOST_SHARING)))
