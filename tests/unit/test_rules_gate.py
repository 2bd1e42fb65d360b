"""The gate: small talk opens it for nothing, and what one signal lacks another makes up for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.gate import ASKING, NAME, NEEDED, WORDS, Bar, Candidate, cosine_needed, share, surplus, words_of

SPREAD = 0.05
LEVEL = 0.8


def bar(asking: float = 0.0, *, level: float | None = LEVEL, telling: bool = True) -> Bar:
    """`asking` in spreads."""
    return Bar(telling, level, asking * SPREAD, SPREAD)


def memory(above: float, words: float = 0.0, *, name: bool = False) -> Candidate:
    """`above` the level, in spreads."""
    return Candidate(LEVEL + above * SPREAD, words, name)


def passes(candidate: Candidate, turn: Bar) -> bool:
    return surplus(candidate, turn) > 0


def test_small_talk_opens_the_gate_for_nothing() -> None:
    assert not passes(memory(4, 1, name=True), bar(5, telling=False))
    assert cosine_needed(memory(4, 1, name=True), bar(5, telling=False)) is None


@pytest.mark.parametrize(
    ("candidate", "asking", "injected"),
    [
        (memory(NEEDED + 0.01), 0, True),
        (memory(NEEDED - 0.01), 0, False),
        (memory(0, 1), 0, True),
        (memory(NEEDED - WORDS - 0.01, 1), 0, False),
        (memory(NEEDED - NAME + 0.01, name=True), 0, True),
        (memory(NEEDED - NAME - 0.01, name=True), 0, False),
        (memory(NEEDED - ASKING + 0.01), 1, True),
        (memory(NEEDED + 0.01), -0.5, False),
    ],
)
def test_nearness_words_names_and_asking_make_up_for_each_other(
    candidate: Candidate, asking: float, injected: bool
) -> None:
    assert passes(candidate, bar(asking)) is injected


def test_the_cosine_needed_is_where_the_gate_opens() -> None:
    needed = cosine_needed(Candidate(0.0, 0.2, name=True), bar(0.5))
    assert needed == pytest.approx(LEVEL + SPREAD * (NEEDED - ASKING * 0.5 - WORDS * 0.2 - NAME))
    assert passes(Candidate(needed + 1e-6, 0.2, name=True), bar(0.5))
    assert not passes(Candidate(needed - 1e-6, 0.2, name=True), bar(0.5))


def test_while_nobody_can_tell_what_a_cosine_means_words_and_names_decide() -> None:
    nobody = bar(3, level=None)
    assert cosine_needed(memory(9, 1), nobody) is None
    assert not passes(memory(9), nobody)
    assert not passes(memory(9, 0.5), nobody)
    assert passes(memory(-9, 0.6), nobody)
    assert passes(memory(-9, 0.1, name=True), nobody)
    assert not passes(memory(0, 1), bar(level=None, telling=False))


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 1), st.booleans(), st.floats(0, 3))
def test_more_of_a_signal_never_shuts_a_memory_out(
    above: float, asking: float, words: float, name: bool, more: float
) -> None:
    if passes(memory(above, words, name=name), bar(asking)):
        assert passes(memory(above + more, words, name=name), bar(asking))
        assert passes(memory(above, words, name=True), bar(asking))
        assert passes(memory(above, min(1.0, words + more), name=name), bar(asking))
        assert passes(memory(above, words, name=name), bar(asking + more))


def test_rare_words_are_more_of_a_message_than_common_ones() -> None:
    terms = ("frame", "bicycle", "the")
    frequencies = {"frame": 1, "bicycle": 5, "the": 90}
    rare, common = (
        share(["frame"], words_of(terms, frequencies, 100)),
        share(["the"], words_of(terms, frequencies, 100)),
    )
    assert rare > 0.5 > common > 0
    assert share(terms, words_of(terms, frequencies, 100)) == pytest.approx(1)
    assert share(["frame", "frame", "elsewhere"], words_of(terms, frequencies, 100)) == pytest.approx(rare)


def test_a_word_that_no_memory_has_is_part_of_the_message() -> None:
    assert share(["frame"], words_of(("frame", "unheard"), {"frame": 1}, 100)) < 0.5


def test_of_the_days_of_a_week_a_memory_has_one() -> None:
    week = tuple(f"@m11d{day}" for day in range(17, 24))
    frequencies = {"boiler": 1, **dict.fromkeys(week, 1)}
    terms = ("boiler", *week)
    assert share(["boiler", week[2]], words_of(terms, frequencies, 100)) == pytest.approx(1)
    assert share(["boiler"], words_of(terms, frequencies, 100)) == pytest.approx(
        share(["boiler"], words_of(terms[:2], frequencies, 100))
    )
    assert share(terms, words_of(terms, frequencies, 100)) == 1


def test_nothing_is_shared_with_a_message_without_words() -> None:
    assert share((), words_of((), {}, 0)) == 0
