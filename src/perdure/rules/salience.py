"""Salience: how much a memory matters, 1..10."""

from __future__ import annotations

import math
from typing import Final

LOWEST: Final = 1.0
HIGHEST: Final = 10.0
DEFAULT: Final = 5.0
BOOST: Final = 0.3
"""The share of the boost that a memory of salience 0 would get at one retrieval (the mission's number)."""

ACCEPTED: Final = "it has to be a number from 1 to 10, or from 11 to 100 as a percentage"
"""The limit that an error about a salience names."""

_LOWEST_PERCENT: Final = 11.0
_HIGHEST_PERCENT: Final = 100.0


def clamp(value: float) -> float:
    """`value` moved into 1..10; what is not a number counts as lowest."""
    return min(HIGHEST, max(LOWEST, value)) if not math.isnan(value) else LOWEST


def read_salience(value: object) -> float | None:
    """The salience that a caller means: 1..10 as it is, 11..100 as a percentage, None for anything else.

    Models like to answer on a scale of a hundred; a number between 10 and 11 belongs to neither scale.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if LOWEST <= value <= HIGHEST:
        return float(value)
    if _LOWEST_PERCENT <= value <= _HIGHEST_PERCENT:
        return value / 10.0
    return None


def boosted(salience: float, times: int = 1) -> float:
    """Salience after `times` retrievals, each adding 0.3·(1 − s/10): closer and closer to 10, never above.

    >>> [round(boosted(3.0, times), 2) for times in (5, 10, 20, 50)]
    [3.99, 4.84, 6.19, 8.47]
    """
    for _ in range(times):
        salience += BOOST * (1.0 - salience / HIGHEST)
    return clamp(salience)
