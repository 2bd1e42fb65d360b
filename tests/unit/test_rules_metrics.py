"""Retrieval metrics, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.metrics import all_at, mean, ndcg_at, percentile, recall_at, reciprocal_rank

RANKED = ["d", "a", "x", "b", "y"]


def test_recall_counts_the_share_among_the_first_k() -> None:
    assert recall_at(2, RANKED, {"a", "b"}) == 0.5
    assert recall_at(5, RANKED, ["a", "b", "a"]) == 1.0
    assert recall_at(5, [], {"a"}) == 0.0


def test_all_at_wants_every_piece_of_evidence() -> None:
    assert all_at(2, RANKED, {"a", "b"}) == 0.0
    assert all_at(4, RANKED, {"a", "b"}) == 1.0


def test_reciprocal_rank_looks_at_the_first_hit_only() -> None:
    assert reciprocal_rank(RANKED, {"b", "a"}) == 0.5
    assert reciprocal_rank(RANKED, {"z"}) == 0.0


def test_ndcg_of_a_known_ranking() -> None:
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert ndcg_at(10, RANKED, {"a", "b"}) == pytest.approx(expected)
    assert ndcg_at(1, ["a"], {"a", "b"}) == 1.0
    assert ndcg_at(1, RANKED, {"a"}) == 0.0


def test_a_query_without_evidence_has_no_score() -> None:
    for metric in (lambda: recall_at(5, RANKED, set()), lambda: reciprocal_rank(RANKED, [])):
        with pytest.raises(ValueError, match="without relevant"):
            metric()


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 50) == 2.5
    assert percentile([5.0], 95) == 5.0
    assert [percentile(range(101), q) for q in (0, 95, 100)] == [0, 95, 100]
    assert percentile([0.0, 10.0], 95) == pytest.approx(9.5)


@pytest.mark.parametrize(("values", "q"), [([], 50), ([1.0], 101), ([1.0], -1)])
def test_impossible_percentiles_are_refused(values: list[float], q: float) -> None:
    with pytest.raises(ValueError, match=r"percentile|0\.\.100"):
        percentile(values, q)


def test_the_mean_of_nothing_is_zero() -> None:
    assert mean([]) == 0.0
    assert mean([1.0, 0.0]) == 0.5


@given(st.lists(st.integers(0, 30), unique=True), st.sets(st.integers(0, 30), min_size=1), st.integers(1, 40))
def test_every_metric_lies_between_zero_and_one(ranked: list[int], relevant: set[int], k: int) -> None:
    for value in (
        recall_at(k, ranked, relevant),
        all_at(k, ranked, relevant),
        reciprocal_rank(ranked, relevant),
        ndcg_at(k, ranked, relevant),
    ):
        assert 0.0 <= value <= 1.0 + 1e-12
