"""A step beyond what was found costs a fifth, and leads nowhere by names that everybody carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.hop import HOP_SHARE, hopped, too_common

similarities = st.floats(-1, 1)


def test_a_memory_is_as_near_as_what_led_to_it_less_a_fifth() -> None:
    assert hopped(0.1, 0.5) == pytest.approx(0.4)
    assert hopped(0.6, 0.5) == pytest.approx(0.48)


@given(similarities, similarities)
def test_the_step_lifts_nothing_above_what_led_to_it_or_what_it_is(own: float, leading: float) -> None:
    assert hopped(own, leading) <= max(own, HOP_SHARE * leading, HOP_SHARE * own)


@given(similarities)
def test_what_is_less_than_unrelated_is_not_lifted_by_being_cut(own: float) -> None:
    assert hopped(own, -1) <= max(own, 0)


@pytest.mark.parametrize(("memories", "most"), [(0, 5), (10, 5), (100, 5), (400, 20), (4000, 200), (1_000_000, 200)])
def test_a_name_of_a_twentieth_of_all_memories_or_of_200_is_common(memories: int, most: int) -> None:
    assert too_common(memories) == most
