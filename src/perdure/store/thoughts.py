"""What each layer of cognition reads: ids of live memories, none of which a layer wrote itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction

# What the whole space may see, and what a person or the assistant vouches for: nobody else says who the user is.
TO_CONSOLIDATE: Final = """
    SELECT m.memory_id
    FROM memory_state m
    JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
    LEFT JOIN cognition_marks k
        ON k.space_id = %(space_id)s AND k.layer = 'consolidation' AND k.memory_id = m.memory_id
    WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL AND m.audience IS NULL
      AND m.memory_type NOT IN ('identity', 'reflection', 'episode', 'transition')
      AND m.salience >= %(least)s AND w.trust IN ('user', 'assistant')
      AND (k.mark IS NULL OR k.mark <> md5(w.summary))
    ORDER BY m.salience DESC, m.memory_id DESC
    LIMIT %(limit)s
"""

HAPPENED: Final = """
    SELECT m.memory_id, m.audience
    FROM memory_state m
    WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL
      AND m.memory_type NOT IN ('identity', 'reflection', 'episode', 'transition')
      AND m.created_at > %(since)s AND m.source_date > %(happened_since)s AND m.source_date <= %(now)s
    ORDER BY m.memory_id
"""

TO_REFLECT: Final = """
    WITH news AS MATERIALIZED (
        SELECT m.memory_id, row_number() OVER (
            PARTITION BY w.source, m.memory_type ORDER BY m.salience DESC, m.memory_id DESC) AS place
        FROM memory_state m
        JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
        WHERE m.space_id = %(space_id)s AND m.memory_id > %(after)s AND m.superseded_at IS NULL AND m.audience IS NULL
          AND m.memory_type NOT IN ('identity', 'reflection', 'episode', 'transition')
          AND w.source NOT IN ('consolidation', 'episode_synthesis', 'reflection', 'transition')
    )
    SELECT n.memory_id, count(*) OVER () AS in_all FROM news n ORDER BY n.place, n.memory_id DESC LIMIT %(limit)s
"""

LIVE_OF_TYPE: Final = """
    SELECT m.memory_id FROM memory_state m
    WHERE m.space_id = %(space_id)s AND m.memory_type = %(memory_type)s AND m.superseded_at IS NULL
      AND m.audience IS NOT DISTINCT FROM %(audience)s
    ORDER BY m.memory_id DESC LIMIT %(limit)s
"""

SET_SUCCESSOR: Final = """
    UPDATE memory_state SET superseded_by = %(new_id)s
    WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s) AND superseded_at IS NOT NULL
"""


REPLACED_BY: Final = """
    SELECT m.memory_id
    FROM memory_state m
    JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
    WHERE m.space_id = %(space_id)s AND m.superseded_by = ANY(%(ids)s) AND w.superseded_reason = %(reason)s
"""


def mark_of(words: str) -> str:
    """The mark of a memory that was used at these words; the statements above work it out themselves."""
    return hashlib.md5(words.encode(), usedforsecurity=False).hexdigest()


async def to_consolidate(tx: SpaceTransaction, *, least: float, limit: int) -> list[int]:
    """Memories of at least this salience that consolidation has not used at their present words, weightiest first."""
    rows = await tx.fetch_all(TO_CONSOLIDATE, {"least": least, "limit": limit})
    return [row["memory_id"] for row in rows]


async def happened(tx: SpaceTransaction, *, since: datetime, happened_since: datetime) -> dict[str | None, list[int]]:
    """By audience: what came in after `since`, happened after `happened_since`, and has happened by now."""
    found: dict[str | None, list[int]] = {}
    for row in await tx.fetch_all(HAPPENED, {"since": since, "happened_since": happened_since}):
        found.setdefault(row["audience"], []).append(row["memory_id"])
    return found


async def to_reflect(tx: SpaceTransaction, after: int, limit: int) -> tuple[list[int], int]:
    """Of what came in after the memory `after` the weightiest of each source and type in turn; and how many it is."""
    rows = await tx.fetch_all(TO_REFLECT, {"after": after, "limit": limit})
    return [row["memory_id"] for row in rows], rows[0]["in_all"] if rows else 0


async def live_of_type(tx: SpaceTransaction, memory_type: str, audience: str | None, limit: int) -> list[int]:
    """The newest live memories of one type and of this very audience."""
    params = {"memory_type": memory_type, "audience": audience, "limit": limit}
    return [row["memory_id"] for row in await tx.fetch_all(LIVE_OF_TYPE, params)]


async def set_successor(tx: SpaceTransaction, ids: Sequence[int], new_id: int) -> None:
    """Names what took the place of tombstones that were made before it."""
    await tx.execute(SET_SUCCESSOR, {"ids": list(ids), "new_id": new_id})


async def replaced_by(tx: SpaceTransaction, ids: Sequence[int], reason: str) -> list[int]:
    """Tombstones whose place these memories took for this very reason."""
    return [row["memory_id"] for row in await tx.fetch_all(REPLACED_BY, {"ids": list(ids), "reason": reason})]
