"""When a turn asks for anything: by itself, or by going on with what the user said before."""

from __future__ import annotations

import pytest

from perdure.recall.prefetch import tells

DENTIST = [("user", "I have an appointment at the dentist"), ("assistant", "Noted.")]


@pytest.mark.parametrize("message", ["When is it?", "¿Y cuándo?", "und wann ist er?", "а когда?"])
def test_a_short_question_asks_for_what_the_conversation_is_about(message: str) -> None:
    assert tells(DENTIST, message)
    assert not tells([], message)
    assert not tells([("user", "ok thanks, good night!")], message)
    assert not tells([("assistant", "I have an appointment at the dentist")], message)


def test_short_questions_in_a_row_go_on_with_the_same() -> None:
    assert tells([*DENTIST, ("user", "When is it?"), ("assistant", "On Monday.")], "And where?")


def test_a_history_that_ends_with_the_message_itself_changes_nothing() -> None:
    assert tells([*DENTIST, ("user", "When is it?")], "When is it?")
    assert not tells([("user", "When is it?")], "When is it?")


@pytest.mark.parametrize("message", ["ok thanks, good night!", "haha", "谢谢你", "yes"])
def test_small_talk_asks_for_nothing_whatever_was_said_before(message: str) -> None:
    assert not tells(DENTIST, message)
