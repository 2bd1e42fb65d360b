"""Facts that were replaced or deleted, and can come back under their own ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from psycopg.types.json import Jsonb

from perdure.fact_types import Fact, FactId, FactKind, FactScope
from perdure.store.database import SpaceTransaction
from perdure.store.fact_scopes import scope_params
from perdure.store.fact_tables import content_key
from perdure.store.facts import fact_of

Reason = Literal["replaced", "deleted"]

ARCHIVE_FACT: Final = """
    INSERT INTO fact_archive (space_id, kind, memory_id, owner, persona_lineage_id, content, content_key, tags,
                              channel_ids, taught_by, evidence, pinned, revision, decay_days, created_at, archived_at,
                              archived_by, reason, replaced_by)
    VALUES (%(space_id)s, %(kind)s, %(id)s, %(owner)s, %(lineage)s, %(content)s, %(content_key)s, %(tags)s,
            %(channel_ids)s, %(taught_by)s, %(evidence)s, %(pinned)s, %(revision)s, %(decay_days)s, %(created_at)s,
            %(now)s, %(archived_by)s, %(reason)s, NULL)
"""

NAME_SUCCESSOR: Final = """
    UPDATE fact_archive SET replaced_by = %(replaced_by)s
    WHERE space_id = %(space_id)s AND kind = %(kind)s AND memory_id = %(id)s
"""

READ_ARCHIVED: Final = """
    SELECT a.memory_id AS id, a.owner, a.persona_lineage_id AS lineage, a.content, a.tags,
           a.channel_ids, a.taught_by, a.evidence, a.pinned, a.revision, a.decay_days, NULL::date AS last_counted_day,
           a.created_at, a.archived_at AS updated_at, a.replaced_by
    FROM fact_archive a
    WHERE a.space_id = %(space_id)s AND a.kind = %(kind)s
      AND (%(id)s::bigint IS NULL OR a.memory_id = %(id)s)
      AND (%(owner)s::text IS NULL OR a.owner = %(owner)s)
      AND (%(lineages)s::bigint[] IS NULL OR a.persona_lineage_id = ANY(%(lineages)s::bigint[]))
    ORDER BY a.archived_at DESC, a.memory_id DESC
    LIMIT %(limit)s
"""

LEAVE_ARCHIVE: Final = """
    DELETE FROM fact_archive WHERE space_id = %(space_id)s AND kind = %(kind)s AND memory_id = %(id)s
"""


async def archive_fact(tx: SpaceTransaction, fact: Fact, reason: Reason, by: str) -> None:
    """Keeps a fact that is taken away. Needs its scope's lock."""
    params = {
        **scope_params(fact.scope),
        "id": fact.id.number,
        "content": fact.content,
        "content_key": content_key(fact.content),
        "tags": list(fact.tags),
        "channel_ids": list(fact.channel_ids),
        "taught_by": fact.taught_by,
        "evidence": Jsonb(fact.evidence),
        "pinned": fact.pinned,
        "revision": fact.revision,
        "decay_days": fact.decay_days,
        "created_at": fact.created_at,
        "archived_by": by,
        "reason": reason,
    }
    await tx.execute(ARCHIVE_FACT, params)


async def name_successor(tx: SpaceTransaction, gone: FactId, successor: FactId) -> None:
    """Notes which fact took the room of one that is archived."""
    await tx.execute(NAME_SUCCESSOR, {**_key(gone), "replaced_by": successor.number})


async def read_archived(tx: SpaceTransaction, fact_id: FactId) -> tuple[Fact, FactId | None] | None:
    """An archived fact as it was, and the fact that took its room; `updated_at` is when it was archived."""
    rows = await tx.fetch_all(READ_ARCHIVED, {**_key(fact_id), "owner": None, "lineages": None, "limit": 1})
    if not rows:
        return None
    row = rows[0]
    successor = None if row["replaced_by"] is None else FactId(fact_id.kind, row["replaced_by"])
    return fact_of(row, FactScope(fact_id.kind, row["owner"], row["lineage"])), successor


async def list_archived(
    tx: SpaceTransaction, kind: FactKind, limit: int, *, owner: str | None = None, lineages: Sequence[int] | None = None
) -> list[Fact]:
    """Archived facts of one kind, the latest first; of one owner and of some lineages, where they are named."""
    params = {
        "kind": kind.value,
        "id": None,
        "owner": owner,
        "lineages": None if lineages is None else list(lineages),
        "limit": limit,
    }
    rows = await tx.fetch_all(READ_ARCHIVED, params)
    return [fact_of(row, FactScope(kind, row["owner"], row["lineage"])) for row in rows]


async def leave_archive(tx: SpaceTransaction, fact_id: FactId) -> None:
    """Takes a fact out of the archive, once it is back."""
    await tx.execute(LEAVE_ARCHIVE, _key(fact_id))


def _key(fact_id: FactId) -> dict[str, object]:
    return {"kind": fact_id.kind.value, "id": fact_id.number}
