"""Aging: a space's rows in windows of their ids, and what time does to those of one window.

No statement looks at more than a window, so that none takes long whatever the size of the space; none locks the space.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from perdure.rules.decay import LEFT_ALONE_DAYS, REGRESSION_IDLE_DAYS
from perdure.store.database import SpaceTransaction
from perdure.store.decay import settling

WINDOW: Final = 2000
"""Rows that one statement goes through."""

NEXT_WINDOW: Final = """
    SELECT max(w.memory_id) AS last
    FROM (SELECT m.memory_id FROM memory_state m
          WHERE m.space_id = %(space_id)s AND m.memory_id > %(after)s
          ORDER BY m.memory_id LIMIT %(window)s) AS w
"""

# What lies at the floor, or in the middle, has nowhere to go: its clock may stay behind, and costs no write.
AGE: Final = """
    UPDATE memory_state m
    SET salience = {settled}, decayed_at = {decayed_at},
        usefulness_score = {settled_usefulness}, regressed_at = {regressed_at}
    WHERE m.space_id = %(space_id)s AND m.memory_id > %(after)s AND m.memory_id <= %(last)s
      AND NOT m.pinned AND m.memory_type <> 'identity' AND m.created_at <= %(rested)s
      AND (m.last_retrieved_at IS NULL OR m.last_retrieved_at <= %(rested)s)
      AND ((m.salience > 1 AND m.decayed_at < %(now)s)
           OR (m.usefulness_score <> 0.5 AND m.regressed_at < %(now)s
               AND coalesce(m.last_retrieved_at, m.created_at) < %(idle)s))
"""


async def next_window(tx: SpaceTransaction, after: int) -> int | None:
    """The last id of the next window of rows, those with ids above `after`; None behind the last row."""
    row = await tx.fetch_one(NEXT_WINDOW, {"after": after, "window": WINDOW})
    assert row is not None
    last: int | None = row["last"]
    return last


async def age(tx: SpaceTransaction, after: int, last: int) -> int:
    """Takes off the decay and regression due in the rows with ids above `after` up to `last`; returns how many.

    What was created or retrieved within the last day is left alone; pinned rows and identity never change.
    """
    params = {
        "after": after,
        "last": last,
        "rested": tx.now - timedelta(days=LEFT_ALONE_DAYS),
        "idle": tx.now - timedelta(days=REGRESSION_IDLE_DAYS),
    }
    return await tx.execute(settling(AGE), params)
