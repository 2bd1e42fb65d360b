"""Where words came from: what a source, a speaker or an audience has left in a space, in memories and in what waits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from psycopg import sql

from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue
from perdure.store.quotes import FAILED, Holding
from perdure.store.statements import kept
from perdure.store.tally import Tally

# {told}: of which audience; null is the whole space's, and `everywhere` all of them.
OF_MEMORY: Final = "(%(everywhere)s OR s.audience IS NOT DISTINCT FROM %(audience)s)"

FIND_BY_FACET: Final = """
    SELECT DISTINCT p.memory_id AS id
    FROM memory_facets p
    JOIN memory_state s ON s.space_id = %(space_id)s AND s.memory_id = p.memory_id
    WHERE p.space_id = %(space_id)s AND p.key = ANY(%(facets)s::text[]) AND {told}
    ORDER BY id LIMIT %(limit)s
"""

# What is borne out by nobody but these speakers, whoever it is put down to.
FIND_BY_WITNESS: Final = """
    SELECT e.memory_id AS id
    FROM memory_evidence e
    JOIN memory_state s ON s.space_id = %(space_id)s AND s.memory_id = e.memory_id
    WHERE e.space_id = %(space_id)s AND e.kind <> 'memory' AND {told}
    GROUP BY e.memory_id
    HAVING bool_and(coalesce(e.speaker = ANY(%(speakers)s::text[]), false))
    ORDER BY id LIMIT %(limit)s
"""

FIND_OF_AUDIENCE: Final = """
    SELECT s.memory_id AS id FROM memory_state s
    WHERE s.space_id = %(space_id)s AND {told}
    ORDER BY id LIMIT %(limit)s
"""

FIND_PRUNED: Final = """
    SELECT DISTINCT h.memory_id AS id
    FROM memory_history h
    WHERE h.space_id = %(space_id)s AND h.action = 'prune'
      AND (%(everywhere)s OR h.state ->> 'audience' IS NOT DISTINCT FROM %(audience)s)
      AND (%(whole)s OR h.state ->> 'source' = %(source)s OR h.state ->> 'speaker' = ANY(%(speakers)s::text[]))
    ORDER BY id LIMIT %(limit)s
"""

QUEUED_FROM: Final = """
    (%(everywhere)s OR q.audience IS NOT DISTINCT FROM %(audience)s)
    AND (%(whole)s OR q.kind = ANY(%(kinds)s::text[])
         OR q.kind <> 'archive' AND q.speaker = ANY(%(speakers)s::text[]))
"""
COUNT_QUEUED: Final = "SELECT count(*) AS n FROM {queue} q WHERE q.space_id = %(space_id)s AND {came}"
DROP_QUEUED: Final = "DELETE FROM {queue} q WHERE q.space_id = %(space_id)s AND {came}"

FAILED_FROM: Final = """
    (%(everywhere)s OR f.context ->> 'audience' IS NOT DISTINCT FROM %(audience)s)
    AND (%(whole)s OR f.context ->> 'kind' = ANY(%(kinds)s::text[])
         OR f.context ->> 'kind' <> 'archive' AND f.context ->> 'speaker' = ANY(%(speakers)s::text[]))
"""
COUNT_FAILED: Final = "SELECT count(*) AS n FROM failed_operations f WHERE f.space_id = %(space_id)s AND {came}"
DROP_FAILED: Final = "DELETE FROM failed_operations f WHERE f.space_id = %(space_id)s AND {came}"

ARCHIVES_WITH: Final = """
    SELECT q.id, q.kind, q.payload, q.last_error FROM pending_distillation q
    WHERE q.space_id = %(space_id)s AND (%(everywhere)s OR q.audience IS NOT DISTINCT FROM %(audience)s)
      AND q.kind = 'archive' AND q.payload -> 'messages' @> ANY(%(said)s::jsonb[])
"""
FAILED_ARCHIVES_WITH: Final = """
    SELECT f.id, f.context ->> 'kind' AS kind, f.context AS payload, f.error AS last_error FROM failed_operations f
    WHERE f.space_id = %(space_id)s AND (%(everywhere)s OR f.context ->> 'audience' IS NOT DISTINCT FROM %(audience)s)
      AND f.context ->> 'kind' = 'archive' AND f.context -> 'payload' -> 'messages' @> ANY(%(said)s::jsonb[])
