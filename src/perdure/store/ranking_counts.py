"""Stored counts of a space: document frequencies for the lexical score, and sizes that choose exact or index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from psycopg import sql

from perdure.store.database import SpaceTransaction
from perdure.store.statements import Numbered, kept, numbered
from perdure.store.visibility import Conditions, audience_condition, conditions_of, filter_params, state_conditions
from perdure.types import Filters

EXACT_ROWS: Final = 5000
"""Up to so many rows the exact path is the faster one."""

COUNTS: Final = """
    SELECT 'space' AS kind, '' AS key, s.memories AS n, s.terms AS terms
    FROM space_state s WHERE s.space_id = %(space_id)s
    UNION ALL
    SELECT c.kind, c.key, c.n, 0 FROM space_counts c
    WHERE c.space_id = %(space_id)s AND c.kind = 'term' AND c.key = ANY(%(terms)s::text[])
    UNION ALL
    SELECT c.kind, c.key, c.n, 0 FROM space_counts c
    WHERE c.space_id = %(space_id)s AND c.kind = 'entity' AND c.key = ANY(%(entity_keys)s::text[])
    UNION ALL
    SELECT c.kind, c.key, c.n, 0 FROM space_counts c
    WHERE c.space_id = %(space_id)s AND c.kind = 'facet' AND c.key = ANY(%(facets)s::text[])
"""

# Counted only up to the border between exact and index, so that the count never costs more than the ranking.
COUNT_IN_STATE: Final = """
    UNION ALL
    SELECT 'state', '', count(*), 0
    FROM (SELECT 1 FROM memory_state m WHERE m.space_id = %(space_id)s AND {condition} LIMIT {most}) c
"""

# Counted only where it can matter: in a space that is large, that holds a private row (memory_state_private has nothing
# else), and of whose worthiest rows so few may be seen that the border isn't passed by far.
COUNT_AUDIENCE: Final = """
    UNION ALL
    SELECT 'state', '', CASE
        WHEN t.seen * s.memories > 4 * {most} * {looked_at} THEN {most}
        ELSE (
            SELECT count(*)
            FROM (
                SELECT 1 FROM memory_state m
                WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL AND {condition} LIMIT {most}
            ) c
        ) END, 0
    FROM space_state s
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE {condition}) AS seen
        FROM (
            SELECT w.audience FROM memory_state w
            WHERE w.space_id = %(space_id)s AND w.superseded_at IS NULL
            ORDER BY w.prior_band DESC
            LIMIT {looked_at}
        ) m
    ) t
    WHERE s.space_id = %(space_id)s AND s.memories >= {most} AND EXISTS (
        SELECT 1 FROM memory_state p
        WHERE p.space_id = %(space_id)s AND p.superseded_at IS NULL AND p.audience IS NOT NULL)
"""

LOOKED_AT: Final = 200
"""Of the worthiest rows, to tell whether most of a space may be seen."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Stored counts that decide how a query is answered."""

    memories: int
    terms: int
    of_terms: Mapping[str, int]
    of_entities: Mapping[str, int]
    selected: int
    """An upper bound on the rows that the filters and the audience leave; `memories` where none was counted."""

    @property
    def average_length(self) -> float:
        return self.terms / self.memories if self.memories else 0.0


async def read_counts(
    tx: SpaceTransaction,
    *,
    terms: Sequence[str],
    entity_keys: Sequence[str],
    filters: Filters,
    audience: str | None,
    facets: Sequence[str],
) -> Counts:
    """The size of the space, the query's document frequencies and how many rows the filters leave; one statement."""
    params = {
        "terms": list(terms),
        "entity_keys": list(entity_keys),
        "facets": list(facets),
        **filter_params(filters, audience, facets),
    }
    statement = _in_space(conditions_of(filters, audience, facets), tx.space_id)
    found: dict[str, dict[str, int]] = {"term": {}, "entity": {}, "facet": {}}
    memories = length = 0
    bounds: list[int] = []
    for row in await tx.fetch_all(statement, params):
        if row["kind"] == "space":
            memories, length = row["n"], row["terms"]
        elif row["kind"] == "state":
            bounds.append(row["n"])
        else:
            found[row["kind"]][row["key"]] = row["n"]
    bounds += [found["facet"].get(key, 0) for key in facets]
    return Counts(memories, length, found["term"], found["entity"], min([memories, *bounds]))


@lru_cache(maxsize=1024)
def _in_space(asked: Conditions, space_id: int) -> Numbered:
    return numbered(_statement(asked), space_id)


@lru_cache(maxsize=64)
def _statement(asked: Conditions) -> sql.SQL:
    most = sql.Literal(EXACT_ROWS + 1)
    parts: list[sql.Composable] = [sql.SQL(COUNTS)]
    parts += [sql.SQL(COUNT_IN_STATE).format(condition=condition, most=most) for condition in state_conditions(asked)]
    parts.append(
        sql.SQL(COUNT_AUDIENCE).format(
            condition=audience_condition(asked, "m"), most=most, looked_at=sql.Literal(LOOKED_AT)
        )
    )
    return kept(sql.SQL("").join(parts))
