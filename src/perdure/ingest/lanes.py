"""What a drain takes next: each queue is a lane with as many jobs at a time as the model behind it has slots.

Rows are claimed in the transaction that ends a job, which has the space locked anyway, and in one of its own only to
begin with and where a job came to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from perdure.ingest.asking import asked_by
from perdure.llm import Ledger
from perdure.resources import Resources
from perdure.store.claiming import claim, due
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue, QueuedWork
from perdure.store.spaces import SpaceRow, lock_space
from perdure.store.usage import used_today

BATCH: Final = 32
"""Rows kept verbatim in one transaction."""


@dataclass(slots=True, eq=False)
class Lane:
    """One queue: how many jobs run at a time, how many rows each takes, and whether any more are begun.

    `empty`: nothing was due when it was looked at, and nothing has happened since that could change it. `kept` is room
    for jobs whose rows are being claimed.
    """

    queue: Queue
    jobs: int
    rows: int
    asks: bool
    running: int = 0
    kept: int = 0
    open: bool = True
    empty: bool = False

    @classmethod
    def of(cls, resources: Resources, queue: Queue) -> Lane:
        """Of what the queue's work asks, that with most slots says how much of it runs at a time."""
        models = resources.models
        asked = asked_by(models, queue)
        if queue is Queue.TRIAGE and not asked:
            return cls(queue, jobs=1, rows=BATCH, asks=False)
        return cls(queue, jobs=max((models.slots(site) for site in asked), default=1), rows=1, asks=bool(asked))

    @property
    def free(self) -> int:
        return max(0, self.jobs - self.running - self.kept) if self.open and not self.empty else 0


@dataclass(slots=True)
class Job:
    """Rows of a lane to be worked off one after the other, and what models were asked for it and isn't recorded yet.

    `went_on`: what comes next was taken when it ended.
    """

    lane: Lane
    rows: list[QueuedWork]
    ledger: Ledger = field(default_factory=Ledger)
    went_on: bool = False


class Lanes:
    """The lanes of one drain of one space.

    Args:
        holder: whom leases are for.
        most: no more is taken once so many rows were; None for no end.
        until: nor after this time of the clock's `monotonic`; the first rows are always taken.
    """

    def __init__(
        self, resources: Resources, space: SpaceRow, holder: str, most: int | None, until: float | None
    ) -> None:
        self._resources = resources
        self._space = space
        self._holder = holder
        self._most = most
        self._until = until
        self._taken = 0
        self._all = {queue: Lane.of(resources, queue) for queue in Queue}
        self.left_since: datetime | None = None
        """What was taken in for a model after this moment is left to those who have one."""
        self.spent: str | None = None
        """Why no model may be asked any more today, if so."""

    @property
    def all_ask(self) -> bool:
        return all(lane.asks for lane in self._all.values())

    def next(self, ending: Lane | None = None) -> Next | None:
        """What may be taken now; None if there is no room. `ending` is the lane of a job that ends with it."""
        late = self._until is not None and self._resources.database.clock.monotonic() >= self._until
        if (self._taken and late) or (self._most is not None and self._taken >= self._most):
            return None
        if ending is None and not any(lane.free for lane in self._all.values()):
            return None
        return Next(self, ending)

    def look_again(self, ended: Lane) -> None:
        """A job has ended: what comes next in its conversation is due now, and what is to be asked about a new memory.

        Answered questions bring nothing about: there is more of them only if the last look found more than room.
        """
        if ended.queue is not Queue.FOLLOWUP:
            ended.empty = self._all[Queue.FOLLOWUP].empty = False

    def room(self, ending: Lane | None) -> list[tuple[Lane, int]]:
        """For how many jobs each lane has room, kept from now on until it is given back."""
        if ending is not None:
            self.look_again(ending)
        room = []
        for lane in self._all.values():
            free = lane.free + int(lane is ending and lane.open and not lane.empty)
            if free:
                lane.kept += free
                room.append((lane, free))
        return room

    async def take(self, tx: SpaceTransaction, room: Sequence[tuple[Lane, int]]) -> list[Job]:
        """Claims rows for the lanes that have room; needs the space's lock."""
        settings = self._resources.settings
        self.spent = await self._budget_spent(tx) if any(lane.asks for lane, _ in room) else None
        self._resources.turns[self._space.id] += 1
        jobs: list[Job] = []
        known = await due(tx, [lane.queue for lane, _ in room])
        for lane, free in room:
            if lane.asks and self.spent is not None:
                continue
            single = lane.rows == 1
            rows = await claim(
                tx,
                lane.queue,
                self._holder,
                limit=free if single else lane.rows,
                visibility=timedelta(seconds=settings.lease_s),
                heads=single,
                turn=self._resources.turns[self._space.id],
                known=known[lane.queue],
                left_since=None if lane.asks else self.left_since,
            )
            jobs += [Job(lane, [row]) for row in rows] if single else [Job(lane, rows)] if rows else []
        return jobs

    def begin(self, room: Sequence[tuple[Lane, int]], jobs: Sequence[Job]) -> None:
        """The transaction that took these jobs has committed."""
        for lane, free in room:
            found = sum(job.lane is lane for job in jobs)
            lane.empty = found < free and not (lane.asks and self.spent is not None)
        for job in jobs:
            job.lane.running += 1
            self._taken += len(job.rows)

    async def _budget_spent(self, tx: SpaceTransaction) -> str | None:
        settings = self._resources.settings
        if settings.daily_call_budget is None and settings.daily_token_budget is None:
            return None
        used = await used_today(tx)
        return settings.budget_spent(used.calls, used.tokens)


class Next:
    """What is taken in one transaction, which may run more than once; begun once it has committed."""

    def __init__(self, lanes: Lanes, ending: Lane | None) -> None:
        self._lanes = lanes
        self._ending = ending
        self._room: list[tuple[Lane, int]] = []
        self._jobs: list[Job] = []

    async def take(self, tx: SpaceTransaction) -> None:
        """Claims what there is room for."""
        self.give_up()
        self._room = self._lanes.room(self._ending)
        await lock_space(tx)
        self._jobs = await self._lanes.take(tx, self._room) if self._room else []

    def begin(self) -> list[Job]:
        """The jobs to begin now that they are committed."""
        room, jobs = self._room, self._jobs
        self.give_up()
        self._lanes.begin(room, jobs)
        return jobs

    def give_up(self) -> None:
        """Gives back the room that was kept."""
        for lane, free in self._room:
            lane.kept -= free
        self._room, self._jobs = [], []
