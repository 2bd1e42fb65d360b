"""What must hold in any life, however long: checked after it was lived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Final

from perdure.rules.pruning import STALE_DAYS
from perdure.simulation.life import AWAY
from perdure.simulation.year import Year

LEVEL: Final = 1.25
"""How much larger a store that has levelled off may get."""
LONG: Final = 310
"""Days of a life of which that can be told."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A promise, whether it was kept, and what was seen."""

    name: str
    holds: bool
    seen: str


def invariants(year: Year) -> Sequence[Invariant]:
    """All promises; those that need a longer life than was lived are left out."""
    return [*_findings(year), *_forgetting(year), *_truth(year), *_levelling(year)]


def _findings(year: Year) -> list[Invariant]:
    return [
        Invariant(f"found, never asked about before: {what}", found, "found" if found else "not found")
        for what, found in year.found.items()
    ]


def _forgetting(year: Year) -> list[Invariant]:
    stale = max((sample.stale for sample in year.samples), default=0)
    overdue = max((sample.overdue for sample in year.samples), default=0)
    return [
        Invariant("noise is gone", stale == 0, f"{stale} mails or remarks outlived their time"),
        Invariant("what was superseded is gone after its grace", overdue == 0, f"{overdue} were left beyond it"),
        Invariant("no salience rises by itself", year.rises == 0, f"{year.rises} rose"),
    ]


def _truth(year: Year) -> list[Invariant]:
    wrong = [day for day, (card, truth) in enumerate(zip(year.card, year.truths, strict=True)) if card != truth]
    back = sum(_changes(year.card, name) > _changes(year.truths, name) for name in ("name", "location", "occupation"))
    return [
        Invariant("identity holds the newest truth every evening", not wrong, f"{len(wrong)} evenings it didn't"),
        Invariant("identity never goes back and forth by itself", back == 0, f"{back} fields did"),
    ]


def _changes(evenings: Sequence[Mapping[str, str]], name: str) -> int:
    values = [evening.get(name) for evening in evenings]
    return sum(one != other for one, other in pairwise(values))


def _levelling(year: Year) -> list[Invariant]:
    """Compares days before which nobody was away: a store shrinks while nobody speaks, and then fills up again."""
    if year.days < LONG:
        return []
    sizes = {sample.day: sample.live + sample.superseded for sample in year.samples if _settled(sample.day)}
    left = min(first for first, _ in AWAY)
    before = mean(size for day, size in sizes.items() if day < left)
    last = mean(size for day, size in sizes.items() if day >= left)
    told = f"{before:.0f} rows before the months of absence, {last:.0f} from ninety days after them on"
    return [Invariant("the store's size levels off", last <= LEVEL * before, told)]


def _settled(day: int) -> bool:
    """Whether somebody has spoken on each of the ninety days before."""
    return day >= STALE_DAYS and not any(first <= day < last + STALE_DAYS for first, last in AWAY)
