"""A text that ends as a question is known in any script, whatever is drawn or closed behind it."""

from __future__ import annotations

import pytest

from perdure.text import is_question

ASKED = [
    "How are you?",
    "¿Cómo estás?",
    "他来吗？",
    "ما هذا؟",
    "Τι κάνεις;",
    "Τι κάνεις\u037e",
    "Really?!",
    "“Why?”",
    "(why?)",
]
ASKED += ["*why?*", "Where? 🙂", "Where? 👩‍💻❤️", "Where? 👍🏽 ", "Where? :)", "where?\n\n", "«Où ?»", "「どこ？」", "?"]
SAID = [
    "",
    " ",
    "I know.",
    "Why? Because.",
    "a; b;",
    "if (x) { foo(); }",
    "他来了。",
    "ok 🙂",
    "?x",
    "100%",
    "Why? he said",
]


@pytest.mark.parametrize("text", ASKED)
def test_a_question_is_known_by_its_end(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", SAID)
def test_what_ends_otherwise_is_no_question(text: str) -> None:
    assert not is_question(text)


def test_a_very_long_end_of_emoji_is_no_attack() -> None:
    assert not is_question("ok?" + "🙂" * 100_000)
