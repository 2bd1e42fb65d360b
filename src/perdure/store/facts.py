"""Self-taught facts: reading them. Every reader names the scopes it may see; nothing is found by its id alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from perdure.fact_types import Fact, FactId, FactKind, FactScope
from perdure.store.database import SpaceTransaction
from perdure.store.fact_scopes import scope_params
from perdure.store.fact_tables import content_key, of_kind

# All scopes of a turn and their revisions in one statement, so that both are of one moment.
READ_SCOPES: Final = """
    SELECT 'server' AS kind, m.id, m.server_id AS owner, m.persona_lineage_id AS lineage, m.content,
           NULLIF(m.tags, '{}') AS tags, NULLIF(m.channel_ids, '{}') AS channel_ids, m.taught_by, m.pinned, m.revision,
           m.decay_days, m.last_counted_day, m.created_at, m.updated_at, s.revision AS scope_revision
    FROM unnest(%(servers)s::text[], %(server_lineages)s::bigint[]) AS w (owner, lineage)
    JOIN server_memories m
      ON m.space_id = %(space_id)s AND m.server_id = w.owner AND m.persona_lineage_id = w.lineage
    JOIN fact_scopes s
      ON s.space_id = %(space_id)s AND s.kind = 'server' AND s.owner = m.server_id
     AND s.persona_lineage_id = m.persona_lineage_id
    UNION ALL
    SELECT 'personal', m.id, m.user_id, m.persona_lineage_id, m.content,
           NULLIF(m.tags, '{}'), NULLIF(m.channel_ids, '{}'), m.taught_by, m.pinned, m.revision,
           m.decay_days, m.last_counted_day, m.created_at, m.updated_at, s.revision
    FROM unnest(%(people)s::text[], %(people_lineages)s::bigint[]) AS w (owner, lineage)
    JOIN personal_memories m
      ON m.space_id = %(space_id)s AND m.user_id = w.owner AND m.persona_lineage_id = w.lineage
    JOIN fact_scopes s
      ON s.space_id = %(space_id)s AND s.kind = 'personal' AND s.owner = m.user_id
     AND s.persona_lineage_id = m.persona_lineage_id
    ORDER BY created_at DESC, id DESC
"""

READ_FACT: Final = """
    SELECT m.id, m.{owner} AS owner, m.persona_lineage_id AS lineage, m.content, m.tags, m.channel_ids, m.taught_by,
           m.evidence, m.pinned, m.revision, m.decay_days, m.last_counted_day, m.created_at, m.updated_at
    FROM {facts} m
    WHERE m.space_id = %(space_id)s AND m.id = %(id)s
"""

LIST_FACTS: Final = """
    SELECT m.id, m.{owner} AS owner, m.persona_lineage_id AS lineage, m.content, m.tags, m.channel_ids, m.taught_by,
           m.evidence, m.pinned, m.revision, m.decay_days, m.last_counted_day, m.created_at, m.updated_at
    FROM {facts} m
    WHERE m.space_id = %(space_id)s
      AND (%(owner)s::text IS NULL OR m.{owner} = %(owner)s)
      AND (%(lineages)s::bigint[] IS NULL OR m.persona_lineage_id = ANY(%(lineages)s::bigint[]))
    ORDER BY m.created_at DESC, m.id DESC
    LIMIT %(limit)s
"""

COUNT_FACTS: Final = """
    SELECT count(*) AS n FROM {facts} m
    WHERE m.space_id = %(space_id)s AND m.{owner} = %(owner)s AND m.persona_lineage_id = %(lineage)s
"""

FIND_SAME: Final = """
    SELECT m.id FROM {facts} m
    WHERE m.space_id = %(space_id)s AND m.{owner} = %(owner)s AND m.persona_lineage_id = %(lineage)s
      AND m.content_key = %(content_key)s
"""

# The longest dormant, of those the oldest (rules.dormancy.pick_victim says the same). Who counts days holds the rows it
# counts, so that one which was won back meanwhile is looked at again before it goes.
FIND_VICTIM: Final = """
    SELECT m.id FROM {facts} m
    WHERE m.space_id = %(space_id)s AND m.{owner} = %(owner)s AND m.persona_lineage_id = %(lineage)s
      AND m.persona_lineage_id <> 0 AND NOT m.pinned AND m.decay_days >= %(dormant_after)s
      AND m.id <> ALL(%(winners)s::bigint[])
    ORDER BY m.decay_days DESC, m.created_at, m.id
    LIMIT 1
    FOR UPDATE
