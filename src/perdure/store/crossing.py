"""The only statements that look over all spaces.

The worker role runs those that find work, and reads no content; the owner counts vectors before it builds an index.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import Transaction
from perdure.store.queue import LONGEST_WAIT
from perdure.store.told import telling

FIND_DUE_SPACES: Final = """
    SELECT p.space_id, max(p.enqueued_at) AS newest
    FROM (
        SELECT t.space_id, t.enqueued_at FROM pending_triage t WHERE t.due_at <= %(now)s OR t.due_at > %(latest)s
        UNION ALL
        SELECT d.space_id, d.enqueued_at FROM pending_distillation d WHERE d.due_at <= %(now)s OR d.due_at > %(latest)s
        UNION ALL
        SELECT f.space_id, f.enqueued_at FROM pending_followups f WHERE f.due_at <= %(now)s OR f.due_at > %(latest)s
    ) p
    WHERE p.space_id <> ALL (%(skipped)s::bigint[])
    GROUP BY p.space_id
    HAVING %(quiet_since)s::timestamptz IS NULL OR max(p.enqueued_at) <= %(quiet_since)s
    ORDER BY min(p.enqueued_at)
    LIMIT %(limit)s
"""

SPACES_WITH_TASKS: Final = """
    SELECT DISTINCT t.space_id FROM current_tasks t
    WHERE t.recalled_at IS NULL OR t.recalled_at <= %(recalled_by)s::timestamptz
    ORDER BY t.space_id
"""

# A tick that began after now, before the clock was set back, holds nobody up.
FIND_UNKEPT_SPACES: Final = """
    SELECT s.id AS space_id
    FROM spaces s LEFT JOIN upkeep_state u ON u.space_id = s.id
    WHERE (u.finished_at IS NULL OR u.finished_at <= %(before)s OR u.finished_at > %(now)s)
      AND (u.lease_until IS NULL OR u.lease_until < %(now)s) AND s.id <> ALL (%(skipped)s::bigint[])
    ORDER BY u.finished_at NULLS FIRST, s.id
    LIMIT %(limit)s
"""

# Whether a run is due is asked in the space itself.
FIND_SPACES_WITH_NEWS: Final = """
    SELECT s.id AS space_id
    FROM spaces s LEFT JOIN cognition_state c ON c.space_id = s.id
    WHERE (c.lease_until IS NULL OR c.lease_until < %(now)s) AND s.id <> ALL (%(skipped)s::bigint[])
      AND EXISTS (
          SELECT 1 FROM memory_state m
          WHERE m.space_id = s.id AND m.memory_id > coalesce(c.seen, 0) AND m.superseded_at IS NULL
            AND ({told} OR m.memory_type = 'transition'))
    ORDER BY c.last_run_at NULLS FIRST, s.id
    LIMIT %(limit)s
"""

BACKLOG: Final = """
    SELECT q.queue, count(*) AS waiting, min(q.enqueued_at) AS oldest,
        count(*) FILTER (WHERE q.lease_until > %(now)s) AS leased
    FROM (
        SELECT 'pending_triage' AS queue, t.enqueued_at, t.lease_until FROM pending_triage t
        UNION ALL
        SELECT 'pending_distillation', d.enqueued_at, d.lease_until FROM pending_distillation d
        UNION ALL
        SELECT 'pending_followups', f.enqueued_at, f.lease_until FROM pending_followups f
    ) q
    GROUP BY q.queue ORDER BY q.queue
"""

# One memory of a graph costs about its vector and 16 neighbours on the lowest layer; what does not fit is built
# several times slower, so the build may take up to 2 GB for as long as it runs.
BUILD_MEMORY: Final = """
    SELECT least(2097151, greatest(65536, count(*) * (2 * {dimensions} + 700) / 1024))::bigint AS kilobytes
    FROM memory_vectors WHERE family_id = {id}
"""


@dataclass(frozen=True, slots=True)
class DueSpace:
    """A space with work of any queue that could be done now, and when the newest of it came in."""

    space_id: int
    newest: datetime


async def find_due_spaces(
    tx: Transaction, *, quiet_since: datetime | None, skipped: Collection[int], limit: int
) -> list[DueSpace]:
    """Spaces with due rows, the one that has waited longest first; takes no lock (docs/sql.md, rule 20a).

    Only spaces in which nothing came in after `quiet_since` (None: all of them), and none of those `skipped`: a
    row may be due and yet wait for an earlier one of its conversation, and such spaces must not hide the others.
    """
    params = {"quiet_since": quiet_since, "skipped": sorted(skipped), "limit": limit, "latest": tx.now + LONGEST_WAIT}
    rows = await tx.fetch_all(FIND_DUE_SPACES, params)
    return [DueSpace(**row) for row in rows]


async def spaces_with_tasks(tx: Transaction, recalled_by: datetime | None) -> list[int]:
    """Spaces with a task that nothing was recalled for yet, or at `recalled_by` or before."""
    return [row["space_id"] for row in await tx.fetch_all(SPACES_WITH_TASKS, {"recalled_by": recalled_by})]


async def find_unkept_spaces(tx: Transaction, *, before: datetime, skipped: Collection[int], limit: int) -> list[int]:
    """Spaces that nobody has kept up since `before`, and nobody is at; those that wait longest first."""
    params = {"before": before, "skipped": sorted(skipped), "limit": limit}
    return [row["space_id"] for row in await tx.fetch_all(FIND_UNKEPT_SPACES, params)]


async def find_spaces_with_news(tx: Transaction, *, skipped: Collection[int], limit: int) -> list[int]:
    """Spaces with memories that no cognitive run has seen, and nobody thinks about; those that wait longest first."""
    params = {"skipped": sorted(skipped), "limit": limit}
    return [row["space_id"] for row in await tx.fetch_all(telling(FIND_SPACES_WITH_NEWS), params)]


@dataclass(frozen=True, slots=True)
class QueueBacklog:
    """One queue over all spaces: how many rows, since when the oldest, and how many somebody works on."""

    queue: str
    waiting: int
    oldest: datetime
    leased: int


async def read_backlogs(tx: Transaction) -> list[QueueBacklog]:
    """What waits in each queue; those where nothing does are not named."""
    return [QueueBacklog(**row) for row in await tx.fetch_all(BACKLOG)]
