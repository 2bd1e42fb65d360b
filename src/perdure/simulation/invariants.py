"""What must hold in any life, however long: checked after it was lived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Final

from perdure.simulation.year import Year

LEVEL: Final = 1.25
"""How much larger the store may be in the last quarter than in the two before."""
LONG: Final = 300
"""Days after which a store has to have levelled off."""


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
    if year.days < LONG:
        return []
    sizes = [sample.live + sample.superseded for sample in year.samples]
    quarter = len(sizes) // 4
    before, last = mean(sizes[quarter : 3 * quarter]), mean(sizes[3 * quarter :])
    told = f"{before:.0f} rows in the middle half of the year, {last:.0f} in its last quarter"
    return [Invariant("the store's size levels off", last <= LEVEL * before, told)]
