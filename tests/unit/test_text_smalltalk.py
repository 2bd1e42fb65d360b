"""Small talk is told from turns that say something, in every script."""

from __future__ import annotations

import pytest

from perdure.text import is_elliptic, says_something

IDLE = """
    hi | hello there | ok thanks, good night! | haha yes | lol | soooo cool | ok | thx!! | yes, sure | 👍 | ... | hahaha
    jajaja gracias | ¡hola! ¿qué tal? | vale, hasta luego | Danke schön! | guten Morgen | alles klar | merci beaucoup
    bonne nuit | 谢谢你 | 你好 | 嗯嗯 | 晚安！ | 好的 | 哈哈哈 | спасибо, пока | привет | ขอบคุณค่ะ | สวัสดี | 555
    ありがとう | おやすみ | 감사합니다 | شكرا | what? | and you? | teşekkürler
"""
TELLING = """
    Is Ada vegan? | When is the dentist? | mi coche está roto | 我喜欢爬山 | 房租什么时候涨？ | ครอบครัวของฉัน | asdf qwer
    ok, Tuesday then | thanks for the peanuts | Wo ist mein Fahrrad? | где мой велосипед | 4471 | C++ oder Rust
    شقة جديدة | good night Berlin | 猫 | 私の犬
"""


@pytest.mark.parametrize(
    "turn", [turn.strip() for line in IDLE.split("|") for turn in line.split("\n") if turn.strip()]
)
def test_a_turn_of_small_talk_says_nothing(turn: str) -> None:
    assert not says_something(turn)


@pytest.mark.parametrize(
    "turn", [turn.strip() for line in TELLING.split("|") for turn in line.split("\n") if turn.strip()]
)
def test_a_turn_with_one_telling_word_says_something(turn: str) -> None:
    assert says_something(turn)


@pytest.mark.parametrize(
    "turn",
    ["When is it?", "And where was that?", "¿Y cuándo fue?", "et pourquoi?", "und wer war das?", "e quando foi?",
     "e dove?", "en wanneer is het?", "а где он?"],
)  # fmt: skip
def test_function_words_alone_go_on_with_what_was_said(turn: str) -> None:
    assert is_elliptic(turn)
    assert not says_something(turn)


@pytest.mark.parametrize(
    "turn", ["ok", "ok thanks", "thank you", "no", "谢谢你", "hahaha", "👍", "?", "Is it red?", ""]
)
def test_small_talk_and_telling_turns_are_not_elliptic(turn: str) -> None:
    assert not is_elliptic(turn)
