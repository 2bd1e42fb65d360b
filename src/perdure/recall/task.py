"""Heartbeat prefetch: at each tick of the worker the task at hand is recalled for, as a turn is (mission, path 2)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Final

from perdure.errors import PerdureError, without_words
from perdure.recall.deadline import within
from perdure.recall.prefetch import Turn, look_up
from perdure.resources import Resources
from perdure.rules.audience import may_see
from perdure.store.crossing import spaces_with_tasks
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.feedback import track
from perdure.store.memories import read_rows
from perdure.store.spaces import SpaceRow, read_space
from perdure.store.tasks import CurrentTask, due_tasks, read_task, remember_recalled
from perdure.types import Filters, StoredMemory, TaskRecall

TASK_LIMIT: Final = 3
"""Memories that come to mind for a task (mission: top 3)."""

DEADLINE_S: Final = 10.0
"""For one task: no turn waits for it."""

STALE_AFTER: Final = 2.5
"""Heartbeats without a new recall, after which the last one is stale: one may be missed."""

log = logging.getLogger("perdure.recall")


async def recall_for_tasks(resources: Resources, *, heartbeat: bool, stopping: Callable[[], bool]) -> int:
    """Recalls for tasks that were set since, and at a heartbeat for all of them; returns for how many.

    Raises DatabaseUnavailable. A task whose recall fails otherwise waits for the next tick.
    """
    interval = timedelta(seconds=resources.settings.heartbeat_interval_s)

    async def find(tx: Transaction) -> tuple[list[int], datetime | None]:
        # Two workers tick at different times; half a tick apart counts as one.
        recalled_by = tx.now - interval / 2 if heartbeat else None
        return await spaces_with_tasks(tx, recalled_by), recalled_by

    space_ids, recalled_by = await resources.database.across(find, as_worker=True)
    done = 0
    for space_id in space_ids:
        if stopping():
            break
        done += await _recall_in(resources, space_id, recalled_by)
    return done


async def _recall_in(resources: Resources, space_id: int, recalled_by: datetime | None) -> int:
    async def read(tx: SpaceTransaction) -> tuple[SpaceRow | None, list[CurrentTask]]:
        return await read_space(tx, space_id), await due_tasks(tx, recalled_by)

    space, tasks = await resources.database.in_space(space_id, read)
    if space is None:
        return 0
    done = 0
    for task in tasks:
        try:
            done += await within(DEADLINE_S, _recall_for(resources, space, task))
        except (PerdureError, TimeoutError) as error:
            log.warning("nothing could be recalled for the task of space %d: %s", space_id, without_words(error))
            break
    return done


async def _recall_for(resources: Resources, space: SpaceRow, task: CurrentTask) -> bool:
    """Recalls, and counts the retrieval, at most once a day for each memory.

    Without the gate: it keeps small talk from bringing anything, and whoever sets a task wants what is known of it.
    """
    turn = Turn(task.task, (), task.seen_by, TASK_LIMIT, Filters())
    vectors = await resources.embedder.embed([task.task], "query")
    found = await look_up(resources, space, turn, vectors, gated=False, timeout_s=DEADLINE_S)
    memories = [hit.memory for hit in found.hits]

    async def write(tx: SpaceTransaction) -> bool:
        if not await remember_recalled(tx, task, [memory.id for memory in memories]):
            return False
        uncounted = [memory.id for memory in memories if not _retrieved_on(memory, tx.now.date())]
        if uncounted:
            await track(tx, dict.fromkeys(uncounted), audience=task.seen_by, every=False)
        return True

    return await resources.database.in_space(space.id, write)


def _retrieved_on(memory: StoredMemory, day: date) -> bool:
    return memory.last_retrieved_at is not None and memory.last_retrieved_at.date() >= day


async def task_recall(resources: Resources, space: SpaceRow, audience: str | None) -> TaskRecall | None:
    """What was last recalled for the task at hand, as far as it is still live; None without a task."""

    async def read(tx: SpaceTransaction) -> TaskRecall | None:
        task = await read_task(tx, audience)
        if task is None:
            return None
        rows = await read_rows(tx, space.name, task.memory_ids)
        memories = [rows[memory_id].memory for memory_id in task.memory_ids if memory_id in rows]
        longest = timedelta(seconds=resources.settings.heartbeat_interval_s * STALE_AFTER)
        return TaskRecall(
            task=task.task,
            memories=tuple(
                memory for memory in memories if memory.superseded_at is None and may_see(audience, memory.audience)
            ),
            set_at=task.set_at,
            recalled_at=task.recalled_at,
            stale=task.recalled_at is None or tx.now - task.recalled_at > longest,
        )

    return await resources.database.in_space(space.id, read)
