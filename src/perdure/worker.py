"""The heartbeat: one loop that finds spaces with due work and hands it to the rooms that do it.

It has no work of its own. State lives in the database, leases keep workers apart, and any number of workers, in any
number of processes, may run at once.
"""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta

from perdure.errors import DatabaseUnavailable, without_words
from perdure.ingest import drain_pending_triage
from perdure.recall import recall_for_tasks
from perdure.resources import Resources
from perdure.store.crossing import DueSpace, find_due_spaces
from perdure.store.database import Transaction
from perdure.store.spaces import SpaceRow, read_space

LOOK_S = 5.0
SHARE = 64
"""Rows kept verbatim in one space before the next one has its turn."""
JUDGED_SHARE = 8
"""The same where a language model judges each of them, which takes seconds."""
PAGE = 1000
"""Spaces that one look finds at once."""
CUT_OFF_S = 1.0
"""How long a cancelled drain may take to end, and to end once more."""

log = logging.getLogger("perdure.worker")


class Worker:
    """Runs until `stop`; drains a space once it has been quiet for 30 s, and every space at each heartbeat."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._holder = f"worker-{uuid.uuid4()}"
        self._judged = resources.models.can("triage")
        self._beside = max(1, resources.models.slots("triage"))
        """Spaces drained side by side: as many as the model that judges has slots."""
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts the loop in the running event loop."""
        self._task = asyncio.create_task(self._run(), name="perdure-worker")

    async def stop(self, patience_s: float = 5.0) -> None:
        """Ends the loop after the batch at hand; what is cut off after `patience_s` is taken up again later.

        A query of a frozen database ends at the second cancellation, which closes its connection.
        """
        self._stopping.set()
        if self._task is None:
            return
        for seconds in (patience_s, CUT_OFF_S, CUT_OFF_S):
            done, _ = await asyncio.wait({self._task}, timeout=seconds)
            if done:
                return
            self._task.cancel()

    async def tick(self, *, heartbeat: bool) -> int:
        """One look: drains what is due, in fair shares. Returns the number of exchanges settled.

        A space in which nothing could be done is left until the next look.
        """
        settled = 0
        skipped: set[int] = set()
        while not self._stopping.is_set():
            due = await self._due(heartbeat=heartbeat, skipped=skipped)
            if not due:
                break
            for rows in _batched(due, self._beside):
                if self._stopping.is_set():
                    break
                outcomes = await asyncio.gather(*map(self._progress, rows))
                settled += sum(filter(None, outcomes))
                skipped.update(row.space_id for row, progress in zip(rows, outcomes, strict=True) if not progress)
                if None in outcomes:
                    break
        return settled

    async def _progress(self, row: DueSpace) -> int | None:
        """Drains a share of one space; what goes wrong there keeps no other space from its turn.

        None: the database did not answer. If it is more than this space's lock, the next look says so.
        """
        try:
            return await self._drain(row)
        except DatabaseUnavailable as error:
            log.warning("space %d waits for the database: %s", row.space_id, error.message)
            return None
        except Exception as error:
            log.error("space %d could not be drained: %s", row.space_id, without_words(error))  # noqa: TRY400
        return 0

    async def _run(self) -> None:
        settings = self._resources.settings
        clock = self._resources.database.clock
        last_heartbeat = clock.monotonic()
        while not self._stopping.is_set():
            heartbeat = clock.monotonic() - last_heartbeat >= settings.heartbeat_interval_s
            if heartbeat:
                last_heartbeat = clock.monotonic()
            try:
                await self.tick(heartbeat=heartbeat)
                await recall_for_tasks(self._resources, heartbeat=heartbeat, stopping=self._stopping.is_set)
            except DatabaseUnavailable as error:
                log.warning("the worker waits for the database: %s", error.message)
            except Exception as error:
                # One bad tick must not end the heartbeat; the next one tries again.
                log.error("a tick of the worker failed: %s", without_words(error))  # noqa: TRY400
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    min(LOOK_S, settings.heartbeat_interval_s, max(settings.idle_drain_s, 0.05))
                ):
                    await self._stopping.wait()

    async def _due(self, *, heartbeat: bool, skipped: set[int]) -> list[DueSpace]:
        quiet = timedelta(seconds=self._resources.settings.idle_drain_s)

        async def read(tx: Transaction) -> list[DueSpace]:
            since = None if heartbeat else tx.now - quiet
            return await find_due_spaces(tx, quiet_since=since, skipped=skipped, limit=PAGE)

        return await self._resources.database.across(read, as_worker=True)

    async def _drain(self, due: DueSpace) -> int:
        async def read(tx: Transaction) -> SpaceRow | None:
            return await read_space(tx, due.space_id)

        space = await self._resources.database.across(read)
        if space is None:
            return 0
        report = await drain_pending_triage(
            self._resources,
            space,
            self._holder,
            jitter=random.random(),
            most=JUDGED_SHARE if self._judged else SHARE,
        )
        if report.outage:
            log.warning("space %d waits: %s", space.id, report.outage)
        return report.done + report.failed + report.followed_up


def _batched(rows: Sequence[DueSpace], size: int) -> Iterator[Sequence[DueSpace]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
