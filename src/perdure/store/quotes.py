"""Where words of a memory may stand besides: in what waits to be worked off, and in what was given up.

Those are JSON and the errors of others, so they are looked at as a whole: which rows hold one of a few words, and then
what each holds.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from psycopg import sql
from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue
from perdure.store.statements import kept

FAILED: Final = "failed_operations"

KNOWN_TERMS: Final = """
    SELECT c.key FROM space_counts c
    WHERE c.space_id = %(space_id)s AND c.kind = 'term' AND c.key = ANY(%(terms)s::text[]) AND c.n > 0
"""

FIND_QUEUED: Final = """
    SELECT q.id, q.kind, q.payload, q.last_error
    FROM {queue} q
    WHERE q.space_id = %(space_id)s AND coalesce(q.audience, '') = ANY(%(audiences)s::text[])
      AND (q.payload::text ILIKE ANY(%(patterns)s::text[]) OR q.last_error ILIKE ANY(%(patterns)s::text[]))
"""

FIND_FAILED: Final = """
    SELECT f.id, f.context ->> 'kind' AS kind, f.context AS payload, f.error AS last_error
    FROM failed_operations f
    WHERE f.space_id = %(space_id)s AND coalesce(f.context ->> 'audience', '') = ANY(%(audiences)s::text[])
      AND (f.context::text ILIKE ANY(%(patterns)s::text[]) OR f.error ILIKE ANY(%(patterns)s::text[]))
"""

SET_QUEUED: Final = """
    UPDATE {queue} q SET payload = %(payload)s, last_error = %(last_error)s
    WHERE q.space_id = %(space_id)s AND q.id = %(id)s
"""

SET_FAILED: Final = """
    UPDATE failed_operations SET context = %(payload)s, error = %(last_error)s
    WHERE space_id = %(space_id)s AND id = %(id)s
"""

FIND_TASKS: Final = """
    SELECT t.audience, t.task FROM current_tasks t
    WHERE t.space_id = %(space_id)s AND t.audience = ANY(%(audiences)s::text[])
      AND t.task ILIKE ANY(%(patterns)s::text[])
"""

DROP: Final = """
    DELETE FROM {queue} q WHERE q.space_id = %(space_id)s AND q.id = %(id)s
"""


@dataclass(frozen=True, slots=True)
class Holding:
    """A row that holds one of the words that were looked for.

    `table` is a queue or `FAILED`, `payload` what is to be worked off, or the context of what was given up.
    """

    table: str
    id: int
    kind: str
    payload: Mapping[str, Any]
    error: str | None


async def known_terms(tx: SpaceTransaction, terms: Sequence[str]) -> set[str]:
    """Which of these terms some memory of the space holds."""
    rows = await tx.fetch_all(KNOWN_TERMS, {"terms": list(terms)}) if terms else []
    return {row["key"] for row in rows}


async def holding(tx: SpaceTransaction, words: Sequence[str], audiences: Collection[str | None]) -> list[Holding]:
    """Rows of the queues, and of what was given up, of these audiences, that hold one of these words, in any case."""
    if not words:
        return []
    params = {"patterns": [_pattern(word) for word in words], "audiences": sorted(each or "" for each in audiences)}
    found: list[Holding] = []
    for table in (*Queue, FAILED):
        rows = await tx.fetch_all(FIND_FAILED if table == FAILED else _of(FIND_QUEUED, table), params)
        found += [
            Holding(table, row["id"], row["kind"] or "conversation", row["payload"], row["last_error"]) for row in rows
        ]
    return found


async def tasks_holding(
    tx: SpaceTransaction, words: Sequence[str], audiences: Collection[str | None]
) -> list[tuple[str, str]]:
    """Tasks at hand of these audiences that hold one of these words, each with its audience."""
    if not words:
        return []
    patterns = [_like(word) for word in words]
    rows = await tx.fetch_all(FIND_TASKS, {"patterns": patterns, "audiences": sorted(each or "" for each in audiences)})
    return [(row["audience"], row["task"]) for row in rows]


async def rewrite(tx: SpaceTransaction, row: Holding, payload: Mapping[str, Any] | None, error: str | None) -> None:
    """Puts what is left in the place of what a row holds; without a payload the row goes."""
    if payload is None:
        await tx.execute(_of(DROP, row.table), {"id": row.id})
        return
    statement = SET_FAILED if row.table == FAILED else _of(SET_QUEUED, row.table)
    await tx.execute(statement, {"id": row.id, "payload": Jsonb(dict(payload)), "last_error": error})


def _pattern(word: str) -> str:
    """A LIKE pattern that finds a word within JSON as PostgreSQL spells it."""
    return _like(json.dumps(word, ensure_ascii=False)[1:-1])


def _like(spelled: str) -> str:
    for sign in ("\\", "%", "_"):
        spelled = spelled.replace(sign, f"\\{sign}")
    return f"%{spelled}%"


@lru_cache(maxsize=16)
def _of(statement: Any, table: str) -> sql.SQL:
    return kept(sql.SQL(statement).format(queue=sql.Identifier(table)))
