"""The task at hand, one for each audience of a space, and what came to mind for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction

WHOLE_SPACE: Final = ""
"""The audience of a task that everybody may see; no key column is NULL."""

# The same task once more goes on as it is, with what was recalled for it.
SET_TASK: Final = """
    INSERT INTO current_tasks AS t (space_id, audience, task, set_at)
    VALUES (%(space_id)s, %(audience)s, %(task)s, %(now)s)
    ON CONFLICT (space_id, audience) DO UPDATE
    SET task = excluded.task, set_at = excluded.set_at, recalled_at = NULL, memory_ids = '{}'
    WHERE t.task <> excluded.task
"""

DROP_TASK: Final = """
    DELETE FROM current_tasks WHERE space_id = %(space_id)s AND audience = %(audience)s
"""

READ_TASK: Final = """
    SELECT audience, task, set_at, recalled_at, memory_ids FROM current_tasks
    WHERE space_id = %(space_id)s AND audience = %(audience)s
"""

DUE_TASKS: Final = """
    SELECT audience, task, set_at, recalled_at, memory_ids FROM current_tasks
    WHERE space_id = %(space_id)s
      AND (recalled_at IS NULL OR recalled_at <= %(recalled_by)s::timestamptz)
    ORDER BY recalled_at NULLS FIRST, audience
"""

# Whoever else has recalled for it, or has set another task meanwhile, was later.
REMEMBER_RECALLED: Final = """
    UPDATE current_tasks
    SET recalled_at = %(now)s, memory_ids = %(ids)s::bigint[]
    WHERE space_id = %(space_id)s AND audience = %(audience)s AND task = %(task)s
      AND recalled_at IS NOT DISTINCT FROM %(recalled_at)s::timestamptz
"""


@dataclass(frozen=True, slots=True)
class CurrentTask:
    """A task at hand; `recalled_at` is None until something was recalled for it."""

    audience: str
    task: str
    set_at: datetime
    recalled_at: datetime | None
    memory_ids: Sequence[int]

    @property
    def seen_by(self) -> str | None:
        """The audience as retrievals take it."""
        return self.audience or None


async def set_task(tx: SpaceTransaction, audience: str | None, task: str) -> None:
    await tx.execute(SET_TASK, {"audience": audience or WHOLE_SPACE, "task": task})


async def drop_task(tx: SpaceTransaction, audience: str | None) -> None:
    await tx.execute(DROP_TASK, {"audience": audience or WHOLE_SPACE})


async def read_task(tx: SpaceTransaction, audience: str | None) -> CurrentTask | None:
    """The task of exactly this audience."""
    row = await tx.fetch_one(READ_TASK, {"audience": audience or WHOLE_SPACE})
    return CurrentTask(**row) if row else None


async def due_tasks(tx: SpaceTransaction, recalled_by: datetime | None) -> list[CurrentTask]:
    """Tasks that nothing was recalled for yet, and those that were last recalled for at `recalled_by` or before."""
    return [CurrentTask(**row) for row in await tx.fetch_all(DUE_TASKS, {"recalled_by": recalled_by})]


async def remember_recalled(tx: SpaceTransaction, task: CurrentTask, ids: Sequence[int]) -> bool:
    """Keeps what was recalled; False where somebody else was quicker or it is the task no more."""
    params = {"audience": task.audience, "task": task.task, "recalled_at": task.recalled_at, "ids": list(ids)}
    return await tx.execute(REMEMBER_RECALLED, params) == 1
