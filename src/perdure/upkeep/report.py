"""What a tick of upkeep did to a space, or would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from perdure.rules.pruning import Reason
from perdure.types import Id

MOST_LISTED: Final = 1000
"""Pruned memories that a report names; of more it tells the number."""


@dataclass(frozen=True, slots=True)
class PrunedMemory:
    """A memory that went, or would go: superseded for its grace, or faded and never used. The age is in days."""

    id: Id
    summary: str
    reason: Reason
    salience: float
    age_days: float


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """What one tick did to a space, or would do.

    Attributes:
        aged: rows whose salience or usefulness changed with time; a dry run doesn't count them.
        pruned: how many memories went, by reason.
        listed: those of them that this audience may see, 1000 at most.
        retired: how many rows of side tables went, by table; a dry run doesn't look at them.
        awkward: memories that could not be aged or pruned; the log says why.
        dry_run: nothing was done.
        busy: somebody else is at it; nothing was done.
        finished: the tick came to its end in its time; if not, the next one does the rest.
    """

    aged: int = 0
    pruned: Mapping[str, int] = field(default_factory=dict)
    listed: tuple[PrunedMemory, ...] = ()
    retired: Mapping[str, int] = field(default_factory=dict)
    awkward: tuple[Id, ...] = ()
    dry_run: bool = False
    busy: bool = False
    finished: bool = True


@dataclass(slots=True)
class Tally:
    """A report in the making."""

    aged: int = 0
    pruned: Counter[str] = field(default_factory=Counter)
    listed: list[PrunedMemory] = field(default_factory=list)
    retired: Counter[str] = field(default_factory=Counter)
    awkward: list[int] = field(default_factory=list)

    def report(self, *, dry_run: bool, finished: bool) -> UpkeepReport:
        return UpkeepReport(
            self.aged,
            dict(sorted(self.pruned.items())),
            tuple(self.listed[:MOST_LISTED]),
            dict(sorted((+self.retired).items())),
            tuple(sorted(self.awkward)),
            dry_run=dry_run,
            finished=finished,
        )
