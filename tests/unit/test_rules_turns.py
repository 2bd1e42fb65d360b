"""What turns of a conversation lend each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.turns import Turn, TurnWeights, lent, share

W = TurnWeights()
QUESTION = Turn(1.0, 5, is_question=True, speaker="ada")
ANSWER = Turn(0.0, 4, speaker="bob")


def test_an_answer_takes_from_its_question_and_the_question_hands_over() -> None:
    assert lent(W, (QUESTION,), ANSWER, ()) == pytest.approx(0.25 + 0.3)
    assert lent(W, (), QUESTION, (ANSWER,)) == pytest.approx(-0.2)


def test_a_statement_takes_the_plain_share_of_both_sides() -> None:
    before = (Turn(0.4, 5, speaker="ada"), Turn(0.2, 5, speaker="bob"))
    after = (Turn(0.8, 5, speaker="ada"), Turn(0.6, 5, speaker="bob"))
    expected = 0.25 * 0.4 + 0.15 * 0.8 + 0.1 * (0.2 + 0.6)
    assert lent(W, before, ANSWER, after) == pytest.approx(expected)


def test_the_same_speaker_lends_nothing_and_ends_the_chain() -> None:
    same = Turn(1.0, 5, speaker="bob")
    assert lent(W, (same, QUESTION), ANSWER, (same,)) == 0.0
    assert lent(W, (QUESTION, Turn(1.0, 5, speaker="ada")), ANSWER, ()) == pytest.approx(0.55)


def test_a_long_turn_speaks_for_itself() -> None:
    assert share(W, 0) == share(W, 30) == 1.0
    assert share(W, 300) == pytest.approx(0.1)
    assert lent(W, (QUESTION,), Turn(0.0, 300, speaker="bob"), ()) == pytest.approx(0.055)


def test_a_long_answer_takes_over_less() -> None:
    assert lent(W, (), QUESTION, (Turn(0.0, 300, speaker="bob"),)) == pytest.approx(-0.02)


TURNS = st.builds(Turn, st.floats(0, 1), st.integers(0, 400), st.booleans(), st.sampled_from(["ada", "bob", None]))


@given(st.lists(TURNS, max_size=3), TURNS, st.lists(TURNS, max_size=3))
def test_what_is_lent_stays_within_the_weights(before: list[Turn], turn: Turn, after: list[Turn]) -> None:
    found = lent(W, tuple(before), turn, tuple(after))
    assert -0.2 <= found <= 0.25 + 0.3 + 0.15 + 0.2


def test_a_turn_alone_stays_as_it_is() -> None:
    assert lent(W, (), QUESTION, ()) == 0.0
