"""Salience: its range, what callers may write, and how retrieval raises it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.salience import boosted, clamp, read_salience


@pytest.mark.parametrize(("value", "salience"), [(1, 1.0), (10, 10.0), (7.5, 7.5), (11, 1.1), (75, 7.5), (100, 10.0)])
def test_up_to_ten_is_a_salience_and_up_to_a_hundred_a_percentage(value: float, salience: float) -> None:
    assert read_salience(value) == pytest.approx(salience)


@pytest.mark.parametrize("value", [0, 0.5, -3, 10.5, 101, float("nan"), float("inf"), True, "7", None, [5]])
def test_anything_else_is_no_salience(value: object) -> None:
    assert read_salience(value) is None


def test_five_ten_twenty_and_fifty_boosts_give_the_known_values() -> None:
    assert [round(boosted(3.0, times), 2) for times in (5, 10, 20, 50)] == [3.99, 4.84, 6.19, 8.47]
    assert boosted(3.0, 0) == 3.0


@given(st.floats(1, 10), st.integers(0, 200))
def test_a_boost_never_lowers_and_never_leaves_the_range(salience: float, times: int) -> None:
    assert salience <= boosted(salience, times) <= 10.0


@given(st.floats())
def test_clamping_always_gives_a_salience(value: float) -> None:
    assert 1.0 <= clamp(value) <= 10.0
