"""What each layer of cognition reads: ids of live memories, none of which a layer wrote itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction
from perdure.store.told import telling

# What the whole space may see, and what a person or the assistant vouches for: nobody else says who the user is.
# Whatever it weighs, what was told of the user on purpose is read, what took the place of what the card says, and
# what is to be looked at once more (`cognition.AGAIN`).
TO_CONSOLIDATE: Final = """
    WITH RECURSIVE heirs AS (
        SELECT o.superseded_by AS memory_id FROM memory_state o
        WHERE o.space_id = %(space_id)s AND o.memory_id = ANY(%(held)s) AND o.superseded_by IS NOT NULL
        UNION
        SELECT o.superseded_by FROM heirs h
        JOIN memory_state o ON o.space_id = %(space_id)s AND o.memory_id = h.memory_id
        WHERE o.superseded_by IS NOT NULL
    )
    SELECT m.memory_id
    FROM memory_state m
    JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
    LEFT JOIN cognition_marks k
        ON k.space_id = %(space_id)s AND k.layer = 'consolidation' AND k.memory_id = m.memory_id
    WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL AND m.audience IS NULL
      AND {told}
      AND (m.salience >= %(least)s OR w.source = 'bootstrap' OR k.mark = ''
           OR m.memory_id IN (SELECT h.memory_id FROM heirs h))
      AND w.trust IN ('user', 'assistant')
      AND (k.mark IS NULL OR k.mark <> md5(w.summary))
    ORDER BY m.salience DESC, m.memory_id DESC
    LIMIT %(limit)s
"""

HAPPENED: Final = """
    SELECT m.memory_id, m.audience
    FROM memory_state m
    WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL
      AND {told}
      AND m.created_at > %(since)s AND m.source_date > %(happened_since)s AND m.source_date <= %(now)s
    ORDER BY m.memory_id
"""

TOLD_TOGETHER: Final = """
    SELECT k.memory_id
    FROM cognition_marks k
    JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = k.memory_id
    WHERE k.space_id = %(space_id)s AND k.layer = %(layer)s AND k.mark = ANY(%(marks)s)
      AND m.superseded_at IS NULL AND m.created_at > %(since)s AND m.audience IS NOT DISTINCT FROM %(audience)s
"""

TO_REFLECT: Final = """
    WITH news AS MATERIALIZED (
        SELECT m.memory_id, row_number() OVER (
            PARTITION BY w.source, m.memory_type ORDER BY m.salience DESC, m.memory_id DESC) AS place
        FROM (
            SELECT a.memory_id FROM memory_state a WHERE a.space_id = %(space_id)s AND a.memory_id > %(after)s
            UNION
            SELECT k.memory_id FROM cognition_marks k
            WHERE k.space_id = %(space_id)s AND k.layer = 'reflection' AND k.mark = ''
        ) t
        JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = t.memory_id
        JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
        WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL AND m.audience IS NULL
          AND {told}
          AND {told_by_somebody}
    )
    SELECT n.memory_id, count(*) OVER () AS in_all, max(n.memory_id) OVER () AS newest
    FROM news n ORDER BY n.place, n.memory_id DESC LIMIT %(limit)s
"""

LIVE_OF_TYPE: Final = """
    SELECT m.memory_id FROM memory_state m
    WHERE m.space_id = %(space_id)s AND m.memory_type = %(memory_type)s AND m.superseded_at IS NULL
      AND m.audience IS NOT DISTINCT FROM %(audience)s
    ORDER BY m.memory_id DESC LIMIT %(limit)s
"""

MADE_WITHIN: Final = """
    SELECT w.id FROM memories w
    WHERE w.space_id = %(space_id)s AND w.id = ANY(%(ids)s) AND w.related_ids <> '{}'
      AND w.related_ids <@ %(members)s::bigint[]
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


async def to_consolidate(tx: SpaceTransaction, *, least: float, held: Sequence[int], limit: int) -> list[int]:
    """Memories of at least this salience that consolidation has not used at their present words, weightiest first.

    With them what was told as a start, and what took the place of one of `held`, on which card and traits rest.
    """
    rows = await tx.fetch_all(telling(TO_CONSOLIDATE), {"least": least, "held": list(held), "limit": limit})
    return [row["memory_id"] for row in rows]


async def happened(tx: SpaceTransaction, *, since: datetime, happened_since: datetime) -> dict[str | None, list[int]]:
    """By audience: what came in after `since`, happened after `happened_since`, and has happened by now."""
    found: dict[str | None, list[int]] = {}
    for row in await tx.fetch_all(telling(HAPPENED), {"since": since, "happened_since": happened_since}):
        found.setdefault(row["audience"], []).append(row["memory_id"])
    return found


async def told_together(
    tx: SpaceTransaction, layer: str, marks: Sequence[str], *, since: datetime, audience: str | None
) -> list[int]:
    """Live memories of this very audience that came in after `since` and carry one of these marks of a layer."""
    if not marks:
        return []
    params = {"layer": layer, "marks": list(marks), "since": since, "audience": audience}
    return [row["memory_id"] for row in await tx.fetch_all(TOLD_TOGETHER, params)]


@dataclass(frozen=True, slots=True)
class ToReflect:
    """What a reflection would read: the ids shown, how many memories came in, and the last of them."""

    ids: tuple[int, ...] = ()
    in_all: int = 0
    newest: int = 0


async def to_reflect(tx: SpaceTransaction, after: int, limit: int) -> ToReflect:
    """Of what came in after the memory `after` the weightiest of each source and type in turn."""
    rows = await tx.fetch_all(telling(TO_REFLECT), {"after": after, "limit": limit})
    if not rows:
        return ToReflect()
    return ToReflect(tuple(row["memory_id"] for row in rows), rows[0]["in_all"], rows[0]["newest"])


async def live_of_type(tx: SpaceTransaction, memory_type: str, audience: str | None, limit: int) -> list[int]:
    """The newest live memories of one type and of this very audience."""
    params = {"memory_type": memory_type, "audience": audience, "limit": limit}
    return [row["memory_id"] for row in await tx.fetch_all(LIVE_OF_TYPE, params)]


async def made_within(tx: SpaceTransaction, ids: Sequence[int], members: Sequence[int]) -> list[int]:
    """Of these memories those that are related to nothing but `members`."""
    rows = await tx.fetch_all(MADE_WITHIN, {"ids": list(ids), "members": list(members)})
    return [row["id"] for row in rows]


async def set_successor(tx: SpaceTransaction, ids: Sequence[int], new_id: int) -> None:
    """Names what took the place of tombstones that were made before it."""
    await tx.execute(SET_SUCCESSOR, {"ids": list(ids), "new_id": new_id})


async def replaced_by(tx: SpaceTransaction, ids: Sequence[int], reason: str) -> list[int]:
    """Tombstones whose place these memories took for this very reason."""
    return [row["memory_id"] for row in await tx.fetch_all(REPLACED_BY, {"ids": list(ids), "reason": reason})]
