"""When an assistant thinks about what it remembers: after enough news and in a lull, or at the latest after hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

COGNITIVE_BUFFER_THRESHOLD: Final = 20
"""More new memories than this are reason enough in a lull (mission: 20)."""
LULL_DURATION: Final = timedelta(minutes=20)
"""How long nobody has spoken in a lull (mission: 20 min)."""
COGNITIVE_CEILING: Final = timedelta(hours=4)
"""After this long a single new memory is reason enough, lull or not (mission: 4 h)."""
REFLECTION_THRESHOLD: Final = 50
"""New memories since the last reflection that are reason for another (mission: 50)."""
REFLECTION_LEAST: Final = 5
"""Memories without which there is nothing to reflect on (mission: 5)."""

Trigger = Literal["asked", "volume", "ceiling", "start", "shift"]
"""Why a run is made; `start` with the worker, `shift` after an upheaval: both only look at who the user is."""


@dataclass(frozen=True, slots=True)
class Triggers:
    """The limits, as settings have them."""

    buffer: int = COGNITIVE_BUFFER_THRESHOLD
    lull: timedelta = LULL_DURATION
    ceiling: timedelta = COGNITIVE_CEILING


def run_due(
    *, new: int, idle: timedelta, since_last: timedelta, triggers: Triggers = Triggers()
) -> Literal["volume", "ceiling"] | None:
    """Why a cognitive run is due now; None if it isn't.

    Args:
        new: live memories that no run has looked at yet, without what runs wrote themselves.
        idle: since anybody last said something in this space.
        since_last: since the last run, or since the first memory if there was none.
    """
    if new > triggers.buffer and idle >= triggers.lull:
        return "volume"
    return "ceiling" if new > 0 and since_last >= triggers.ceiling else None


def reflection_due(*, new: int, in_all: int) -> bool:
    """Whether there is enough to reflect on: `new` since the last reflection, `in_all` in what it would read."""
    return new >= REFLECTION_THRESHOLD and in_all >= REFLECTION_LEAST
