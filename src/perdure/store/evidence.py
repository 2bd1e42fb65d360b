"""From evidence back to memories: what a mail or an event left, how new a truth is, what was kept as it was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.rules.verdicts import TRUST_RANK
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, chunk_ids, read_rows

JUDGED_KINDS: Final = ("exchange", "email", "calendar")
"""Evidence of what a judge would have judged, had there been one."""

MEMORIES_FROM: Final = """
    SELECT DISTINCT coalesce(m.chunk_of, m.id) AS root
    FROM memory_evidence e
    JOIN memories m ON m.space_id = %(space_id)s AND m.id = e.memory_id
    JOIN memory_state s ON s.space_id = %(space_id)s AND s.memory_id = e.memory_id
    WHERE e.space_id = %(space_id)s AND e.external_id = %(external_id)s AND e.kind = %(kind)s
      AND s.superseded_at IS NULL AND s.audience IS NOT DISTINCT FROM %(audience)s
    ORDER BY 1
"""

# Two events in the same words are one memory.
ALSO_TOLD: Final = """
    SELECT DISTINCT e.memory_id
    FROM memory_evidence e
    WHERE e.space_id = %(space_id)s AND e.memory_id = ANY(%(ids)s) AND e.kind = %(kind)s
      AND e.external_id <> %(external_id)s
"""

WITHDRAW: Final = """
    DELETE FROM memory_evidence
    WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s) AND kind = %(kind)s AND external_id = %(external_id)s
"""

MADE_OF: Final = """
    SELECT DISTINCT e.memory_id
    FROM memory_evidence e
    WHERE e.space_id = %(space_id)s AND e.kind = 'memory' AND e.external_id = ANY(%(named)s::text[])
"""

RESTS_ON: Final = """
    SELECT e.memory_id, array_agg(e.external_id::bigint ORDER BY e.id) AS ids
    FROM memory_evidence e
    WHERE e.space_id = %(space_id)s AND e.memory_id = ANY(%(ids)s) AND e.kind = 'memory'
    GROUP BY e.memory_id
"""

FORGET_MADE_OF: Final = """
    DELETE FROM memory_evidence
    WHERE space_id = %(space_id)s AND memory_id = %(memory_id)s AND kind = 'memory'
      AND external_id = ANY(%(named)s::text[])
"""

SAID_BEFORE: Final = """
    SELECT DISTINCT h.memory_id
    FROM memory_history h
    WHERE h.space_id = %(space_id)s AND h.about = ANY(%(ids)s)
      AND (h.reason LIKE ANY(%(reasons)s::text[]) OR h.state ->> 'superseded_reason' LIKE ANY(%(reasons)s::text[]))
"""

# What somebody less trusted says bears a memory out, and doesn't make it any newer. `ranks`: the least trusted first.
LAST_OBSERVED: Final = """
    SELECT e.memory_id, max(e.observed_at) AS observed_at
    FROM memory_evidence e
    JOIN memories m ON m.space_id = %(space_id)s AND m.id = e.memory_id
    WHERE e.space_id = %(space_id)s AND e.memory_id = ANY(%(ids)s) AND e.observed_at IS NOT NULL
      AND array_position(%(ranks)s::text[], e.trust) >= array_position(%(ranks)s::text[], m.trust)
    GROUP BY e.memory_id
