"""A circuit breaker as values and functions: when a failing server is left alone, and who may try it again.

Closed: everybody passes. After 3 failures in a row it opens: nobody passes for 2 minutes, twice as long after every
failed try, at most 10. Then it is half-open: one caller passes as the probe. Its permission ends by itself, so a
probe that was cancelled or forgotten can't keep the breaker half-open. Times are seconds of a monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

FAILURES = 3
"""Failures in a row that open it."""
FIRST_REST_S = 120.0
LONGEST_REST_S = 600.0
PROBE_S = 60.0
"""How long a probe is waited for before another caller may be one."""

State = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True)
class Breaker:
    """`openings` counts how often it opened since the last success; `opened` tells one opening from the next."""

    failures: int = 0
    openings: int = 0
    opened: int = 0
    rests_until: float | None = None
    probes: int = 0
    probe_until: float | None = None


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to make one call: in which period between two openings, and as which probe (0: none)."""

    opened: int
    probe: int = 0


def state(breaker: Breaker, now: float) -> State:
    if breaker.rests_until is None:
        return "closed"
    return "open" if now < breaker.rests_until else "half-open"


def wait_s(breaker: Breaker, now: float) -> float:
    """Seconds until a call may pass; 0 if one may pass now."""
    if breaker.rests_until is None:
        return 0.0
    return max(0.0, breaker.rests_until - now, (breaker.probe_until or now) - now)


def admit(breaker: Breaker, now: float) -> tuple[Breaker, Permit | None]:
    """The breaker after a caller asked to pass, and the permit, or None while it rests or a probe is out."""
    if breaker.rests_until is None:
        return breaker, Permit(breaker.opened)
    if wait_s(breaker, now) > 0:
        return breaker, None
    number = breaker.probes + 1
    return replace(breaker, probes=number, probe_until=now + PROBE_S), Permit(breaker.opened, number)


def succeeded(breaker: Breaker) -> Breaker:
    """The server answered, whoever asked: closed, and the next rest is short again."""
    return Breaker(opened=breaker.opened, probes=breaker.probes)


def failed(breaker: Breaker, permit: Permit, now: float) -> Breaker:
    """A call failed. One that began before the breaker last opened says nothing new."""
    if permit.opened != breaker.opened:
        return breaker
    failures = breaker.failures + 1
    if breaker.rests_until is None and failures < FAILURES:
        return replace(breaker, failures=failures)
    openings = breaker.openings + 1
    rest = min(LONGEST_REST_S, FIRST_REST_S * 2.0 ** (min(openings, 10) - 1))
    return Breaker(failures, openings, breaker.opened + 1, now + rest, breaker.probes, None)


def given_back(breaker: Breaker, permit: Permit) -> Breaker:
    """The call ended without telling anything about the server (cancelled, or it never left)."""
    if permit.probe and permit.probe == breaker.probes:
        return replace(breaker, probe_until=None)
    return breaker
