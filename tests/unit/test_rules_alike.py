"""What says the same in other words, and what only looks like it: doubt never loses a fact."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.alike import NEAR, PERHAPS, SAME, SAME_WORDS, Said, Verdict, compared

NAMES = {"ada", "ben", "ann", "bob", "lisbon", "carl", "monday"}
FUNCTION_WORDS = {"the", "is", "in", "a", "of", "has", "on", "by", "was", "to", "at"}


def said(text: str, **more: object) -> Said:
    words = tuple(text.split())
    content = tuple(word for word in words if word not in FUNCTION_WORDS)
    numbers = frozenset(word for word in words if word.isnumeric())
    return Said(words, content, numbers, tuple(word for word in words if word in NAMES), **more)


def beside(later: str, earlier: str, similarity: float = 1.0) -> Verdict:
    return compared(said(later), said(earlier), similarity)


def test_a_paraphrase_that_is_very_near_is_the_same_and_one_that_is_near_may_be() -> None:
    one, other = "the rent of ada rises in january", "in january ada has to pay more rent"
    assert beside(one, other, SAME) is Verdict.SAME
    assert beside(one, other, PERHAPS) is Verdict.PERHAPS
    assert beside(one, other, PERHAPS - 0.01) is Verdict.OTHER


def test_what_has_no_word_of_its_own_is_the_same_where_it_is_less_near() -> None:
    longer = "ada has a cat by the name of tom and a dog"
    assert beside("ada has a cat tom", longer, SAME_WORDS) is Verdict.SAME
    assert beside(longer, "ada has a cat tom", SAME_WORDS) is Verdict.OTHER


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("met ann on monday", "met bob on monday"),
        ("the dentist is at 3", "the dentist is at 4"),
        ("dentist at 3 on monday", "on monday it is the dentist at 4"),
        ("ben is the boss of carl", "carl is the boss of ben"),
        ("the party is in lisbon", "the party in spring"),
    ],
)
def test_another_name_number_or_order_is_something_else_however_near(one: str, other: str) -> None:
    assert beside(one, other) is Verdict.OTHER


def test_another_word_at_the_same_place_never_counts_as_the_same() -> None:
    one, other = "my mother turned sixty in may", "my father turned sixty in may"
    assert beside(one, other, SAME) is Verdict.PERHAPS
    assert beside(one, other, SAME - 0.01) is Verdict.OTHER
    without_case = [replace(said(text), cased=False) for text in (one, other)]
    assert compared(*without_case, SAME) is Verdict.OTHER


def test_a_denial_another_speaker_and_another_day_are_something_else() -> None:
    text = "ada eats meat"
    assert compared(said(text), said(text), 1.0) is Verdict.SAME
    assert compared(said(text, negated=True), said(text), 1.0) is Verdict.OTHER
    assert compared(said(text, by="ada"), said(text, by="ben"), 1.0) is Verdict.OTHER
    assert compared(said(text, by=("", 1)), said(text, by=("", 2)), 1.0) is Verdict.OTHER


def test_names_in_another_order_are_the_same_at_most_perhaps() -> None:
    assert beside("ada moved to lisbon in spring", "lisbon is in spring the new home of ada") is Verdict.PERHAPS


sentences = st.lists(st.sampled_from([*NAMES, "rent", "cat", "the", "in", "3", "4", "pays"]), min_size=1, max_size=8)


@given(sentences, st.floats(0, 1))
def test_every_text_says_the_same_as_itself_or_is_too_far(words: list[str], similarity: float) -> None:
    one = said(" ".join(words))
    near = similarity >= NEAR
    assert compared(one, one, similarity) is (Verdict.SAME if near else Verdict.OTHER)


@given(sentences, sentences, st.floats(0, 1), st.floats(0, 1))
def test_what_is_nearer_is_never_less_the_same(one: list[str], other: list[str], far: float, step: float) -> None:
    order = [Verdict.OTHER, Verdict.PERHAPS, Verdict.SAME]
    pair = said(" ".join(one)), said(" ".join(other))
    near = min(1.0, far + step)
    assert order.index(compared(*pair, near)) >= order.index(compared(*pair, far))


@given(sentences, sentences)
def test_a_number_of_its_own_is_never_lost(one: list[str], other: list[str]) -> None:
    later, earlier = said(" ".join(one)), said(" ".join(other))
    if later.numbers - earlier.numbers or set(later.names) - set(earlier.content):
        assert compared(later, earlier, 1.0) is Verdict.OTHER