"""


NOT_READ: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, slots=True)
class ScopeFacts:
    """What a scope holds, newest first, and the revision that text rendered of it belongs to."""

    revision: int
    facts: tuple[Fact, ...]


async def read_scopes(tx: SpaceTransaction, scopes: Iterable[FactScope]) -> dict[FactScope, ScopeFacts]:
    """The facts of these scopes, newest first, in one statement; a scope without facts is missing.

    Their evidence is not read, nor lists that are empty: a turn has no use for them, and reading them takes long.
    """
    wanted = list(dict.fromkeys(scopes))
    servers = [scope for scope in wanted if scope.kind is FactKind.SERVER]
    people = [scope for scope in wanted if scope.kind is FactKind.PERSONAL]
    params = {
        "servers": [scope.owner for scope in servers],
        "server_lineages": [scope.lineage for scope in servers],
        "people": [scope.owner for scope in people],
        "people_lineages": [scope.lineage for scope in people],
    }
    named = {(scope.kind.value, scope.owner, scope.lineage): scope for scope in wanted}
    rows: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in await tx.fetch_all(READ_SCOPES, params):
        rows.setdefault((row["kind"], row["owner"], row["lineage"]), []).append(row)
    return {
        named[key]: ScopeFacts(own[0]["scope_revision"], tuple([fact_of(row, named[key]) for row in own]))
        for key, own in rows.items()
    }


async def read_fact(tx: SpaceTransaction, fact_id: FactId) -> Fact | None:
    """The fact of this id, of whatever scope: the caller asks whether it is one that may be seen."""
    row = await tx.fetch_one(of_kind(READ_FACT, fact_id.kind), {"id": fact_id.number})
    return _of(row, fact_id.kind) if row else None


async def list_facts(
    tx: SpaceTransaction, kind: FactKind, limit: int, *, owner: str | None = None, lineages: Sequence[int] | None = None
) -> list[Fact]:
    """Facts of one kind, newest first; of one owner and of some lineages, where they are named."""
    params = {"owner": owner, "lineages": None if lineages is None else list(lineages), "limit": limit}
    return [_of(row, kind) for row in await tx.fetch_all(of_kind(LIST_FACTS, kind), params)]


async def count_facts(tx: SpaceTransaction, scope: FactScope) -> int:
    """How many facts a scope holds. Needs its lock where that decides anything."""
    row = await tx.fetch_one(of_kind(COUNT_FACTS, scope.kind), scope_params(scope))
    assert row is not None
    return int(row["n"])


async def find_same(tx: SpaceTransaction, scope: FactScope, content: str) -> FactId | None:
    """The fact of this scope that says this already. Needs its lock where that decides anything."""
    params = {**scope_params(scope), "content_key": content_key(content)}
    row = await tx.fetch_one(of_kind(FIND_SAME, scope.kind), params)
    return FactId(scope.kind, row["id"]) if row else None


async def find_victim(
    tx: SpaceTransaction, scope: FactScope, *, dormant_after: int, winners: Collection[FactId]
) -> Fact | None:
    """The fact of a full scope that makes room for a new one, locked. Needs the scope's lock."""
    params = {
        **scope_params(scope),
        "dormant_after": dormant_after,
        "winners": [winner.number for winner in winners if winner.kind is scope.kind],
    }
    row = await tx.fetch_one(of_kind(FIND_VICTIM, scope.kind), params)
    return await read_fact(tx, FactId(scope.kind, row["id"])) if row else None


def fact_of(row: Mapping[str, Any], scope: FactScope) -> Fact:
    """A row of one of the two tables."""
    return Fact(
        id=FactId(scope.kind, row["id"]),
        scope=scope,
        content=row["content"],
        tags=tuple(row["tags"] or ()),
        channel_ids=tuple(row["channel_ids"] or ()),
        taught_by=row["taught_by"],
        pinned=row["pinned"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        revision=row["revision"],
        decay_days=row["decay_days"],
        last_counted_day=row["last_counted_day"],
        evidence=row.get("evidence", NOT_READ),
    )


def _of(row: Mapping[str, Any], kind: FactKind) -> Fact:
    return fact_of(row, FactScope(kind, row["owner"], row["lineage"]))
