"""What quotes a text, and what merely shares a word with it."""

from __future__ import annotations

from perdure.rules.quoting import quotes


def test_two_thirds_of_the_words_that_only_it_said_make_a_quotation() -> None:
    assert quotes({"boston", "moved", "may", "harbour"}, {"boston", "moved", "may"})
    assert quotes({"locker", "called", "kumquat"}, {"kumquat", "locker", "noted"})


def test_a_word_in_common_makes_none() -> None:
    assert not quotes({"fig"}, {"fig", "tree"})
    assert not quotes({"boston", "moved", "may"}, {"moved", "desk"})
    assert not quotes(frozenset(), {"anything"})


def test_a_number_or_code_that_nothing_else_says_is_a_quotation_by_itself() -> None:
    assert quotes({"plate", "bx4711", "car"}, {"bx4711"})
    assert not quotes({"plate", "7", "car"}, {"7"})


def test_what_gives_another_figure_quotes_nothing() -> None:
    assert not quotes({"meeting", "3", "hall"}, {"meeting", "4", "hall"})
