"""Usefulness: verdicts move it without ever leaving 0..1, and a reply tells by itself when it drew on a memory."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.profiles import PROFILES
from perdure.rules.ranking import RankingProfile, Signals, rank
from perdure.rules.salience import boosted
from perdure.rules.usefulness import after_verdict, cited, draws_on, is_common

profiles = st.sampled_from(list(PROFILES.values()))
verdicts = st.lists(st.sampled_from([True, False, None]), max_size=60)


def test_a_verdict_goes_a_tenth_of_the_way() -> None:
    assert after_verdict(0.5, True) == pytest.approx(0.55)
    assert after_verdict(0.5, False) == pytest.approx(0.45)
    assert after_verdict(0.5, None) == 0.5


@given(st.floats(0, 1), verdicts)
def test_usefulness_never_leaves_its_range(usefulness: float, told: list[bool | None]) -> None:
    for useful in told:
        before, usefulness = usefulness, after_verdict(usefulness, useful)
        assert 0 <= usefulness <= 1
        assert (usefulness - before) * {True: 1, False: -1, None: 0}[useful] >= 0


@given(profiles, st.floats(1, 10), st.floats(0, 1), st.integers(0, 50), verdicts)
def test_feedback_changes_rank_never_by_more_than_its_weight(
    profile: RankingProfile, salience: float, usefulness: float, count: int, told: list[bool | None]
) -> None:
    before = Signals(0.4, salience=salience, usefulness=usefulness, retrieval_count=count)
    for useful in told:
        usefulness = after_verdict(usefulness, useful)
        salience = salience if useful is False else boosted(salience)
    after = Signals(0.4, salience=salience, usefulness=usefulness, retrieval_count=count + len(told))
    most = (
        profile.salience * abs(after.salience - before.salience)
        + profile.usefulness * abs(after.usefulness - before.usefulness)
        + profile.popularity * math.log((count + len(told) + 1) / (count + 1))
    )
    assert abs(rank(profile, after).total - rank(profile, before).total) <= most + 1e-12
    assert most <= profile.salience * 9 + profile.usefulness + profile.popularity * math.log(len(told) + 1) + 1e-12


@given(profiles, st.floats(1, 10), st.integers(1, 50))
def test_being_injected_without_use_lifts_a_memory_by_next_to_nothing(
    profile: RankingProfile, salience: float, times: int
) -> None:
    usefulness = 0.5
    for _ in range(times):
        usefulness = after_verdict(usefulness, False)
    before = rank(profile, Signals(0.4, salience=salience)).total
    after = rank(profile, Signals(0.4, salience=salience, usefulness=usefulness, retrieval_count=times)).total
    # What the count gives, usefulness takes back: never a tenth of what one point of salience weighs is left.
    assert before - after < 0.1 * profile.salience


@pytest.mark.parametrize(
    ("reply", "ids"),
    [
        ("You moved to Lisbon in May [42].", {42}),
        ("Both of them [41, 42] and [ids: 7; 8].", {41, 42, 7, 8}),
        ("As memory 42 says, and memory #43, and Memory id: 44.", {42, 43, 44}),
        ('See <memory id="42"> or id=43.', {42, 43}),
        ("你五月搬到了里斯本【42】。", {42}),
        ("Take [2 cups] of rice in [about 20 minutes], 42 of them, in 2026.", set()),
        ("A video of 42 memories, id est none; valid: 7", set()),
        ("", set()),
    ],
)
def test_ids_are_read_in_the_forms_in_which_models_cite_them(reply: str, ids: set[int]) -> None:
    assert cited(reply) == ids


@given(st.text(max_size=400))
def test_any_reply_can_be_read_for_citations(reply: str) -> None:
    assert all(number >= 0 for number in cited(reply))


def test_a_reply_that_says_what_only_the_memory_says_draws_on_it() -> None:
    memory = {"allerg", "peanut", "since", "childhood", "mild"}
    assert draws_on(memory, known=[{"cook"}], reply={"curri", "without", "peanut", "allerg"})
    assert not draws_on(memory, known=[{"cook"}], reply={"curri", "rice", "since"})


def test_what_the_user_said_and_what_is_common_proves_nothing() -> None:
    memory = {"ada", "lisbon", "tram"}
    assert not draws_on(memory, known=[{"lisbon"}, {"ada"}], reply={"ada", "lisbon", "sun"})
    assert draws_on(memory, known=[{"lisbon"}, {"ada"}], reply={"tram"})


def test_of_a_long_memory_a_few_words_are_enough_and_one_is_not() -> None:
    memory = {f"word{number}" for number in range(30)}
    assert draws_on(memory, known=[], reply={"word1", "word2", "word3", "word4"})
    assert not draws_on(memory, known=[], reply={"word1"})


def test_a_memory_without_words_of_its_own_is_never_drawn_on() -> None:
    assert not draws_on({"ada"}, known=[{"ada"}], reply={"ada"})
    assert not draws_on(set(), known=[], reply={"ada"})


def test_pairs_of_characters_are_half_words() -> None:
    # 对花生过敏: only one of two pairs is a word, so one of six pairs is one of three words.
    memory = {"艾达", "达对", "对花", "花生", "生过", "过敏"}
    assert draws_on(memory, known=[], reply={"放花", "花生"})
    assert not draws_on(memory | {f"猫{number}" for number in range(6)}, known=[], reply={"放花", "花生"})


def test_single_characters_of_scripts_without_spaces_are_no_words() -> None:
    assert not draws_on({"花生", "花", "生"}, known=[], reply={"生", "生活"})
    assert draws_on({"花生", "花", "生"}, known=[], reply={"花生", "花", "生"})


@pytest.mark.parametrize(
    ("found", "memories", "common"), [(3, 3, False), (4, 10, True), (9, 100, False), (11, 100, True)]
)
def test_a_word_is_common_by_its_share_of_the_space(found: int, memories: int, common: bool) -> None:
    assert is_common(found, memories) is common
