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
