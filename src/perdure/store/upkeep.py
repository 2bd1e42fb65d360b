"""Who keeps a space up, one at a time, and what side tables hold beyond their retention."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from perdure.store.database import SpaceTransaction

WINDOW: Final = 2000
"""Rows of a side table that one statement goes through."""
LONGEST_LEASE: Final = timedelta(days=1)
"""A lease that ends later than that was taken before the clock was set back, and holds nobody up."""

TAKE_LEASE: Final = """
    INSERT INTO upkeep_state (space_id, lease_holder, lease_until)
    VALUES (%(space_id)s, %(holder)s, %(until)s)
    ON CONFLICT (space_id) DO UPDATE SET lease_holder = excluded.lease_holder, lease_until = excluded.lease_until
    WHERE upkeep_state.lease_until IS NULL OR upkeep_state.lease_until < %(now)s
       OR upkeep_state.lease_until > %(latest)s OR upkeep_state.lease_holder = excluded.lease_holder
    RETURNING retired_at
"""

END_LEASE: Final = """
    UPDATE upkeep_state
    SET lease_holder = NULL, lease_until = NULL,
        finished_at = coalesce(%(finished_at)s::timestamptz, finished_at),
        retired_at = coalesce(%(retired_at)s::timestamptz, retired_at)
    WHERE space_id = %(space_id)s AND lease_holder = %(holder)s
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

# Rows of history come in the order of time: the first of them are the oldest.
RETIRE_HISTORY: Final = """
    WITH oldest AS MATERIALIZED (
        SELECT h.id, h.changed_at FROM memory_history h
        WHERE h.space_id = %(space_id)s ORDER BY h.id LIMIT %(window)s
    )
    DELETE FROM memory_history h USING oldest o
    WHERE h.space_id = %(space_id)s AND h.id = o.id AND o.changed_at < %(before)s
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """A space is ours to keep up; `retired_at` is when its side tables were last gone through."""

    retired_at: datetime | None


async def take_lease(tx: SpaceTransaction, holder: str, seconds: float) -> Lease | None:
    """Takes or renews the lease of this space; None while somebody else has it."""
    until = tx.now + timedelta(seconds=seconds)
    params = {"holder": holder, "until": until, "latest": tx.now + LONGEST_LEASE}
    row = await tx.fetch_one(TAKE_LEASE, params)
    return None if row is None else Lease(row["retired_at"])


async def end_lease(
    tx: SpaceTransaction, holder: str, *, finished_at: datetime | None = None, retired_at: datetime | None = None
) -> None:
    """Gives the lease back, and says what came to its end."""
    await tx.execute(END_LEASE, {"holder": holder, "finished_at": finished_at, "retired_at": retired_at})


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


async def retire_history(tx: SpaceTransaction, before: datetime) -> int:
    """Drops one window of states that ended before; fewer than `WINDOW` mean that no more are left."""
    return await tx.execute(RETIRE_HISTORY, {"before": before, "window": WINDOW})
