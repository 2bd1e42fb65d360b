"""Whether one server may be asked now: its breaker, and why it failed the last time."""

from __future__ import annotations

from perdure.clock import Clock
from perdure.rules import breaker as circuit
from perdure.rules.breaker import Permit, State


class Health:
    """The breaker of one endpoint and its clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._breaker = circuit.Breaker()
        self.last_failure = ""

    @property
    def state(self) -> State:
        return circuit.state(self._breaker, self._clock.monotonic())

    def resting(self) -> str:
        """Why nobody may ask now; empty if somebody may."""
        wait = circuit.wait_s(self._breaker, self._clock.monotonic())
        why = self.last_failure or "failed"
        return f"is left alone for another {wait:.0f} s after failures; the last time it {why}" if wait > 0 else ""

    def admit(self) -> Permit | None:
        """Leave for one call, to be ended by `end`; None while the server rests or is being tried by another call."""
        self._breaker, permit = circuit.admit(self._breaker, self._clock.monotonic())
        return permit

    def succeeded(self) -> None:
        self._breaker = circuit.succeeded(self._breaker)
        self.last_failure = ""

    def failed(self, permit: Permit, reason: str) -> None:
        self._breaker = circuit.failed(self._breaker, permit, self._clock.monotonic())
        self.last_failure = reason

    def end(self, permit: Permit) -> None:
        """The call is over, whatever became of it."""
        self._breaker = circuit.given_back(self._breaker, permit)
