"""A clock that is moved as a whole: what is measured by it passes too, so that breakers rest and close in no time."""

from __future__ import annotations

from datetime import datetime, timedelta

from perdure import SimulatedClock


class SkippingClock(SimulatedClock):
    """As a `SimulatedClock`; `advance` moves its monotonic time, too, unless it goes back."""

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self._skipped = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._skipped

    def advance(self, step: timedelta) -> None:
        super().advance(step)
        self._skipped += max(0.0, step.total_seconds())
