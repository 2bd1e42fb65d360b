"""The trajectory: three earlier user messages, shortened, and the current one whole."""

from __future__ import annotations

from perdure.rules.trajectory import trajectory
from perdure.text import truncate_chars


def turns(*texts: str) -> list[tuple[str, str]]:
    return [("user", text) for text in texts]


def test_the_last_three_user_messages_and_the_current_one_are_joined() -> None:
    assert trajectory(turns("a", "b", "c", "d"), " now ", cut=truncate_chars) == "b\nc\nd\nnow"
    assert trajectory([], "now", cut=truncate_chars) == "now"


def test_earlier_messages_are_cut_to_two_hundred_characters_and_the_current_one_is_not() -> None:
    earlier, current = "é" * 300, "x" * 5000
    assert trajectory(turns(earlier), current, cut=truncate_chars) == "é" * 200 + "\n" + current


def test_only_real_user_messages_count() -> None:
    history = [("user", "a"), ("assistant", "long reply"), ("tool", "{}"), ("system", "rules"), ("user", "  ")]
    assert trajectory(history, "now", cut=truncate_chars) == "a\nnow"


def test_a_history_that_already_ends_with_the_message_does_not_double_it() -> None:
    assert trajectory(turns("a", "now"), "now", cut=truncate_chars) == "a\nnow"
