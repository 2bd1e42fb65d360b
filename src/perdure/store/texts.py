"""Whole texts in one journey: all chunks of each, when it was last known to be so, and who says exactly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from psycopg import sql

from perdure.rules.verdicts import TRUST_RANK
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MEMORY_COLUMNS, MemoryRow, memory_of
from perdure.store.statements import kept

# `heard` as evidence.LAST_OBSERVED has it.
READ_TEXTS: Final = """
    WITH roots AS MATERIALIZED (
        SELECT coalesce(w.chunk_of, w.id) AS id
        FROM memories w WHERE w.space_id = %(space_id)s AND w.id = ANY(%(ids)s::bigint[])
        UNION
        SELECT t.memory_id
        FROM memory_state t
        WHERE t.space_id = %(space_id)s AND t.content_hash IS NOT NULL AND t.content_hash = %(hash)s
          AND t.superseded_at IS NULL
    ),
    chunks AS MATERIALIZED (
        SELECT r.id AS root, r.id FROM roots r
        UNION ALL
        SELECT r.id, c.id FROM roots r JOIN memories c ON c.chunk_of = r.id WHERE c.space_id = %(space_id)s
    )
    SELECT {columns}, k.root, s.content_hash IS NOT NULL AND s.content_hash = %(hash)s AS exact,
           (SELECT max(e.observed_at)
            FROM memory_evidence e
            WHERE e.space_id = %(space_id)s AND e.memory_id = m.id AND e.observed_at IS NOT NULL
              AND array_position(%(ranks)s::text[], e.trust) >= array_position(%(ranks)s::text[], m.trust)) AS heard
    FROM chunks k
    JOIN memories m ON m.id = k.id
    JOIN memory_state s ON s.space_id = m.space_id AND s.memory_id = m.id
    WHERE m.space_id = %(space_id)s AND s.space_id = %(space_id)s
    ORDER BY k.root, m.id
"""


@dataclass(frozen=True, slots=True)
class WholeText:
    """A text as its chunks, in order: those that are live, where only these were asked for.

    `root` is the id of its first chunk; `heard`, when that was observed last (see `evidence.last_observed`); `exact`,
    that it is live and holds exactly the text of a hash.
    """

    root: int
    rows: tuple[MemoryRow, ...]
    heard: datetime | None
    exact: bool


async def read_live_texts(
    tx: SpaceTransaction, space: str, ids: Sequence[int], *, content_hash: bytes | None = None
) -> list[WholeText]:
    """The live texts that these memories are chunks of, and those that hold the text of this hash; by `root`."""
    params = {"ids": list(ids), "hash": content_hash, "ranks": sorted(TRUST_RANK, key=TRUST_RANK.__getitem__)}
    chunks: dict[int, list[MemoryRow]] = {}
    told: dict[int, tuple[datetime | None, bool]] = {}
    for row in await tx.fetch_all(_statement(), params):
        if row["superseded_at"] is None:
            found = MemoryRow(memory_of(space, row), row["search_text"], row["term_count"])
            chunks.setdefault(row["root"], []).append(found)
            if row["id"] == row["root"]:
                told[row["root"]] = row["heard"], row["exact"]
    return [WholeText(root, tuple(rows), *told.get(root, (None, False))) for root, rows in chunks.items()]


@lru_cache(maxsize=1)
def _statement() -> sql.SQL:
    return kept(sql.SQL(READ_TEXTS).format(columns=sql.SQL(MEMORY_COLUMNS)))
