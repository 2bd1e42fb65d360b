"""Draining the queues: claimed work becomes memories, in order, exactly once.

What is worked on side by side, and what is taken next, is up to the lanes (`lanes.py`). Without a model exchanges are
taken in batches and kept verbatim. No model and no embedder is called inside a transaction; a row leaves its queue in
the very transaction that stores what became of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from perdure.errors import DatabaseUnavailable, without_words
from perdure.ingest.asking import left_since, left_to_models
from perdure.ingest.bootstrap import handle_bootstrap
from perdure.ingest.distillation import handle_archive
from perdure.ingest.domains import DOMAINS
from perdure.ingest.followups import handle_entities, handle_quality, handle_transition
from perdure.ingest.lanes import Job, Lanes, Next
from perdure.ingest.report import DrainReport, Tally
from perdure.ingest.saved import check_stored
from perdure.ingest.settling import Contended, LeaseLost, Settling, outage_of
from perdure.ingest.triage import triage_and_save
from perdure.ingest.usefulness import handle_usefulness
from perdure.ingest.verbatim import keep_verbatim
from perdure.ingest.work import Handler
from perdure.llm import Ledger
from perdure.observing import Settled, observe
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Backlog, QueuedWork, backlog, renew
from perdure.store.spaces import SpaceRow

RENEWALS: Final = 3
"""How often a lease is renewed in the time it lasts."""
ABANDON_S: Final = 0.4
"""How long a cancelled drain waits for its jobs to end; with what giving back takes below the worker's patience."""
WAITS_FOR_EARLIER: Final = "waits for an earlier exchange of its conversation"

HANDLERS: Final[Mapping[str, Handler]] = {
    **dict.fromkeys(DOMAINS, triage_and_save),
    "bootstrap": handle_bootstrap,
    "archive": handle_archive,
    "quality": handle_quality,
    "contradiction": check_stored,
    "entities": handle_entities,
    "transition": handle_transition,
    "usefulness": handle_usefulness,
}

log = logging.getLogger("perdure.ingest")


async def drain_pending_triage(
    resources: Resources,
    space: SpaceRow,
    holder: str,
    *,
    jitter: float = 0.5,
    most: int | None = None,
    until: float | None = None,
) -> DrainReport:
    """Drains what is due in one space, all queues, until nothing due is left or `most` rows were taken.

    Args:
        resources: the opened database, embedder, models and settings.
        space: the space to drain.
        holder: the name of this worker in leases; unique per worker.
        jitter: 0..1, spreads retries.
        most: stop after about this many rows, so that other spaces get their share; None for all.
        until: begin no job after this time of the clock's `monotonic`; None for no end. The first ones are always done.

    Raises:
        DatabaseUnavailable: the database went away; leases run out and the rows are taken up again.
    """
    drain = _Drain(resources, space, Settling(resources, space, holder, jitter), most, until)
    report = await drain.run()
    for what, counts in (("drained", report.outcomes), ("followed_up", report.followed_up_outcomes)):
        observe(Settled(what, counts))
    return report


