"""The ranking formula: the mission's numbers, and the sign of every signal."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.profiles import PROFILES as BY_NAME
from perdure.rules.ranking import SEED, Distance, RankingProfile, Signals, TextTerm, rank, recency, relevance
from perdure.rules.turns import TurnWeights

UNIT = st.floats(0, 1)
SIGNALS = st.builds(
    Signals,
    distance=st.floats(0, 2),
    text=UNIT,
    salience=st.floats(1, 10),
    usefulness=UNIT,
    confidence=UNIT,
    age_days=st.floats(-400, 4000),
    retrieval_count=st.integers(0, 10_000),
    entity_match=st.booleans(),
    lent=UNIT,
)
TUNED = RankingProfile(
    "tuned", Distance.CALIBRATED, TextTerm.BM25, text_weight=0.4, distance_weight=0.4, turns=TurnWeights()
)
PROFILES = st.sampled_from([*BY_NAME.values(), TUNED])


def test_seed_is_the_missions_formula_to_the_letter() -> None:
    found = rank(SEED, Signals(0.4, 0.06, 7.0, 0.8, 0.9, 30.0, 4, entity_match=True))
    expected = 0.4 / (1 + 10 * 0.06) - 0.1 * 7 - 0.15 * 0.8 - 0.03 * 0.5 - 0.03 * 0.9 - 0.02 * math.log(4 + 1) - 0.2
    assert found.total == pytest.approx(expected, abs=1e-12)
    assert found.score == -found.total
    assert (SEED.distance, SEED.text, SEED.text_weight, SEED.distance_weight, SEED.turns) == (
        "raw",
        "ts_rank",
        0.0,
        1.0,
        None,
    )


def test_profiles_are_found_by_their_own_name_and_seed_is_one_of_them() -> None:
    assert BY_NAME["seed"] is SEED
    assert all(profile.name == name for name, profile in BY_NAME.items())


@given(PROFILES, SIGNALS)
def test_the_terms_sum_to_the_total(profile: RankingProfile, signals: Signals) -> None:
    found = rank(profile, signals)
    assert found.total == pytest.approx(sum(found.terms.values()), abs=1e-9)
    assert list(found.terms) == [
        "relevance", "text", "salience", "usefulness", "recency", "confidence", "popularity", "entity", "turns",
    ]  # fmt: skip


@given(
    PROFILES,
    SIGNALS,
    st.sampled_from(["text", "salience", "usefulness", "confidence", "retrieval_count"]),
    st.integers(0, 5),
)
def test_more_of_a_good_signal_never_ranks_worse(
    profile: RankingProfile, signals: Signals, name: str, more: int
) -> None:
    better = replace(signals, **{name: getattr(signals, name) + more})
    assert rank(profile, better).total <= rank(profile, signals).total


@given(PROFILES, SIGNALS, st.floats(0, 3000))
def test_newer_never_ranks_worse(profile: RankingProfile, signals: Signals, days: float) -> None:
    older = replace(signals, age_days=signals.age_days + days)
    assert rank(profile, signals).total <= rank(profile, older).total


@given(PROFILES, SIGNALS, st.floats(0, 1))
def test_nearer_never_ranks_worse(profile: RankingProfile, signals: Signals, further: float) -> None:
    assert rank(profile, signals).total <= rank(profile, replace(signals, distance=signals.distance + further)).total


@given(PROFILES, SIGNALS)
def test_a_named_entity_and_what_turns_lend_never_rank_worse(profile: RankingProfile, signals: Signals) -> None:
    without = replace(signals, entity_match=False, lent=0.0)
    assert rank(profile, replace(without, entity_match=True)).total < rank(profile, without).total
    assert rank(profile, replace(without, lent=1.0)).total <= rank(profile, without).total


def test_recency_halves_every_thirty_days_and_is_bounded() -> None:
    assert [recency(age) for age in (0.0, 30.0, 60.0)] == [1.0, 0.5, 0.25]
    assert recency(-10_000.0) == 1.0
    assert recency(3_000_000.0) == 0.0
    assert recency(14.0, half_life_days=7.0) == 0.25


def test_relevance_is_what_the_formula_says_of_distance_and_words() -> None:
    plain = replace(TUNED, text_divisor=0.0)
    for distance, text in ((0.0, 0.0), (0.3, 0.5), (1.2, 0.0)):
        found = rank(plain, Signals(distance, text)).terms
        assert relevance(plain, distance, text) == pytest.approx(0.4 - found["relevance"] - found["text"])
