"""The audit log: who changed what, when, and through which door; counts and ids, never words.

An entry is written in the transaction of the change it tells of: neither stands without the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.acting import current_actor
from perdure.rules.fact_ids import FactId
from perdure.store.database import SpaceTransaction, Transaction

MAX_IDS: Final = 100
"""Ids that one entry names; its count is of all."""

INSERT_ENTRY: Final = """
    INSERT INTO audit_log (space_id, happened_at, actor, door, kind, touched, ids)
    VALUES (%(space_id)s, %(now)s, %(audit_actor)s, %(audit_door)s, %(audit_kind)s, %(audit_touched)s, %(audit_ids)s)
"""

INSERT_ADMIN_ENTRY: Final = """
    INSERT INTO admin_log (happened_at, actor, door, kind, touched, ids)
    VALUES (%(now)s, %(audit_actor)s, %(audit_door)s, %(audit_kind)s, %(audit_touched)s, %(audit_ids)s)
"""

READ_ENTRIES: Final = """
    SELECT id, happened_at, actor, door, kind, touched, ids FROM audit_log
    WHERE space_id = %(space_id)s
      AND (%(since)s::timestamptz IS NULL OR happened_at >= %(since)s)
      AND (%(kind)s::text IS NULL OR kind = %(kind)s)
    ORDER BY happened_at DESC, id DESC LIMIT %(limit)s
"""

READ_ADMIN_ENTRIES: Final = """
    SELECT id, happened_at, actor, door, kind, touched, ids FROM admin_log
    WHERE (%(since)s::timestamptz IS NULL OR happened_at >= %(since)s)
      AND (%(kind)s::text IS NULL OR kind = %(kind)s)
    ORDER BY happened_at DESC, id DESC LIMIT %(limit)s
"""

RETIRE_ENTRIES: Final = """
    DELETE FROM audit_log WHERE space_id = %(space_id)s AND happened_at < %(before)s
"""

RETIRE_ADMIN_ENTRIES: Final = """
    DELETE FROM admin_log WHERE happened_at < %(before)s
"""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change: its kind is the name of the verb, and `ids` are of the first 100 rows that it touched.

    Ids are numbers as text; those of facts have their letter in front (S24, P24).
    """

    id: int
    happened_at: datetime
    actor: str
    door: str
    kind: str
    touched: int
    ids: tuple[str, ...]


async def note(
    tx: SpaceTransaction, kind: str, ids: Iterable[int | FactId] = (), *, touched: int | None = None
) -> None:
    """Tells of a change that this transaction makes in its space.

    Args:
        kind: the verb. ids: of the rows it touches. touched: how many, where that is more than `ids` names.
    """
    await tx.execute(INSERT_ENTRY, _told(kind, ids, touched))


async def note_admin(tx: Transaction, kind: str, ids: Iterable[int] = (), *, touched: int | None = None) -> None:
    """The same of what belongs to no space."""
    await tx.execute(INSERT_ADMIN_ENTRY, _told(kind, ids, touched))


async def read_entries(
    tx: SpaceTransaction, *, since: datetime | None, kind: str | None, limit: int
) -> list[AuditEntry]:
    """Entries of the space, newest first."""
    rows = await tx.fetch_all(READ_ENTRIES, {"since": since, "kind": kind, "limit": limit})
    return [AuditEntry(**{**row, "ids": tuple(row["ids"])}) for row in rows]


async def read_admin_entries(
    tx: Transaction, *, since: datetime | None, kind: str | None, limit: int
) -> list[AuditEntry]:
    """Entries of what belongs to no space, newest first."""
    rows = await tx.fetch_all(READ_ADMIN_ENTRIES, {"since": since, "kind": kind, "limit": limit})
    return [AuditEntry(**{**row, "ids": tuple(row["ids"])}) for row in rows]


async def retire_entries(tx: SpaceTransaction, before: datetime) -> int:
    """Drops entries of the space from before; returns how many."""
    return await tx.execute(RETIRE_ENTRIES, {"before": before})


async def retire_admin_entries(tx: Transaction, before: datetime) -> int:
    """The same of what belongs to no space."""
    return await tx.execute(RETIRE_ADMIN_ENTRIES, {"before": before})


def _told(kind: str, ids: Iterable[int | FactId], touched: int | None) -> dict[str, object]:
    actor = current_actor()
    every = list(ids)
    return {
        "audit_actor": actor.name,
        "audit_door": actor.door.value,
        "audit_kind": kind,
        "audit_touched": len(every) if touched is None else touched,
        "audit_ids": [str(each) for each in every[:MAX_IDS]],
    }
