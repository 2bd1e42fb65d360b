"""Pruning: what is forgotten for good, because it faded unused or because newer truth replaced it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Reason = Literal["superseded", "faded"]
"""Why a memory is pruned: superseded for its grace, or faded and never used."""

FADED: Final = 1.0
"""Salience at or below which a memory has faded: the floor of decay (mission: 1)."""
STALE_DAYS: Final = 90.0
"""Age in days beyond which what has faded may go (mission: 90)."""
SUPERSEDED_GRACE_DAYS: Final = 7.0
"""How many days a superseded memory can still be taken back (mission: SUPERSEDED_GRACE_DAYS)."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A memory as far as pruning looks at it. Ages are in days.

    Attributes:
        superseded_days: since when it has been superseded; None for a live one.
        exempt: pinned, identity, or what a live memory rests on.
    """

    salience: float
    age_days: float
    retrieval_count: int
    superseded_days: float | None = None
    exempt: bool = False


def why_pruned(
    memory: Standing, *, stale_days: float = STALE_DAYS, grace_days: float = SUPERSEDED_GRACE_DAYS
) -> Reason | None:
    """Why this memory goes; None for one that stays.

    It goes when it was superseded for the grace, whatever its salience; or when it has faded, is stale, and was
    superseded or never retrieved.
    """
    if memory.exempt:
        return None
    if memory.superseded_days is not None and memory.superseded_days >= grace_days:
        return "superseded"
    unused = memory.superseded_days is not None or memory.retrieval_count == 0
    return "faded" if memory.salience <= FADED and memory.age_days > stale_days and unused else None
