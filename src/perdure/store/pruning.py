"""Pruning: finding what `rules.pruning` lets go, and taking it out of everything but the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from psycopg import sql

from perdure.rules.pruning import Standing
from perdure.store.database import SpaceTransaction
from perdure.store.decay import EXEMPT, settled
from perdure.store.erasing import DELETE_MEMORIES, clear_pointers
from perdure.store.evidence import rests_on
from perdure.store.history import write_history
from perdure.store.memories import MemoryRow, siblings
from perdure.store.postings import Postings, delete_postings
from perdure.store.statements import kept

# What may go; the rule decides. An index finds nothing here, but a window is small.
CANDIDATES: Final = """
    SELECT m.memory_id
    FROM memory_state m
    WHERE m.space_id = %(space_id)s AND m.memory_id > %(after)s AND m.memory_id <= %(last)s AND NOT {exempt}
      AND (m.superseded_at <= %(graced)s
           OR (m.created_at < %(stale)s AND (m.superseded_at IS NOT NULL OR m.retrieval_count = 0)
               AND {settled} <= 1))
"""

STANDINGS: Final = """
    SELECT m.memory_id, coalesce(w.chunk_of, w.id) AS root, {settled} AS salience, m.created_at, m.retrieval_count,
        m.superseded_at, m.audience, w.summary,
        {exempt} OR EXISTS (
            SELECT 1 FROM memory_evidence e
            JOIN memory_state b ON b.space_id = %(space_id)s AND b.memory_id = e.memory_id
            WHERE e.space_id = %(space_id)s AND e.kind = 'memory' AND e.external_id = m.memory_id::text
              AND b.superseded_at IS NULL)
        OR EXISTS (
            SELECT 1 FROM traits t
            WHERE t.space_id = %(space_id)s AND t.ended_at IS NULL AND t.evidence_ids @> ARRAY[m.memory_id]) AS exempt
    FROM memory_state m
    JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
    WHERE m.space_id = %(space_id)s AND m.memory_id = ANY(%(ids)s)
    ORDER BY m.memory_id
"""

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class StandingRow:
    """A chunk of a text as the rule sees it, with what a person is shown of it."""

    id: int
    root: int
    summary: str
    audience: str | None
    standing: Standing


async def candidates(tx: SpaceTransaction, after: int, last: int, *, graced: datetime, stale: datetime) -> list[int]:
    """Rows with ids above `after` up to `last` that may have to go.

    Superseded before `graced`; or faded, older than `stale`, and superseded or never retrieved.
    """
    params = {"after": after, "last": last, "graced": graced, "stale": stale}
    return [row["memory_id"] for row in await tx.fetch_all(_candidates(), params)]


async def standings(tx: SpaceTransaction, ids: Sequence[int]) -> list[StandingRow]:
    """All chunks of the texts that these rows belong to, as they stand now, in order of their ids."""
    whole = await siblings(tx, ids)
    rows = await tx.fetch_all(_standings(), {"ids": whole})
    return [
        StandingRow(
            row["memory_id"],
            row["root"],
            row["summary"],
            row["audience"],
            Standing(
                salience=row["salience"],
                age_days=(tx.now - row["created_at"]) / _DAY,
                retrieval_count=row["retrieval_count"],
                superseded_days=None if row["superseded_at"] is None else (tx.now - row["superseded_at"]) / _DAY,
                exempt=row["exempt"],
            ),
        )
        for row in rows
    ]


async def purge(tx: SpaceTransaction, rows: Sequence[MemoryRow], postings: Sequence[Postings], reason: str) -> None:
    """Takes memories out of ranking, words and vectors; their history goes on answering what was known when.

    Rows and postings stand in the same order. Needs the space's lock.
    """
    evidence = await rests_on(tx, [row.memory.id for row in rows])
    for row in rows:
        await write_history(tx, row, "prune", "upkeep", reason, rests_on=evidence.get(row.memory.id, ()))
    await delete_postings(tx, postings)
    await clear_pointers(tx, rows)
    await tx.execute(DELETE_MEMORIES, {"ids": [row.memory.id for row in rows]})


@cache
def _candidates() -> sql.SQL:
    return kept(sql.SQL(CANDIDATES).format(exempt=sql.SQL(EXEMPT), settled=settled()))


@cache
def _standings() -> sql.SQL:
    return kept(sql.SQL(STANDINGS).format(exempt=sql.SQL(EXEMPT), settled=settled()))
