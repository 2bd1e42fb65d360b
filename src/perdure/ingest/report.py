"""What a drain tells of itself: what it settled, what still waits, and what for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from perdure.store.queue import Backlog, Queue, QueuedWork
from perdure.types import Outcome, Pending


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many rows wait for one `reason`, and until when the first of them does, where that is known.

    `leased`: another worker holds them, or held them and was cut off. `backing_off`: they failed, or something was out
    of reach, and are tried again. `due`: nothing of their own holds them up; an earlier one of their conversation
    does, or what the report names as `outage`.
    """

    reason: str
    count: int
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class DrainReport:
    """What one drain did.

    `done` are exchanges, mails, events, texts and archives worked off, long ones in pieces; `failed` went to
    failed_operations, `waiting` still wait, and `waits` says what for. `outage` is what was out of reach or over the
    daily budget. `outcomes` counts what became of what is `done`, by status (`stored`, `merged`, `superseded`,
    `nothing`). `followed_up` are questions about stored memories (quality, contradiction, transition) that were
    settled; `followed_up_outcomes` what became of those.
    """

    done: int
    failed: int
    waiting: int
    outage: str | None = None
    followed_up: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    followed_up_outcomes: Mapping[str, int] = field(default_factory=dict)
    waits: tuple[Waiting, ...] = ()

    def __add__(self, later: DrainReport) -> DrainReport:
        """Both drains as one; what waits and what is out of reach is told by the later one."""
        return DrainReport(
            self.done + later.done,
            self.failed + later.failed,
            later.waiting,
            later.outage,
            self.followed_up + later.followed_up,
            summed(self.outcomes, later.outcomes),
            summed(self.followed_up_outcomes, later.followed_up_outcomes),
            later.waits,
        )


@dataclass(slots=True)
class Tally:
    """What was done so far."""

    done: int = 0
    failed: int = 0
    followed_up: int = 0
    outage: str | None = None
    outcomes: Counter[str] = field(default_factory=Counter)
    followed_up_outcomes: Counter[str] = field(default_factory=Counter)

    def count(self, works: Sequence[QueuedWork], outcomes: Sequence[Outcome]) -> None:
        """Counts rows of one job, which are all of one queue, and what became of them."""
        if any(isinstance(outcome, Pending) for outcome in outcomes):
            # It came back in pieces: each is counted when it is done.
            return
        statuses = [outcome.status for outcome in outcomes]
        if works[0].queue is Queue.FOLLOWUP:
            self.followed_up += len(works)
            self.followed_up_outcomes.update(statuses)
        else:
            self.done += len(works)
            self.outcomes.update(statuses)

    def report(self, left: Backlog, paused: str | None) -> DrainReport:
        """The report of a drain that leaves so much; `paused` is why nothing more of it is begun now."""
        return DrainReport(
            self.done,
            self.failed,
            left.pending,
            self.outage or (paused if left.pending else None),
            self.followed_up,
            summed(self.outcomes),
            summed(self.followed_up_outcomes),
            _waits(left),
        )


def summed(*counts: Mapping[str, int]) -> dict[str, int]:
    """The sum of several counts, by name."""
    return dict(sorted(sum(map(Counter, counts), Counter()).items()))


def _waits(left: Backlog) -> tuple[Waiting, ...]:
    waits = (
        Waiting("leased", left.leased, left.leased_until),
        Waiting("backing_off", left.backing_off, left.backing_off_until),
        Waiting("due", left.pending - left.leased - left.backing_off),
    )
    return tuple(one for one in waits if one.count)
