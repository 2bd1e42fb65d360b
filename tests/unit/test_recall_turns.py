"""Which messages are more than small talk: by what they say, or by going on with what was said before."""

from __future__ import annotations

import pytest

from perdure.recall.gating import tells


@pytest.mark.parametrize("message", ["When is it?", "¿Y cuándo?", "und wann ist er?", "а когда?", "Who am I?"])
def test_a_follow_up_is_more_than_small_talk(message: str) -> None:
    assert tells(message)


@pytest.mark.parametrize("message", ["Is Ada vegan?", "我的猫叫什么？", "What do you know about me?"])
def test_so_is_what_says_something(message: str) -> None:
    assert tells(message)


@pytest.mark.parametrize("message", ["ok thanks, good night!", "haha", "谢谢你", "yes"])
def test_small_talk_is_not(message: str) -> None:
    assert not tells(message)
