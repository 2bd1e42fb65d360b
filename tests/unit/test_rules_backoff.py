"""Back-off: later tries wait longer, never too long, and not all at the same moment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.backoff import LONGEST_S, retry_delay_s


def test_waits_double_from_five_seconds_up_to_ten_minutes() -> None:
    assert [retry_delay_s(attempts, 0.5) for attempts in (1, 2, 3, 20, 10_000)] == [5.0, 10.0, 20.0, 600.0, 600.0]


@given(st.integers(1, 200), st.floats(0, 1))
def test_jitter_spreads_by_half_and_no_more(attempts: int, jitter: float) -> None:
    middle = retry_delay_s(attempts, 0.5)
    assert retry_delay_s(attempts, jitter) == pytest.approx(middle, rel=0.5)
    assert retry_delay_s(attempts, jitter) <= 1.5 * LONGEST_S
