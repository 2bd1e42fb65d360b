"""Decay: what salience and usefulness are after time in which nobody asked for a memory.

Both are functions of elapsed time alone, so that it makes no difference how often they are worked out: twice half a
year is once a year. `store/decay.py` says the same in SQL.
"""

from __future__ import annotations

import math
from typing import Final

from perdure.rules.salience import LOWEST

PER_DAY: Final = 0.977
"""What is left of salience after a day (mission: 0.977, a half-life of 29.8 days)."""
UNRETRIEVED_PER_DAY: Final = 0.954
"""The same for what was never retrieved, from `UNRETRIEVED_AGE_DAYS` on (mission: 0.954, half-life 14.7 days)."""
UNRETRIEVED_AGE_DAYS: Final = 14.0
"""Days of age up to which a memory that was never retrieved decays like any other (mission: 14)."""
LEFT_ALONE_DAYS: Final = 1.0
"""A tick leaves alone what was created or retrieved so many days ago or less (mission: 1); what it would have taken is
taken later. It spares the write, and changes no result."""

USEFULNESS_CENTRE: Final = 0.5
"""What usefulness is before anybody knows, and goes back to."""
REGRESSION_PER_DAY: Final = 0.05
"""The part of its distance to the centre that usefulness loses a day (mission: 5 %, per tick of no given length)."""
REGRESSION_IDLE_DAYS: Final = 30.0
"""Days without a retrieval after which that begins (mission: 30)."""


def days_at_each_rate(since_days: float, age_days: float, *, retrieved: bool) -> tuple[float, float]:
    """How many of the last `since_days` decay at the usual rate, and how many at that of what nobody asked for.

    Args:
        since_days: days since decay was last worked out; below 0, after a clock was set back, counts as none.
        age_days: days since the memory was created.
        retrieved: whether it was ever retrieved.
    """
    since = max(0.0, since_days)
    fast = 0.0 if retrieved else min(since, max(0.0, age_days - UNRETRIEVED_AGE_DAYS))
    return since - fast, fast


def decayed(salience: float, since_days: float, age_days: float, *, retrieved: bool) -> float:
    """Salience, 1..10, once the decay due is taken off; arguments as for `days_at_each_rate`. Never below 1.

    >>> round(decayed(8.0, 29.79, 400.0, retrieved=True), 2)
    4.0
    """
    usual, fast = days_at_each_rate(since_days, age_days, retrieved=retrieved)
    return max(LOWEST, salience * math.exp(usual * math.log(PER_DAY) + fast * math.log(UNRETRIEVED_PER_DAY)))


def regressed(usefulness: float, since_days: float, idle_days: float) -> float:
    """Usefulness, 0..1, once it has gone back towards 0.5 as far as is due.

    Args:
        since_days: days since this was last worked out; below 0 counts as none.
        idle_days: days since the memory was retrieved, or created if it never was; the first 30 of them don't count.
    """
    due = min(max(0.0, since_days), max(0.0, idle_days - REGRESSION_IDLE_DAYS))
    return USEFULNESS_CENTRE + (usefulness - USEFULNESS_CENTRE) * math.pow(1.0 - REGRESSION_PER_DAY, due)
