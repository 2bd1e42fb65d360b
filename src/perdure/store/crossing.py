"""The only statements that look over all spaces. They run as the worker role, which reads no content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import Transaction

FIND_DUE_SPACES: Final = """
    SELECT p.space_id, count(*) AS due, min(p.enqueued_at) AS oldest, max(p.enqueued_at) AS newest
    FROM pending_triage p
    WHERE p.not_before <= %(now)s AND (p.lease_until IS NULL OR p.lease_until <= %(now)s)
    GROUP BY p.space_id
    ORDER BY min(p.enqueued_at)
    LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class DueSpace:
    """A space with exchanges that could be drained now."""

    space_id: int
    due: int
    oldest: datetime
    newest: datetime


async def find_due_spaces(tx: Transaction, limit: int = 1000) -> list[DueSpace]:
    """Spaces with due rows, the one that has waited longest first; takes no lock (docs/sql.md, rule 20a)."""
    return [DueSpace(**row) for row in await tx.fetch_all(FIND_DUE_SPACES, {"limit": limit})]