class _Drain:
    """The jobs of one drain, side by side; rows of one conversation follow each other."""

    def __init__(
        self, resources: Resources, space: SpaceRow, settling: Settling, most: int | None, until: float | None
    ) -> None:
        self._resources = resources
        self._space = space
        self._settling = settling
        self._lanes = Lanes(resources, space, settling.holder, most, until)
        self._tally = Tally()
        self._jobs: dict[asyncio.Task[None], Job] = {}

    async def run(self) -> DrainReport:
        await self._leave_to_models()
        renewing = asyncio.create_task(self._renew(), name="perdure-leases")
        try:
            while True:
                await self._look()
                if not self._jobs:
                    break
                finished, _ = await asyncio.wait(self._jobs, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    job = self._jobs[task]
                    job.lane.running -= 1
                    if not job.went_on:
                        self._lanes.look_again(job.lane)
                    task.result()
                    del self._jobs[task]
        except BaseException:
            await self._abandon()
            raise
        finally:
            renewing.cancel()

        async def count(tx: SpaceTransaction) -> tuple[Backlog, str | None]:
            left = await left_to_models(tx, self._resources) if self._lanes.left_since is not None else None
            return await backlog(tx), left

        waiting, left = await self._resources.database.in_space(self._space.id, count)
        return self._tally.report(waiting, self._lanes.spent or left)

    async def _leave_to_models(self) -> None:
        """Settles from when on what came in for a model is left to those who have one; None if nothing did."""

        async def look(tx: SpaceTransaction) -> datetime | None:
            return left_since(self._resources, tx.now) if await left_to_models(tx, self._resources) else None

        if not self._lanes.all_ask:
            self._lanes.left_since = await self._resources.database.in_space(self._space.id, look)

    async def _look(self) -> None:
        """Takes what there is room for, in a transaction of its own."""
        following = self._lanes.next()
        if following is not None:
            await self._resources.database.in_space(self._space.id, following.take, writer=True)
            self._begin(following)

    def _begin(self, following: Next) -> None:
        for job in following.begin():
            self._jobs[asyncio.create_task(self._work_off(job))] = job

    async def _work_off(self, job: Job) -> None:
        """Works off the rows of one job, several together or one by one: one bad row keeps only its conversation."""
        if job.lane.rows == 1:
            await self._one(job, job.rows[0], last=True)
            return
        blocked: set[str] = set()
        for row in await self._together(job):
            if not job.lane.open:
                await self._settling.give_back([row], self._tally.outage or WAITS_FOR_EARLIER)
            elif row.conversation_id and row.conversation_id in blocked:
                await self._settling.give_back([row], WAITS_FOR_EARLIER)
            elif not await self._one(job, row):
                blocked.add(row.conversation_id)

    async def _together(self, job: Job) -> list[QueuedWork]:
        """Keeps what it can verbatim in one transaction; the rows that are left."""
        rows = [row for row in job.rows if row.kind in DOMAINS]
        if len(rows) <= 1:
            return job.rows
        try:
            ready = await keep_verbatim(self._resources, self._space, rows)
            self._tally.count(rows, await self._settling.finish(rows, ready, job.ledger))
        except LeaseLost as error:
            # Somebody took one of them; the others are still ours to give back.
            await self._settling.give_back(job.rows, error.message, pause=timedelta(0))
            return []
        except Exception as error:
            outage = outage_of(error)
            if outage is not None:
                await self._close(job, job.rows, outage)
                return []
            log.info("%d rows failed together (%s); trying them one by one", len(rows), type(error).__name__)
            return job.rows
        return [row for row in job.rows if row not in rows]

    async def _one(self, job: Job, work: QueuedWork, *, last: bool = False) -> bool:
        """Works off one row; False if it waits, and what follows it has to wait too.

        With the `last` row of a job goes what is begun next.
        """
        following = self._lanes.next(job.lane) if last else None
        try:
            if job.lane.rows > 1 and work.kind in DOMAINS:
                ready = await keep_verbatim(self._resources, self._space, [work])
            else:
                ready = await HANDLERS[work.kind](self._resources, self._space, work, job.ledger)
            self._tally.count([work], await self._settling.finish([work], ready, job.ledger, following))
            if following is not None:
                self._begin(following)
                job.went_on = True
        except LeaseLost:
            await self._settling.count(job.ledger)
            return False
        except Contended as error:
            await self._settling.give_back([work], str(error), job.ledger)
            return False
        except Exception as error:
            outage = outage_of(error)
            if outage is not None:
                await self._close(job, [work], outage)
                return False
            log.info("%s %d failed: %s", work.kind, work.id, without_words(error))
            if not await self._settling.fail(work, error, job.ledger):
                return False
            self._tally.failed += 1
        finally:
            if following is not None:
                following.give_up()
        return True

    async def _close(self, job: Job, works: Sequence[QueuedWork], outage: str) -> None:
        """Something outside did not answer: the rows wait, and nothing more of this lane is begun."""
        job.lane.open = False
        self._tally.outage = self._tally.outage or outage
        await self._settling.give_back(works, outage, job.ledger)

    async def _renew(self) -> None:
        """Keeps the leases of what is being worked on; a lease that can't be renewed runs out."""
        lease_s = self._resources.settings.lease_s

        async def write(tx: SpaceTransaction) -> None:
            works = [work for job in self._jobs.values() for work in job.rows]
            await renew(tx, works, self._settling.holder, timedelta(seconds=lease_s))

        while True:
            await asyncio.sleep(lease_s / RENEWALS)
            try:
                await self._resources.database.in_space(self._space.id, write)
            except DatabaseUnavailable as error:
                log.info("leases are not renewed: %s", error.message)

    async def _abandon(self) -> None:
        """Ends what still runs and gives its rows back; a query of a frozen database ends at the second cancelling."""
        for task in self._jobs:
            task.cancel()
        rows = [work for job in self._jobs.values() for work in job.rows]
        try:
            if self._jobs:
                await asyncio.wait(self._jobs, timeout=ABANDON_S)
            asked = [use for job in self._jobs.values() for use in job.ledger.uses]
            await self._settling.let_go(rows, Ledger(asked))
        finally:
            for task in self._jobs:
                task.cancel()
                if task.done() and not task.cancelled():
                    task.exception()
