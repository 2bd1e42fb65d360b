"""Which workers there are: each says what it does, so that anybody can see it, and forgets those that fell silent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from perdure.store.crossing import QueueBacklog
from perdure.store.database import Transaction

FORGOTTEN_AFTER: Final = timedelta(days=1)
"""A worker that has said nothing for so long is no longer listed."""

TELL: Final = """
    INSERT INTO workers (name, host, process, started_at, seen_at, doing)
    VALUES (%(name)s, %(host)s, %(process)s, %(now)s, %(now)s, %(doing)s)
    ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, doing = excluded.doing
"""

BEAT: Final = """
    UPDATE workers
    SET beat_at = %(now)s, seen_at = %(now)s, doing = %(doing)s, drained = drained + %(drained)s,
        kept_up = kept_up + %(kept_up)s, concluded = concluded + %(concluded)s, trouble = %(trouble)s
    WHERE name = %(name)s
"""

LEAVE: Final = "DELETE FROM workers WHERE name = %(name)s"

FORGET_SILENT: Final = "DELETE FROM workers WHERE seen_at < %(silent_since)s"

LIST: Final = """
    SELECT name, host, process, started_at, beat_at, seen_at, doing, drained, kept_up, concluded, trouble
    FROM workers ORDER BY started_at, name
"""


@dataclass(frozen=True, slots=True)
class WorkerState:
    """One worker as it last told of itself.

    Attributes:
        name, host, process: who it is.
        started_at, seen_at: when it began, and when it last said anything.
        beat_at: when its last whole heartbeat ended; None before the first.
        doing: what it is at: `drain`, `tasks`, `upkeep`, `cognition`, or `waiting`.
        drained, kept_up, concluded: exchanges settled, spaces kept up and conclusions written since it began.
        trouble: what its last heartbeat met with.
    """

    name: str
    host: str
    process: int
    started_at: datetime
    beat_at: datetime | None
    seen_at: datetime
    doing: str
    drained: int
    kept_up: int
    concluded: int
    trouble: str | None


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """All workers, and what waits for them in each queue, over all spaces."""

    workers: tuple[WorkerState, ...]
    queues: tuple[QueueBacklog, ...]

    @property
    def waiting(self) -> int:
        return sum(queue.waiting for queue in self.queues)

    @property
    def oldest(self) -> datetime | None:
        """Since when the oldest of it waits."""
        return min((queue.oldest for queue in self.queues), default=None)


async def tell(tx: Transaction, name: str, *, host: str, process: int, doing: str) -> None:
    """Says what a worker is at; the first time it says that there is one."""
    await tx.execute(TELL, {"name": name, "host": host, "process": process, "doing": doing})


async def tell_beat(
    tx: Transaction, name: str, *, drained: int, kept_up: int, concluded: int, trouble: str | None
) -> None:
    """Says that a whole heartbeat has ended, and adds what it did; forgets workers that fell silent."""
    counts = {"drained": drained, "kept_up": kept_up, "concluded": concluded}
    await tx.execute(BEAT, {"name": name, "doing": "waiting", "trouble": trouble, **counts})
    await tx.execute(FORGET_SILENT, {"silent_since": tx.now - FORGOTTEN_AFTER})


async def leave(tx: Transaction, name: str) -> None:
    """Says that a worker has ended in good order."""
    await tx.execute(LEAVE, {"name": name})


async def list_workers(tx: Transaction) -> list[WorkerState]:
    """All workers that have said anything within a day, the oldest first."""
    return [WorkerState(**row) for row in await tx.fetch_all(LIST)]
