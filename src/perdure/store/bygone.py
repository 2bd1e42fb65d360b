"""What is not to come back: digests of what was forgotten, which hold no words, and tombstones in the same words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction

KEEP_TRACES: Final = """
    INSERT INTO forgotten_texts (space_id, digest, forgotten_at)
    SELECT %(space_id)s, t.digest, %(now)s FROM unnest(%(digests)s::bytea[]) AS t (digest)
    ON CONFLICT (space_id, digest) DO UPDATE SET forgotten_at = excluded.forgotten_at
"""

FIND_TRACES: Final = """
    SELECT digest, forgotten_at FROM forgotten_texts
    WHERE space_id = %(space_id)s AND digest = ANY(%(digests)s::bytea[])
"""

# What a memory said, earlier too, and the beginning of what it rests on.
WORDS_OF: Final = """
    SELECT h.memory_id, h.summary AS words FROM memory_history h
    WHERE h.space_id = %(space_id)s AND h.memory_id = ANY(%(ids)s)
    UNION
    SELECT e.memory_id, e.excerpt FROM memory_evidence e
    WHERE e.space_id = %(space_id)s AND e.memory_id = ANY(%(ids)s) AND e.kind <> %(made_of)s
"""

LAST_STATES: Final = """
    SELECT DISTINCT ON (h.memory_id) h.memory_id, h.state ->> 'audience' AS audience, h.summary
    FROM memory_history h
    WHERE h.space_id = %(space_id)s AND h.memory_id = ANY(%(ids)s)
    ORDER BY h.memory_id, h.id DESC
"""

PRUNED: Final = """
    SELECT DISTINCT h.memory_id
    FROM memory_history h
    WHERE h.space_id = %(space_id)s AND h.action = 'prune'
      AND (h.state ->> 'audience' IS NULL OR h.state ->> 'audience' = %(audience)s)
      AND (%(id)s::bigint IS NULL OR h.memory_id = %(id)s)
      AND (%(source)s::text IS NULL OR h.state ->> 'source' = %(source)s)
    ORDER BY h.memory_id
    LIMIT %(limit)s
"""

# The other chunks of pruned texts, and what was made of any of these and is pruned, too.
PRUNED_WITH: Final = """
    SELECT DISTINCT h.memory_id
    FROM memory_history h
    WHERE h.space_id = %(space_id)s AND h.action = 'prune'
      AND (h.state -> 'rests_on' @> ANY (%(named)s::jsonb[])
           OR coalesce((h.state ->> 'chunk_of')::bigint, h.memory_id) IN (
               SELECT coalesce((o.state ->> 'chunk_of')::bigint, o.memory_id)
               FROM memory_history o
               WHERE o.space_id = %(space_id)s AND o.memory_id = ANY(%(ids)s) AND o.action = 'prune'))
"""

FIND_REPLACED: Final = """
    SELECT memory_id, content_hash, audience
    FROM memory_state
    WHERE space_id = %(space_id)s AND content_hash IS NOT NULL AND content_hash = ANY(%(hashes)s::bytea[])
      AND superseded_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Bygone:
    """What a memory said last that may be nothing but history by now, and who may see it."""

    summary: str
    audience: str | None


async def bygone(tx: SpaceTransaction, ids: Sequence[int]) -> dict[int, Bygone]:
    """The last former states of these memories; of those that were never changed or pruned, none."""
    rows = await tx.fetch_all(LAST_STATES, {"ids": list(ids)})
    return {row["memory_id"]: Bygone(row["summary"], row["audience"]) for row in rows}


async def pruned(
    tx: SpaceTransaction, audience: str | None, *, memory_id: int | None, source: str | None, limit: int
) -> list[int]:
    """Memories that are nothing but history, and that this audience may see; the lowest ids."""
    params = {"audience": audience, "id": memory_id, "source": source, "limit": limit}
    rows = await tx.fetch_all(PRUNED, params)
    return [row["memory_id"] for row in rows]


async def pruned_with(tx: SpaceTransaction, ids: Sequence[int]) -> list[int]:
    """Pruned memories that are chunks of the same texts as these, or were made of them."""
    params = {"ids": list(ids), "named": [str(memory_id) for memory_id in ids]}
    return [row["memory_id"] for row in await tx.fetch_all(PRUNED_WITH, params)]


async def keep_traces(tx: SpaceTransaction, digests: Collection[bytes]) -> None:
    """Keeps that these texts are forgotten, as of now."""
    if digests:
        await tx.execute(KEEP_TRACES, {"digests": sorted(digests)})


async def forgotten_at(tx: SpaceTransaction, digests: Collection[bytes]) -> dict[bytes, datetime]:
    """Of those that were forgotten, when that was."""
    if not digests:
        return {}
    rows = await tx.fetch_all(FIND_TRACES, {"digests": sorted(digests)})
    return {bytes(row["digest"]): row["forgotten_at"] for row in rows}


async def words_of(tx: SpaceTransaction, ids: Sequence[int], *, made_of: str) -> list[tuple[int, str]]:
    """What these memories said before they were changed, and what they rest on; each with the memory's id.

    `made_of` is the kind of evidence that is a memory itself: it stands for itself.
    """
    rows = await tx.fetch_all(WORDS_OF, {"ids": list(ids), "made_of": made_of})
    return [(row["memory_id"], row["words"]) for row in rows]


async def find_replaced(
    tx: SpaceTransaction, keys: Sequence[tuple[str | None, bytes]]
) -> dict[tuple[str | None, bytes], list[int]]:
    """Tombstones that hold exactly one of these texts, by audience and hash (`NewText.key`)."""
    found: dict[tuple[str | None, bytes], list[int]] = {}
    for row in await tx.fetch_all(FIND_REPLACED, {"hashes": [content_hash for _, content_hash in keys]}):
        found.setdefault((row["audience"], bytes(row["content_hash"])), []).append(row["memory_id"])
    return found
