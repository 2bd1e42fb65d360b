"""When a space was last kept up, and what side tables hold beyond their retention."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction

WINDOW: Final = 2000
"""Rows of a side table that one statement goes through."""
READ_PROGRESS: Final = """
    SELECT u.retired_at, u.reached FROM upkeep_state u WHERE u.space_id = %(space_id)s
"""

FINISH: Final = """
    UPDATE upkeep_state
    SET finished_at = coalesce(%(finished_at)s::timestamptz, finished_at),
        retired_at = coalesce(%(retired_at)s::timestamptz, retired_at), reached = 0
    WHERE space_id = %(space_id)s
"""

LEAVE_OFF: Final = """
    UPDATE upkeep_state SET reached = %(reached)s WHERE space_id = %(space_id)s AND lease_holder = %(holder)s
"""

NEXT_OPERATIONS: Final = """
    SELECT max(w.operation_id) AS last
    FROM (SELECT o.operation_id FROM operations o
          WHERE o.space_id = %(space_id)s AND o.operation_id > %(after)s
          ORDER BY o.operation_id LIMIT %(window)s) AS w
"""

RETIRE_OPERATIONS: Final = """
    DELETE FROM operations
    WHERE space_id = %(space_id)s AND operation_id > %(after)s AND operation_id <= %(last)s AND created_at < %(before)s
"""

RETIRE_USAGE: Final = """
    DELETE FROM model_usage WHERE space_id = %(space_id)s AND day < %(before)s
"""

# A run whose conclusions are all gone, and that no trait names, has nothing left to show or to undo.
RETIRE_RUNS: Final = """
    DELETE FROM cognition_runs r
    WHERE r.space_id = %(space_id)s AND r.ended_at < %(before)s
      AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.space_id = %(space_id)s AND m.id = ANY(r.wrote_ids))
      AND NOT EXISTS (
          SELECT 1 FROM traits t WHERE t.space_id = %(space_id)s AND (t.run_id = r.id OR t.ended_by = r.id))
"""

# Rows of history come in the order of time: the first of them are the oldest.
RETIRE_HISTORY: Final = """
    WITH oldest AS MATERIALIZED (
        SELECT h.id, h.changed_at FROM memory_history h
        WHERE h.space_id = %(space_id)s ORDER BY h.id LIMIT %(window)s
    )
    DELETE FROM memory_history h USING oldest o
    WHERE h.space_id = %(space_id)s AND h.id = o.id AND o.changed_at < %(before)s
"""

RETIRE_CHANGES: Final = """
    WITH oldest AS MATERIALIZED (
        SELECT h.id, h.changed_at FROM fact_history h
        WHERE h.space_id = %(space_id)s ORDER BY h.id LIMIT %(window)s
    )
    DELETE FROM fact_history h USING oldest o
    WHERE h.space_id = %(space_id)s AND h.id = o.id AND o.changed_at < %(before)s
"""

RETIRE_ARCHIVED: Final = """
    DELETE FROM fact_archive WHERE space_id = %(space_id)s AND archived_at < %(before)s
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """When side tables were last gone through, and the memory after which an unfinished tick goes on."""

    retired_at: datetime | None = None
    reached: int = 0


async def read_progress(tx: SpaceTransaction) -> Progress:
    row = await tx.fetch_one(READ_PROGRESS)
    return Progress(**row) if row else Progress()


async def leave_off(tx: SpaceTransaction, reached: int, holder: str) -> None:
    """Says how far a tick came that wasn't finished, unless somebody else is at it by now."""
    await tx.execute(LEAVE_OFF, {"reached": reached, "holder": holder})


async def finish(tx: SpaceTransaction, *, finished_at: datetime, retired_at: datetime | None) -> None:
    """Says when the tick began that came to its end, and when it went through side tables if it did."""
    await tx.execute(FINISH, {"finished_at": finished_at, "retired_at": retired_at})


async def retire_operations(tx: SpaceTransaction, after: str, before: datetime) -> tuple[str | None, int]:
    """Goes through the next window of operation ids; returns its last one (None: there was none) and how many went."""
    row = await tx.fetch_one(NEXT_OPERATIONS, {"after": after, "window": WINDOW})
    assert row is not None
    last: str | None = row["last"]
    if last is None:
        return None, 0
    return last, await tx.execute(RETIRE_OPERATIONS, {"after": after, "last": last, "before": before})


async def retire_usage(tx: SpaceTransaction, before: datetime) -> int:
    """Drops what models were asked before that day; returns how many rows went."""
    return await tx.execute(RETIRE_USAGE, {"before": before.date()})


async def retire_runs(tx: SpaceTransaction, before: datetime) -> int:
    """Drops cognitive runs that ended before and have left nothing; returns how many."""
    return await tx.execute(RETIRE_RUNS, {"before": before})


async def retire_history(tx: SpaceTransaction, before: datetime) -> int:
    """Drops one window of states that ended before; fewer than `WINDOW` mean that no more are left."""
    return await tx.execute(RETIRE_HISTORY, {"before": before, "window": WINDOW})


async def retire_changes(tx: SpaceTransaction, before: datetime) -> int:
    """Drops one window of what facts said before; fewer than `WINDOW` mean that no more are left."""
    return await tx.execute(RETIRE_CHANGES, {"before": before, "window": WINDOW})


async def retire_archived(tx: SpaceTransaction, before: datetime) -> int:
    """Drops facts that were archived before; then they can't be restored any more. Returns how many."""
    return await tx.execute(RETIRE_ARCHIVED, {"before": before})
