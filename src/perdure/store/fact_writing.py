"""Self-taught facts: writing them. Every change needs the scope's lock, makes what was rendered of the scope stale, and
keeps what the fact was before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Final

from psycopg.types.json import Jsonb

from perdure.fact_types import Fact, FactChange, FactId, FactScope
from perdure.store.database import SpaceTransaction
from perdure.store.fact_scopes import scope_params, touch
from perdure.store.fact_tables import content_key, of_kind

INSERT_FACT: Final = """
    INSERT INTO {facts} (space_id, {owner}, persona_lineage_id, content, content_key, tags, channel_ids, taught_by,
                         evidence, pinned, created_at, updated_at)
    VALUES (%(space_id)s, %(owner)s, %(lineage)s, %(content)s, %(content_key)s, %(tags)s, %(channel_ids)s,
            %(taught_by)s, %(evidence)s, %(pinned)s, %(now)s, %(now)s)
    RETURNING id
"""

# Under its own id, and as new: it was asked for today.
BRING_BACK: Final = """
    INSERT INTO {facts} (space_id, id, {owner}, persona_lineage_id, content, content_key, tags, channel_ids, taught_by,
                         evidence, pinned, revision, last_counted_day, created_at, updated_at)
    VALUES (%(space_id)s, %(id)s, %(owner)s, %(lineage)s, %(content)s, %(content_key)s, %(tags)s, %(channel_ids)s,
            %(taught_by)s, %(evidence)s, %(pinned)s, %(revision)s, %(today)s, %(created_at)s, %(now)s)
"""

# The one statement of an update: guarded by id, owner, lineage and what was read. The day that counted last stays, so
# that a fact which is changed after it has lost doesn't lose twice on one day.
CHANGE_FACT: Final = """
    UPDATE {facts}
    SET content = %(content)s, content_key = %(content_key)s, tags = %(tags)s, channel_ids = %(channel_ids)s,
        pinned = %(pinned)s, decay_days = CASE WHEN content = %(content)s THEN decay_days ELSE 0 END,
        revision = revision + 1, updated_at = %(now)s
    WHERE space_id = %(space_id)s AND id = %(id)s AND {owner} = %(owner)s AND persona_lineage_id = %(lineage)s
      AND revision = %(revision)s
"""

DELETE_FACT: Final = """
    DELETE FROM {facts}
    WHERE space_id = %(space_id)s AND id = %(id)s AND {owner} = %(owner)s AND persona_lineage_id = %(lineage)s
      AND revision = %(revision)s
"""

CLEAR_VECTORS: Final = """
    DELETE FROM {fact_vectors} WHERE space_id = %(space_id)s AND memory_id = %(id)s
"""

INSERT_CHANGE: Final = """
    INSERT INTO fact_history (space_id, kind, memory_id, action, changed_at, changed_by, revision, content, state)
    VALUES (%(space_id)s, %(kind)s, %(id)s, %(action)s, %(now)s, %(changed_by)s, %(revision)s, %(content)s, %(state)s)
"""

READ_CHANGES: Final = """
    SELECT action, changed_at, changed_by, revision, content, state
    FROM fact_history
    WHERE space_id = %(space_id)s AND kind = %(kind)s AND memory_id = %(id)s
    ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class NewFact:
    """What is to be stored."""

    content: str
    tags: Sequence[str] = ()
    channel_ids: Sequence[str] = ()
    taught_by: str | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)
    pinned: bool = False


async def insert_fact(tx: SpaceTransaction, scope: FactScope, new: NewFact) -> Fact:
    """Stores a fact. Needs the scope's lock, and that there is room and nothing that says the same."""
    params = {
        **scope_params(scope),
        "content": new.content,
        "content_key": content_key(new.content),
        "tags": list(new.tags),
        "channel_ids": list(new.channel_ids),
        "taught_by": new.taught_by,
        "evidence": Jsonb(new.evidence),
        "pinned": new.pinned,
    }
    row = await tx.fetch_one(of_kind(INSERT_FACT, scope.kind), params)
    assert row is not None
    await touch(tx, scope)
    return Fact(
        id=FactId(scope.kind, row["id"]),
        scope=scope,
        content=new.content,
        tags=tuple(new.tags),
        channel_ids=tuple(new.channel_ids),
        taught_by=new.taught_by,
        pinned=new.pinned,
        created_at=tx.now,
        updated_at=tx.now,
        revision=1,
        evidence=dict(new.evidence),
    )


async def change_fact(tx: SpaceTransaction, before: Fact, after: Fact, action: str, by: str) -> bool:
    """Puts `after` in the place of `before`: content, tags, channels, pin. Needs the scope's lock.

    Vectors of other words are cleared, and other words make an active fact of a dormant one.

    Returns:
        False if it isn't there any more as `before` says.
    """
    params = {
        **scope_params(before.scope),
        "id": before.id.number,
        "revision": before.revision,
        "content": after.content,
        "content_key": content_key(after.content),
        "tags": list(after.tags),
        "channel_ids": list(after.channel_ids),
        "pinned": after.pinned,
    }
    if await tx.execute(of_kind(CHANGE_FACT, before.id.kind), params) == 0:
        return False
    await keep_change(tx, before, action, by)
    if after.content != before.content:
        await tx.execute(of_kind(CLEAR_VECTORS, before.id.kind), {"id": before.id.number})
    await touch(tx, before.scope)
    return True


async def delete_fact(tx: SpaceTransaction, fact: Fact) -> bool:
    """Takes a fact and its vectors away; what it said is the archive's to keep. Needs the scope's lock."""
    params = {**scope_params(fact.scope), "id": fact.id.number, "revision": fact.revision}
    if await tx.execute(of_kind(DELETE_FACT, fact.id.kind), params) == 0:
        return False
    await touch(tx, fact.scope)
    return True


async def bring_back(tx: SpaceTransaction, fact: Fact) -> Fact:
    """Stores a fact that was archived once more. Needs the scope's lock, room, and nothing that says the same."""
    today = tx.now.astimezone(UTC).date()
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
        "revision": fact.revision + 1,
        "today": today,
        "created_at": fact.created_at,
    }
    await tx.execute(of_kind(BRING_BACK, fact.id.kind), params)
    await touch(tx, fact.scope)
    return replace(fact, revision=fact.revision + 1, decay_days=0, last_counted_day=today, updated_at=tx.now)


async def keep_change(tx: SpaceTransaction, before: Fact, action: str, by: str) -> None:
    """Keeps what a fact was until now."""
    state = {"tags": list(before.tags), "channel_ids": list(before.channel_ids), "pinned": before.pinned}
    params = {
        "kind": before.id.kind.value,
        "id": before.id.number,
        "action": action,
        "changed_by": by,
        "revision": before.revision,
        "content": before.content,
        "state": Jsonb(state),
    }
    await tx.execute(INSERT_CHANGE, params)


async def read_changes(tx: SpaceTransaction, fact_id: FactId) -> list[FactChange]:
    """What a fact was before each change of it, oldest first."""
    rows = await tx.fetch_all(READ_CHANGES, {"kind": fact_id.kind.value, "id": fact_id.number})
    return [
        FactChange(
            action=row["action"],
            changed_at=row["changed_at"],
            changed_by=row["changed_by"],
            revision=row["revision"],
            content=row["content"],
            tags=tuple(row["state"]["tags"]),
            channel_ids=tuple(row["state"]["channel_ids"]),
            pinned=row["state"]["pinned"],
        )
        for row in rows
    ]