"""

# A text that was said again has the evidence of several exchanges: it belongs to the first. What waits to be judged
# already, or was given up, isn't found again.
FIND_VERBATIM: Final = """
    WITH taken AS MATERIALIZED (
        SELECT q.payload ->> 'operation_id' AS operation_id
        FROM pending_triage q WHERE q.space_id = %(space_id)s AND q.payload -> 'replaces' IS NOT NULL
        UNION
        SELECT f.context -> 'payload' ->> 'operation_id'
        FROM failed_operations f
        WHERE f.space_id = %(space_id)s AND f.context -> 'payload' -> 'replaces' IS NOT NULL
    ),
    told AS MATERIALIZED (
        SELECT DISTINCT ON (e.memory_id) e.memory_id, e.kind, e.external_id AS operation_id, s.audience
        FROM memories m
        JOIN memory_state s ON s.space_id = %(space_id)s AND s.memory_id = m.id
        JOIN memory_evidence e ON e.space_id = %(space_id)s AND e.memory_id = m.id
        WHERE m.space_id = %(space_id)s AND m.made_by = %(made_by)s AND m.chunk_of IS NULL
          AND s.superseded_at IS NULL AND e.kind = ANY (%(kinds)s::text[])
        ORDER BY e.memory_id, e.id
    )
    SELECT t.kind, t.operation_id, array_agg(t.memory_id ORDER BY t.memory_id) AS roots
    FROM told t
    WHERE t.operation_id NOT IN (SELECT k.operation_id FROM taken k WHERE k.operation_id IS NOT NULL)
    GROUP BY t.kind, t.operation_id, t.audience
    ORDER BY min(t.memory_id)
    LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class VerbatimExchange:
    """An exchange, a mail or an event that was kept as it was said: its texts in order, each as its chunks.

    `kind` is that of its evidence (`JUDGED_KINDS`), `operation_id` what the evidence names: of a mail or an event, the
    source's own id.
    """

    kind: str
    operation_id: str
    texts: tuple[tuple[MemoryRow, ...], ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """All memories it became."""
        return tuple(row.memory.id for text in self.texts for row in text)


async def memories_from(tx: SpaceTransaction, kind: str, external_id: str, audience: str | None) -> list[int]:
    """The live memories of this very audience that rest on this evidence, each text by its first chunk."""
    rows = await tx.fetch_all(MEMORIES_FROM, {"kind": kind, "external_id": external_id, "audience": audience})
    return [row["root"] for row in rows]


async def also_told(tx: SpaceTransaction, kind: str, external_id: str, roots: Sequence[int]) -> set[int]:
    """Those of these texts that rest on other evidence of this kind, too; each is named by its first chunk."""
    params = {"ids": list(roots), "kind": kind, "external_id": external_id}
    return {row["memory_id"] for row in await tx.fetch_all(ALSO_TOLD, params)}


async def withdraw(tx: SpaceTransaction, kind: str, external_id: str, roots: Sequence[int]) -> None:
    """Takes this evidence off these texts, all their chunks: it says something else by now, or nothing any more."""
    ids = await chunk_ids(tx, roots)
    await tx.execute(WITHDRAW, {"ids": ids, "kind": kind, "external_id": external_id})


async def made_of(tx: SpaceTransaction, ids: Sequence[int]) -> list[int]:
    """Memories that were made of some of these: they have them as evidence (kind "memory")."""
    rows = await tx.fetch_all(MADE_OF, {"named": [str(memory_id) for memory_id in ids]})
    return [row["memory_id"] for row in rows]


async def rests_on(tx: SpaceTransaction, ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Of memories that were made of others: which those are."""
    return {row["memory_id"]: tuple(row["ids"]) for row in await tx.fetch_all(RESTS_ON, {"ids": list(ids)})}


async def forget_made_of(tx: SpaceTransaction, memory_id: int, ids: Sequence[int]) -> None:
    """Lets a memory no longer rest on these, and say so."""
    await tx.execute(FORGET_MADE_OF, {"memory_id": memory_id, "named": [str(each) for each in ids]})


async def said_before(tx: SpaceTransaction, ids: Sequence[int], reasons: Sequence[str]) -> list[int]:
    """Memories whose place these took because they say the same, by reasons (LIKE patterns) that tell so.

    Those are among them that are only history by now.
    """
    rows = await tx.fetch_all(SAID_BEFORE, {"ids": list(ids), "reasons": list(reasons)})
    return [row["memory_id"] for row in rows]


async def last_observed(tx: SpaceTransaction, ids: Sequence[int]) -> dict[int, datetime]:
    """When each memory was observed last: a truth that was told again is as new as that. Of those with evidence."""
    params = {"ids": list(ids), "ranks": sorted(TRUST_RANK, key=TRUST_RANK.__getitem__)}
    return {row["memory_id"]: row["observed_at"] for row in await tx.fetch_all(LAST_OBSERVED, params)}


async def verbatim_exchanges(tx: SpaceTransaction, made_by: str, limit: int, *, space: str) -> list[VerbatimExchange]:
    """The oldest that were kept as they were said, live, and are not in the queue again; whole ones."""
    params = {"made_by": made_by, "limit": limit, "kinds": list(JUDGED_KINDS)}
    found = await tx.fetch_all(FIND_VERBATIM, params)
    roots = [root for row in found for root in row["roots"]]
    rows = await read_rows(tx, space, await chunk_ids(tx, roots))
    texts: dict[int, list[MemoryRow]] = {}
    for _, row in sorted(rows.items()):
        texts.setdefault(row.memory.chunk_of or row.memory.id, []).append(row)
    return [
        VerbatimExchange(row["kind"], row["operation_id"], tuple(tuple(texts[root]) for root in row["roots"]))
        for row in found
    ]
