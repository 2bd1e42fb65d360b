"""Where the time comes from: the only module that asks the operating system what time it is.

Store functions use the transaction's `now`, which is the database's own time in production, so that two hosts with
different clocks agree. A test or a simulation passes a `SimulatedClock` and lives a year in a second.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """A source of wall-clock time and of a monotonic time for deadlines."""

    def now(self) -> datetime | None:
        """The time to use as now, or None to let the database's clock decide."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back; for measuring durations only."""
        ...


class DatabaseClock:
    """Production: `now` is whatever the database says, read once per transaction."""

    def now(self) -> datetime | None:
        return None

    def monotonic(self) -> float:
        return time.perf_counter()


class SimulatedClock:
    """A clock that stands still until it is moved; durations are real."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("a SimulatedClock starts at a time with a zone")
        self._now = start.astimezone(UTC)

    def now(self) -> datetime | None:
        return self._now

    def monotonic(self) -> float:
        return time.perf_counter()

    def advance(self, step: timedelta) -> None:
        """Move the clock by `step`; a negative step simulates a clock that was set back."""
        self._now += step


def wall_clock() -> datetime:
    """The host's own time in UTC, for what happens where no database is at hand: log names, cache ages, progress."""
    return datetime.now(UTC)