"""

SOURCES: Final = """
    SELECT DISTINCT m.source
    FROM memories m JOIN memory_state s ON s.space_id = %(space_id)s AND s.memory_id = m.id
    WHERE m.space_id = %(space_id)s AND {told}
    ORDER BY m.source
"""

# Spellings of names as they stand here and there.
SPEAKERS: Final = """
    SELECT DISTINCT m.speaker FROM memories m WHERE m.space_id = %(space_id)s AND m.speaker IS NOT NULL
    UNION SELECT DISTINCT e.speaker FROM memory_evidence e
    WHERE e.space_id = %(space_id)s AND e.speaker IS NOT NULL
    UNION SELECT DISTINCT h.state ->> 'speaker' FROM memory_history h
    WHERE h.space_id = %(space_id)s AND h.state ->> 'speaker' IS NOT NULL
    UNION SELECT q.speaker FROM pending_triage q WHERE q.space_id = %(space_id)s AND q.speaker IS NOT NULL
    UNION SELECT a ->> 'speaker' FROM pending_distillation q
    CROSS JOIN LATERAL jsonb_path_query(q.payload, '$.messages[*]') AS a
    WHERE q.space_id = %(space_id)s AND a ->> 'speaker' IS NOT NULL
    UNION SELECT f.context ->> 'speaker' FROM failed_operations f
    WHERE f.space_id = %(space_id)s AND f.context ->> 'speaker' IS NOT NULL
    UNION SELECT a ->> 'speaker' FROM failed_operations f
    CROSS JOIN LATERAL jsonb_path_query(f.context, '$.payload.messages[*]') AS a
    WHERE f.space_id = %(space_id)s AND a ->> 'speaker' IS NOT NULL
"""

WITHDRAW_WITNESS: Final = """
    DELETE FROM memory_evidence e
    USING memory_state s
    WHERE e.space_id = %(space_id)s AND s.space_id = %(space_id)s AND s.memory_id = e.memory_id
      AND (e.speaker = ANY(%(speakers)s::text[]) OR e.kind = %(source)s) AND {told}
"""

NAMED_IN: Final = """
    SELECT DISTINCT p.memory_id AS id
    FROM memory_entities p
    JOIN memory_state s ON s.space_id = %(space_id)s AND s.memory_id = p.memory_id
    WHERE p.space_id = %(space_id)s AND p.key = ANY(%(keys)s::text[]) AND {told}
    ORDER BY id LIMIT %(limit)s
"""

# What belongs to an audience besides its memories and what waits. No key column is null: '' is the whole space.
OF_AUDIENCE: Final = (
    "current_tasks",
    "processed_items",
    "source_checkpoints",
    "documents",
    "store_items",
    "session_items",
)
DROP_OF_AUDIENCE: Final = "DELETE FROM {table} t WHERE t.space_id = %(space_id)s AND t.audience = %(told_to)s"
COUNT_OF_AUDIENCE: Final = (
    "SELECT count(*) AS n FROM {table} t WHERE t.space_id = %(space_id)s AND t.audience = %(told_to)s"
)
DROP_RUNS: Final = """
    DELETE FROM cognition_runs WHERE space_id = %(space_id)s AND audience = %(told_to)s
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """What is to go: by source, by who said it, or all of one audience (`whole`).

    `facets` are the keys of memories, `kinds` those of rows that wait, `speakers` names as they are spelled somewhere.
    Of `audience` exactly, None being what the whole space may see; or of every audience.
    """

    facets: tuple[str, ...] = ()
    source: str | None = None
    kinds: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    audience: str | None = None
    everywhere: bool = False
    whole: bool = False

    def params(self, **more: object) -> dict[str, object]:
        """As statements name it."""
        return {
            "facets": list(self.facets),
            "source": self.source,
            "kinds": list(self.kinds),
            "speakers": list(self.speakers),
            "said": [json.dumps([{"speaker": name}]) for name in self.speakers],
            "audience": self.audience,
            "everywhere": self.everywhere,
            "whole": self.whole,
            **more,
        }


async def find_from(tx: SpaceTransaction, origin: Origin, limit: int) -> list[int]:
    """Memories of this origin, pruned ones too: some of those with the lowest ids; none, if there are none left."""
    params = origin.params(limit=limit)
    for statement in _finders(origin):
        rows = await tx.fetch_all(_told(statement), params)
        if rows:
            return [row["id"] for row in rows]
    return []


