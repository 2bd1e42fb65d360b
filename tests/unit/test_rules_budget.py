"""A day's budget of background calls and tokens."""

from __future__ import annotations

import pytest

from perdure.rules.budget import budget_spent


def test_below_both_limits_work_goes_on() -> None:
    assert budget_spent(calls=9, tokens=99, most_calls=10, most_tokens=100) is None


@pytest.mark.parametrize(("calls", "tokens", "what"), [(10, 0, "10 background calls"), (0, 100, "100 background tok")])
def test_a_limit_that_is_reached_is_named(calls: int, tokens: int, what: str) -> None:
    assert what in str(budget_spent(calls=calls, tokens=tokens, most_calls=10, most_tokens=100))


def test_no_limit_is_no_limit() -> None:
    assert budget_spent(calls=10**9, tokens=10**12, most_calls=None, most_tokens=None) is None
