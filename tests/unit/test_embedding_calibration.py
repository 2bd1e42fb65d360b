"""The shared scale of similarity, and thresholds for families that nobody measured."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.embedding.families import E5_CALIBRATION, REFERENCE_CALIBRATION, USE_CALIBRATION
from perdure.rules.calibration import MIN_MEMORIES, MIN_PAIRS, NOISE_SPREADS, Calibration, calibrate, is_due, measure

SHIPPED = (E5_CALIBRATION, USE_CALIBRATION, REFERENCE_CALIBRATION)


def cosines(mean: float, spread: float, count: int = 400) -> list[float]:
    rng = random.Random(7)
    return [min(1.0, max(-1.0, rng.gauss(mean, spread))) for _ in range(count)]


@pytest.mark.parametrize("of_query", [False, True])
@pytest.mark.parametrize("calibration", SHIPPED)
def test_unrelated_is_zero_and_identical_is_one(calibration: Calibration, of_query: bool) -> None:
    zero = calibration.query_mean if of_query else calibration.unrelated_mean
    one = calibration.query_identical if of_query else 1.0
    assert calibration.calibrated_similarity(zero, of_query=of_query) == pytest.approx(0.0)
    assert calibration.calibrated_similarity(one, of_query=of_query) == pytest.approx(1.0)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_the_scale_keeps_the_order_and_stays_between_minus_one_and_one(a: float, b: float) -> None:
    low, high = sorted((a, b))
    for calibration in SHIPPED:
        first, second = calibration.calibrated_similarity(low), calibration.calibrated_similarity(high)
        assert -1 <= first <= second <= 1


@given(st.floats(0, 1), st.booleans())
def test_cosine_at_is_the_way_back(similarity: float, of_query: bool) -> None:
    cosine = E5_CALIBRATION.cosine_at(similarity, of_query=of_query)
    assert E5_CALIBRATION.calibrated_similarity(cosine, of_query=of_query) == pytest.approx(similarity, abs=1e-9)


@pytest.mark.parametrize(
    "calibration", [*SHIPPED, calibrate(measure(cosines(0.3, 0.1))), calibrate(measure(cosines(0.8, 0.03)))]
)
def test_thresholds_stand_in_the_missions_order(calibration: Calibration) -> None:
    """Nearest first: same episode, same cluster, contradiction candidates, related to a transition, unrelated."""
    episode, cluster = 1 - calibration.episode_distance, calibration.cluster_similarity
    contradiction, transition = 1 - calibration.contradiction_distance, 1 - calibration.transition_distance
    assert 1 > episode > cluster >= contradiction > transition > calibration.unrelated_mean
    assert calibration.fact_similarity > calibration.query_mean + calibration.query_spread
    assert calibration.unrelated.noise > calibration.query_mean


def test_an_unknown_family_is_calibrated_where_its_unrelated_texts_lie() -> None:
    found = measure(cosines(0.6, 0.05), cosines(0.4, 0.04), cosines(0.9, 0.01))
    assert (found.document_mean, found.document_spread) == (pytest.approx(0.6, abs=0.01), pytest.approx(0.05, abs=0.01))
    assert (found.query_mean, found.query_spread) == (pytest.approx(0.4, abs=0.01), pytest.approx(0.04, abs=0.01))
    assert found.query_identical == pytest.approx(0.9, abs=0.01)
    assert found.noise == pytest.approx(0.4 + NOISE_SPREADS * 0.04, abs=0.02)
    assert calibrate(found).unrelated == found


def test_without_queries_they_lie_where_memories_do() -> None:
    found = measure(cosines(0.6, 0.05))
    assert (found.query_mean, found.query_spread) == (found.document_mean, found.document_spread)
    assert found.query_identical == 1


def test_duplicates_among_a_spaces_own_memories_hardly_move_the_calibration() -> None:
    clean, dirty = measure(cosines(0.6, 0.05)), measure(cosines(0.6, 0.05) + [1.0] * 30)
    assert abs(clean.document_mean - dirty.document_mean) < 0.01
    assert abs(calibrate(clean).contradiction_distance - calibrate(dirty).contradiction_distance) < 0.01


@given(st.lists(st.floats(-1, 1), min_size=MIN_PAIRS, max_size=MIN_PAIRS + 20), st.floats(-1, 1))
def test_whatever_the_memories_are_the_thresholds_are_possible_cosines(pairs: list[float], own: float) -> None:
    unrelated = measure(pairs, pairs, [own])
    found = calibrate(unrelated)
    for threshold in (unrelated.noise, found.cluster_similarity, found.fact_similarity, found.document_similarity):
        assert -1 <= threshold <= 1
    for distance in (found.contradiction_distance, found.episode_distance, found.transition_distance):
        assert 0 < distance <= 2
    assert unrelated.query_spread > 0
    assert unrelated.query_identical > unrelated.query_mean


@pytest.mark.parametrize("pairs", [[], [0.5] * (MIN_PAIRS - 1), [float("nan")] * MIN_PAIRS, [2.0] * MIN_PAIRS])
def test_too_few_pairs_or_no_cosines_calibrate_nothing(pairs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"pairs are too few|cosine lies"):
        measure(pairs)


def test_a_space_is_measured_once_it_holds_enough_and_again_when_it_has_doubled() -> None:
    assert [is_due(count, None) for count in (0, MIN_MEMORIES - 1, MIN_MEMORIES, 10_000)] == [False, False, True, True]
    assert [is_due(count, 60) for count in (60, 119, 120)] == [False, False, True]
    assert not is_due(20, 5)