async def find_all_from(tx: SpaceTransaction, origin: Origin) -> list[int]:
    """All memories of this origin, pruned ones too."""
    found: set[int] = set()
    for statement in _finders(origin):
        found.update(row["id"] for row in await tx.fetch_all(_told(statement), origin.params(limit=None)))
    return sorted(found)


async def drop_waiting(tx: SpaceTransaction, origin: Origin) -> Tally:
    """Removes what of this origin waits to be worked off, or was given up. Whoever works on it stores nothing of it."""
    tally = Tally()
    for table, statement in _waiting(DROP_QUEUED, DROP_FAILED):
        tally.removed[table] += await tx.execute(statement, origin.params())
    return tally


async def count_waiting(tx: SpaceTransaction, origin: Origin) -> dict[str, int]:
    """How much `drop_waiting` would remove of each table."""
    found = {}
    for table, statement in _waiting(COUNT_QUEUED, COUNT_FAILED):
        row = await tx.fetch_one(statement, origin.params())
        assert row is not None
        found[table] = int(row["n"])
    return found


async def archives_with(tx: SpaceTransaction, origin: Origin) -> list[Holding]:
    """Archives that wait or were given up, in which one of these speakers says something."""
    if not origin.speakers:
        return []
    queued = await tx.fetch_all(ARCHIVES_WITH, origin.params())
    failed = await tx.fetch_all(FAILED_ARCHIVES_WITH, origin.params())
    return [
        Holding(table, row["id"], row["kind"], row["payload"], row["last_error"])
        for table, rows in ((Queue.DISTILLATION.value, queued), (FAILED, failed))
        for row in rows
    ]


async def withdraw_witness(tx: SpaceTransaction, origin: Origin) -> int:
    """Removes that these speakers, or this source, bore out what came from others; returns how many rows."""
    return await tx.execute(_told(WITHDRAW_WITNESS), origin.params())


async def named_in(tx: SpaceTransaction, origin: Origin, keys: Sequence[str], limit: int) -> list[int]:
    """Memories of the same audience that name one of these entities."""
    return [row["id"] for row in await tx.fetch_all(_told(NAMED_IN), origin.params(keys=list(keys), limit=limit))]


async def sources_of(tx: SpaceTransaction, origin: Origin) -> list[str]:
    """The sources that memories of this audience came from."""
    return [row["source"] for row in await tx.fetch_all(_told(SOURCES), origin.params())]


async def spellings(tx: SpaceTransaction) -> list[str]:
    """How speakers are spelled anywhere in the space."""
    return [row["speaker"] for row in await tx.fetch_all(SPEAKERS)]


async def drop_of_audience(tx: SpaceTransaction, audience: str) -> Tally:
    """Removes what else belongs to an audience: documents, tasks, runs of cognition, marks of what was read in."""
    tally = Tally()
    for table in OF_AUDIENCE:
        tally.removed[table] += await tx.execute(_of_table(DROP_OF_AUDIENCE, table), {"told_to": audience})
    tally.removed["cognition_runs"] += await tx.execute(DROP_RUNS, {"told_to": audience})
    return tally


async def count_of_audience(tx: SpaceTransaction, audience: str) -> dict[str, int]:
    """How much `drop_of_audience` would remove of each table."""
    found = {}
    for table in OF_AUDIENCE:
        row = await tx.fetch_one(_of_table(COUNT_OF_AUDIENCE, table), {"told_to": audience})
        assert row is not None
        found[table] = int(row["n"])
    return found


def _finders(origin: Origin) -> list[str]:
    if origin.whole:
        return [FIND_OF_AUDIENCE, FIND_PRUNED]
    return [FIND_BY_FACET, *([FIND_BY_WITNESS] if origin.speakers else []), FIND_PRUNED]


def _waiting(queued: Any, failed: Any) -> list[tuple[str, sql.SQL]]:
    statements = [
        (queue.value, kept(sql.SQL(queued).format(queue=sql.Identifier(queue), came=sql.SQL(QUEUED_FROM))))
        for queue in Queue
    ]
    return [*statements, (FAILED, kept(sql.SQL(failed).format(came=sql.SQL(FAILED_FROM))))]


@lru_cache(maxsize=16)
def _told(statement: Any) -> sql.SQL:
    return kept(sql.SQL(statement).format(told=sql.SQL(OF_MEMORY)))


@lru_cache(maxsize=16)
def _of_table(statement: Any, table: str) -> sql.SQL:
    return kept(sql.SQL(statement).format(table=sql.Identifier(table)))
