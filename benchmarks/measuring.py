"""Durations and what to say of many of them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from perdure.clock import DatabaseClock

CLOCK: Final = DatabaseClock()


@dataclass(slots=True)
class Took:
    """Filled when the block that it measures has ended: seconds by the clock, and CPU seconds of this process."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def ms(self) -> float:
        return self.wall_s * 1000


@contextmanager
def measured() -> Iterator[Took]:
    """Measures a block."""
    took = Took()
    wall, cpu = CLOCK.monotonic(), time.process_time()
    yield took
    took.wall_s, took.cpu_s = CLOCK.monotonic() - wall, time.process_time() - cpu


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0..1) of the values don't exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summary(values: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 of durations, rounded to microseconds where they are milliseconds."""
    return {f"p{round(100 * share)}": round(percentile(values, share), 3) for share in (0.5, 0.95, 0.99)}


def growth(small: tuple[int, float], large: tuple[int, float]) -> float:
    """The exponent by which time grows with size between two (size, time): 1 is linear, 0 not at all."""
    return math.log(large[1] / small[1]) / math.log(large[0] / small[0])


def say(line: str) -> None:
    """A line of progress, apart from the results."""
    print(line, file=sys.stderr, flush=True)
