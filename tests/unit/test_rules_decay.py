"""Decay: two rates, a floor, and the same result however often it is worked out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.decay import LEFT_ALONE_DAYS, PER_DAY, UNRETRIEVED_PER_DAY, days_at_each_rate, decayed, regressed
from perdure.rules.salience import boosted

saliences = st.floats(1, 10)
days = st.floats(0, 2000)
usefulnesses = st.floats(0, 1)


@dataclass(frozen=True)
class Life:
    """A memory as the store keeps it; times are days since it was created."""

    salience: float
    usefulness: float = 0.5
    decayed_at: float = 0.0
    regressed_at: float = 0.0
    retrieved_at: float | None = None

    def settle(self, now: float) -> Life:
        """What every write to salience or a clock does first."""
        since, idle = now - self.decayed_at, now - (self.retrieved_at or 0.0)
        return replace(
            self,
            salience=decayed(self.salience, since, now, retrieved=self.retrieved_at is not None),
            usefulness=regressed(self.usefulness, now - self.regressed_at, idle),
            decayed_at=now,
            regressed_at=now,
        )

    def tick(self, now: float) -> Life:
        """What upkeep does: nothing to what was created or retrieved within the last day."""
        alone = now - max(0.0, self.retrieved_at or 0.0) <= LEFT_ALONE_DAYS
        return self if alone else self.settle(now)

    def retrieve(self, now: float) -> Life:
        settled = self.settle(now)
        return replace(settled, salience=boosted(settled.salience), retrieved_at=now)


def lived(life: Life, ticks: list[float], retrievals: list[float], end: float) -> Life:
    """The memory at `end`, with ticks and retrievals in the order of their times."""
    moments = sorted([(at, "tick") for at in ticks if at < end] + [(at, "retrieve") for at in retrievals if at < end])
    for at, what in moments:
        life = life.tick(at) if what == "tick" else life.retrieve(at)
    return life.settle(end)


def test_half_lives_are_those_of_the_mission() -> None:
    assert decayed(8.0, 29.79, 29.79, retrieved=True) == pytest.approx(4.0, abs=0.001)
    assert decayed(8.0, 14.72, 200.0, retrieved=False) == pytest.approx(4.0, abs=0.001)


@pytest.mark.parametrize(("salience", "after"), [(5.0, 41.3), (10.0, 56.0)])
def test_what_was_never_retrieved_reaches_the_floor_when_it_should(salience: float, after: float) -> None:
    assert decayed(salience, after - 0.1, after - 0.1, retrieved=False) > 1.0
    assert decayed(salience, after + 0.05, after + 0.05, retrieved=False) == 1.0


@pytest.mark.parametrize(("count", "usefulness"), [(1, 0.073), (14, 0.281), (48, 0.462)])
def test_low_usefulness_comes_back_as_the_mission_has_it(count: int, usefulness: float) -> None:
    assert regressed(0.05, count, 30 + count) == pytest.approx(usefulness, abs=0.0006)


def test_usefulness_stays_for_thirty_days_after_a_retrieval() -> None:
    assert regressed(0.05, 30, 30) == pytest.approx(0.05, abs=1e-12)
    assert regressed(0.9, 40, 31) == pytest.approx(0.88)


def test_nothing_jumps_at_the_fourteenth_day() -> None:
    before, after = (decayed(7.0, at, at, retrieved=False) for at in (14 - 1e-6, 14 + 1e-6))
    assert before == pytest.approx(after, abs=1e-5)
    assert decayed(7.0, 15, 15, retrieved=False) == pytest.approx(7.0 * PER_DAY**14 * UNRETRIEVED_PER_DAY)


@given(st.floats(-100, 3000), days, st.booleans())
def test_the_two_rates_share_the_time_between_them(since: float, age: float, retrieved: bool) -> None:
    usual, fast = days_at_each_rate(since, age, retrieved=retrieved)
    assert usual >= 0
    assert fast >= 0
    assert usual + fast == pytest.approx(max(0.0, since))
    assert fast == 0 or not retrieved


@given(saliences, days, days, st.booleans())
def test_decay_never_raises_and_never_leaves_the_range(
    salience: float, since: float, age: float, retrieved: bool
) -> None:
    assert 1.0 <= decayed(salience, since, age, retrieved=retrieved) <= salience


@given(usefulnesses, days, days)
def test_usefulness_goes_towards_the_middle_and_never_across(usefulness: float, since: float, idle: float) -> None:
    after = regressed(usefulness, since, idle)
    assert abs(after - 0.5) <= abs(usefulness - 0.5)
    assert (after - 0.5) * (usefulness - 0.5) >= 0


@given(saliences, usefulnesses, st.lists(days, max_size=60), st.lists(days, max_size=6), days)
def test_ticks_at_any_times_between_retrievals_end_at_the_same_values(
    salience: float, usefulness: float, ticks: list[float], retrievals: list[float], end: float
) -> None:
    life = Life(salience, usefulness)
    ticked, untouched = (lived(life, at, retrievals, end) for at in (ticks, []))
    assert ticked.salience == pytest.approx(untouched.salience, rel=1e-9)
    assert ticked.usefulness == pytest.approx(untouched.usefulness, rel=1e-9, abs=1e-12)
    assert ticked.retrieved_at == untouched.retrieved_at


@pytest.mark.parametrize("cadence", [1 / 24, 1.0, 7.0, 365.0])
def test_hourly_or_yearly_is_all_the_same(cadence: float) -> None:
    retrievals = [3.3, 3.9, 40.0, 41.2, 300.0]
    ticks = [number * cadence for number in range(1, int(730 / cadence))]
    life, end = Life(9.0, 0.05), 365.0
    assert lived(life, ticks, retrievals, end).salience == pytest.approx(lived(life, [], retrievals, end).salience)
    assert lived(life, ticks, retrievals, end).usefulness == pytest.approx(lived(life, [], retrievals, end).usefulness)


@given(saliences, saliences, st.lists(days, max_size=20), st.lists(days, max_size=4), days)
def test_the_order_of_equal_age_and_equal_history_never_flips(
    one: float, other: float, ticks: list[float], retrievals: list[float], end: float
) -> None:
    less, more = (lived(Life(each), ticks, retrievals, end).salience for each in sorted((one, other)))
    assert less <= more
