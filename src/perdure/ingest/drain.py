"""Draining the queues: claimed work becomes memories, in order, exactly once.

Each queue is a lane with as many jobs at a time as the model behind it has slots; without a model exchanges are taken
in batches and kept verbatim. No model and no embedder is called inside a transaction; a row leaves its queue in the
very transaction that stores what became of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from perdure.errors import DatabaseUnavailable, without_words
from perdure.ingest.asking import asked_by, left_since, left_to_models
from perdure.ingest.bootstrap import handle_bootstrap
from perdure.ingest.distillation import handle_archive
from perdure.ingest.domains import DOMAINS
from perdure.ingest.followups import handle_entities, handle_quality, handle_transition
from perdure.ingest.saved import check_stored
from perdure.ingest.settling import Contended, LeaseLost, Settling, outage_of
from perdure.ingest.triage import triage_and_save
from perdure.ingest.usefulness import handle_usefulness
from perdure.ingest.verbatim import keep_verbatim
from perdure.ingest.work import Handler
from perdure.llm import Ledger
from perdure.resources import Resources
from perdure.rules.budget import budget_spent
from perdure.store.claiming import claim, due
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue, QueuedWork, backlog, renew
from perdure.store.spaces import SpaceRow, lock_space
from perdure.store.usage import used_today
from perdure.types import Outcome, Pending

BATCH: Final = 32
"""Rows kept verbatim in one transaction."""
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


@dataclass(frozen=True, slots=True)
class DrainReport:
    """What one drain did.

    `done` are exchanges, mails, events, texts and archives worked off, long ones in pieces; `failed` went to
    failed_operations, `waiting` back off or are leased. `followed_up` are questions about stored memories (quality,
    contradiction, transition) that were settled. `outcomes` counts what became of it all, by status (`stored`,
    `merged`, `superseded`, `nothing`).
    """

    done: int
    failed: int
    waiting: int
    outage: str | None = None
    followed_up: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, later: DrainReport) -> DrainReport:
        """Both drains as one; what waits and what is out of reach is told by the later one."""
        return DrainReport(
            self.done + later.done,
            self.failed + later.failed,
            later.waiting,
            later.outage,
            self.followed_up + later.followed_up,
            dict(sorted((Counter(self.outcomes) + Counter(later.outcomes)).items())),
        )


@dataclass(slots=True)
class _Tally:
    """What was done so far."""

    done: int = 0
    failed: int = 0
    followed_up: int = 0
    outage: str | None = None
    outcomes: Counter[str] = field(default_factory=Counter)

    def count(self, works: Sequence[QueuedWork], outcomes: Sequence[Outcome]) -> None:
        if any(isinstance(outcome, Pending) for outcome in outcomes):
            # It came back in pieces: each is counted when it is done.
            return
        follow_ups = sum(work.queue is Queue.FOLLOWUP for work in works)
        self.done += len(works) - follow_ups
        self.followed_up += follow_ups
        self.outcomes.update(outcome.status for outcome in outcomes)


@dataclass(slots=True)
class _Lane:
    """One queue: how many jobs run at a time, how many rows each takes, and whether any more are begun.

    `empty`: nothing was due when it was looked at, and nothing has happened since that could change it.
    """

    queue: Queue
    jobs: int
    rows: int
    asks: bool
    running: int = 0
    open: bool = True
    empty: bool = False

    @property
    def free(self) -> int:
        return self.jobs - self.running if self.open and not self.empty else 0


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
    return await drain.run()


def _lane(resources: Resources, queue: Queue) -> _Lane:
    """Of what its work asks, that with most slots says how much of it runs at a time."""
    models = resources.models
    asked = asked_by(models, queue)
    if queue is Queue.TRIAGE and not asked:
        return _Lane(queue, jobs=1, rows=BATCH, asks=False)
    return _Lane(queue, jobs=max((models.slots(site) for site in asked), default=1), rows=1, asks=bool(asked))


class _Drain:
    """The jobs of one drain, side by side; rows of one conversation follow each other."""

    def __init__(
        self, resources: Resources, space: SpaceRow, settling: Settling, most: int | None, until: float | None
    ) -> None:
        self._resources = resources
        self._space = space
        self._settling = settling
        self._most = most
        self._until = until
        self._tally = _Tally()
        self._taken = 0
        self._spent: str | None = None
        self._left_since: datetime | None = None
        lanes = {queue: _lane(resources, queue) for queue in Queue}
        self._lanes = list(lanes.values())
        self._followups = lanes[Queue.FOLLOWUP]
        self._jobs: dict[asyncio.Task[None], tuple[_Lane, list[QueuedWork]]] = {}

    async def run(self) -> DrainReport:
        await self._leave_to_models()
        renewing = asyncio.create_task(self._renew(), name="perdure-leases")
        try:
            while True:
                await self._begin()
                if not self._jobs:
                    break
                finished, _ = await asyncio.wait(self._jobs, return_when=asyncio.FIRST_COMPLETED)
                for job in finished:
                    lane, _ = self._jobs[job]
                    lane.running -= 1
                    # What comes next in a conversation is due now, and what is to be asked about a new memory.
                    lane.empty = self._followups.empty = False
                    job.result()
                    del self._jobs[job]
        except BaseException:
            await self._abandon()
            raise
        finally:
            renewing.cancel()

        async def count(tx: SpaceTransaction) -> tuple[int, str | None]:
            left = await left_to_models(tx, self._resources) if self._left_since is not None else None
            return (await backlog(tx)).pending, left

        tally = self._tally
        waiting, left = await self._resources.database.in_space(self._space.id, count)
        outage = tally.outage or (self._spent or left if waiting else None)
        outcomes = dict(sorted(tally.outcomes.items()))
        return DrainReport(tally.done, tally.failed, waiting, outage, tally.followed_up, outcomes)

    async def _leave_to_models(self) -> None:
        """Settles from when on what came in for a model is left to those who have one; None if nothing did."""

        async def look(tx: SpaceTransaction) -> datetime | None:
            return left_since(self._resources, tx.now) if await left_to_models(tx, self._resources) else None

        if not all(lane.asks for lane in self._lanes):
            self._left_since = await self._resources.database.in_space(self._space.id, look)

    async def _begin(self) -> None:
        """Claims for every lane what it has room for, in one transaction, and begins the jobs."""
        late = self._until is not None and self._resources.database.clock.monotonic() >= self._until
        if (self._taken and late) or (self._most is not None and self._taken >= self._most):
            return
        lanes = [lane for lane in self._lanes if lane.free]
        if not lanes:
            return
        visibility = timedelta(seconds=self._resources.settings.lease_s)
        self._resources.turns[self._space.id] += 1
        turn = self._resources.turns[self._space.id]

        async def take(tx: SpaceTransaction) -> tuple[str | None, list[tuple[_Lane, list[QueuedWork]]]]:
            await lock_space(tx)
            spent = await self._budget_spent(tx) if any(lane.asks for lane in lanes) else None
            claimed: list[tuple[_Lane, list[QueuedWork]]] = []
            known = await due(tx, [lane.queue for lane in lanes])
            for lane in lanes:
                if lane.asks and spent is not None:
                    continue
                single = lane.rows == 1
                rows = await claim(
                    tx,
                    lane.queue,
                    self._settling.holder,
                    limit=lane.free if single else lane.rows,
                    visibility=visibility,
                    heads=single,
                    turn=turn,
                    known=known[lane.queue],
                    left_since=None if lane.asks else self._left_since,
                )
                jobs = [[row] for row in rows] if single else [rows]
                claimed += [(lane, job) for job in jobs if job]
            return spent, claimed

        self._spent, claimed = await self._resources.database.in_space(self._space.id, take, writer=True)
        for lane in lanes:
            lane.empty = not (lane.asks and self._spent) and all(lane is not other for other, _ in claimed)
        for lane, rows in claimed:
            lane.running += 1
            self._taken += len(rows)
            self._jobs[asyncio.create_task(self._work_off(lane, rows))] = lane, rows

    async def _budget_spent(self, tx: SpaceTransaction) -> str | None:
        """Why no model may be asked any more today, if so."""
        settings = self._resources.settings
        if settings.daily_call_budget is None and settings.daily_token_budget is None:
            return None
        used = await used_today(tx)
        return budget_spent(
            calls=used.calls,
            tokens=used.tokens,
            most_calls=settings.daily_call_budget,
            most_tokens=settings.daily_token_budget,
        )

    async def _work_off(self, lane: _Lane, rows: Sequence[QueuedWork]) -> None:
        """Works off the rows of one job: several are kept verbatim together or, if that fails, one by one.

        So one bad row keeps only its conversation waiting.
        """
        together = [row for row in rows if lane.rows > 1 and row.kind in DOMAINS]
        if len(together) > 1:
            ledger = Ledger()
            try:
                ready = await keep_verbatim(self._resources, self._space, together)
                self._tally.count(together, await self._settling.finish(together, ready, ledger))
            except LeaseLost as error:
                # Somebody took one of them; the others are still ours to give back.
                await self._settling.give_back(rows, error.message, pause=timedelta(0))
                return
            except Exception as error:
                outage = outage_of(error)
                if outage is not None:
                    await self._close(lane, rows, outage, ledger)
                    return
                log.info("%d rows failed together (%s); trying them one by one", len(together), type(error).__name__)
            else:
                rows = [row for row in rows if row not in together]

        blocked: set[str] = set()
        for row in rows:
            if not lane.open:
                await self._settling.give_back([row], self._tally.outage or WAITS_FOR_EARLIER)
            elif row.conversation_id and row.conversation_id in blocked:
                await self._settling.give_back([row], WAITS_FOR_EARLIER)
            elif not await self._one(lane, row):
                blocked.add(row.conversation_id)

    async def _one(self, lane: _Lane, work: QueuedWork) -> bool:
        """Works off one row; False if it waits, and what follows it has to wait too."""
        ledger = Ledger()
        try:
            if lane.rows > 1 and work.kind in DOMAINS:
                ready = await keep_verbatim(self._resources, self._space, [work])
            else:
                ready = await HANDLERS[work.kind](self._resources, self._space, work, ledger)
            self._tally.count([work], await self._settling.finish([work], ready, ledger))
        except LeaseLost:
            await self._settling.count(ledger)
            return False
        except Contended as error:
            await self._settling.give_back([work], str(error), ledger)
            return False
        except Exception as error:
            outage = outage_of(error)
            if outage is not None:
                await self._close(lane, [work], outage, ledger)
                return False
            log.info("%s %d failed: %s", work.kind, work.id, without_words(error))
            if not await self._settling.fail(work, error, ledger):
                return False
            self._tally.failed += 1
        return True

    async def _close(self, lane: _Lane, works: Sequence[QueuedWork], outage: str, ledger: Ledger) -> None:
        """Something outside did not answer: the rows wait, and nothing more of this lane is begun."""
        lane.open = False
        self._tally.outage = self._tally.outage or outage
        await self._settling.give_back(works, outage, ledger)

    async def _renew(self) -> None:
        """Keeps the leases of what is being worked on; a lease that can't be renewed runs out."""
        lease_s = self._resources.settings.lease_s

        async def write(tx: SpaceTransaction) -> None:
            works = [work for _, rows in self._jobs.values() for work in rows]
            await renew(tx, works, self._settling.holder, timedelta(seconds=lease_s))

        while True:
            await asyncio.sleep(lease_s / RENEWALS)
            try:
                await self._resources.database.in_space(self._space.id, write)
            except DatabaseUnavailable as error:
                log.info("leases are not renewed: %s", error.message)

    async def _abandon(self) -> None:
        """Ends what still runs and gives its rows back; a query of a frozen database ends at the second cancelling."""
        for job in self._jobs:
            job.cancel()
        rows = [work for _, held in self._jobs.values() for work in held]
        try:
            if self._jobs:
                await asyncio.wait(self._jobs, timeout=ABANDON_S)
            await self._settling.let_go(rows)
        finally:
            for job in self._jobs:
                job.cancel()
                if job.done() and not job.cancelled():
                    job.exception()
