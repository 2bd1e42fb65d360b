"""A scripted life through the real database: weeks of it in every run of the tests, the whole year in the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perdure.simulation import Invariant, Year, invariants, live_through, scripted_life
from perdure.simulation.year import Sample

if TYPE_CHECKING:
    from pathlib import Path


async def lived(days: int, directory: Path) -> Year:
    return await live_through(scripted_life(days), directory, progress=lambda _: None)


def broken(year: Year) -> list[Invariant]:
    return [one for one in invariants(year) if not one.holds]


async def test_weeks_of_a_life_keep_every_promise(tmp_path: Path) -> None:
    year = await lived(10, tmp_path)
    assert broken(year) == []
    assert year.conclusions["consolidation"] >= 1
    assert year.card[-1] == {"name": "Ada Berglund", "location": "Boston", "occupation": "nurse"}


@pytest.mark.long
async def test_a_year_of_a_life_keeps_every_promise(tmp_path: Path) -> None:
    year = await lived(365, tmp_path)
    assert broken(year) == []
    assert len(invariants(year)) == 12


def sample(day: int, live: int, *, stale: int = 0, overdue: int = 0) -> Sample:
    return Sample(day, live, 0, {}, 0, 0, overdue, stale)


def test_a_broken_promise_is_told() -> None:
    growing = [sample(day, 100 + day) for day in range(0, 365, 7)]
    year = Year(365, samples=growing, card=[{"name": "Mallory"}], truths=[{"name": "Ada"}], rises=1)
    year.samples[-1] = sample(364, 464, stale=1, overdue=1)
    year.found["allergy on the last day"] = False
    assert len(broken(year)) == 6
