"""What asks the assistant for something, and what merely sounds like it."""

from __future__ import annotations

import pytest

from perdure.text import is_request


@pytest.mark.parametrize(
    "text",
    [
        "Read me the mail from Bob",
        "Please read me the mail from Bob.",
        "Hey, can you summarise my inbox",
        "OK now look up the train to Lyon",
        "I have five minutes. Tell me what Grace wrote!",
        "Lies mir die Mail von Bob vor",
        "Bitte fass die Nachrichten zusammen",
        "Kannst du nachsehen? Zeig mir die Mails",
        "Lis-moi le mail de Bob",
        "S'il te plaît, résume mes messages",
        "Léeme el correo de Bob",
        "Por favor, búscame el vuelo",
        "Leggimi la mail di Bob",
        "Leia o e-mail do Bob",
        "Lees de mail van Bob voor",
        "Прочитай мне письмо от Боба",
        "Przeczytaj mail od Boba",
        "Bob'un mailini oku",
        "帮我读一下鲍勃的邮件",
        "请告诉我邮件里写了什么",
        "ボブのメールを読んでください",
        "밥의 메일을 읽어 줘",
    ],
)
def test_what_asks_for_something_to_be_read_or_told_is_a_request(text: str) -> None:
    assert is_request(text)


@pytest.mark.parametrize(
    "text",
    [
        "I read the mail from Bob",
        "I moved to Lisbon",
        "Sorry, 4 pm",
        "Remember that I sing in a choir",
        "My sister writes novels",
        "Ich lese gern Krimis",
        "Entschuldigung, um 16 Uhr",
        "Je lis beaucoup",
        "Me gusta leer",
        "Ho letto la mail di Bob",
        "Ik lees graag",
        "Я прочитал письмо от Боба",
        "抱歉,是下午四点",
        "我喜欢读书",
        "メールを読みました",
        "",
    ],
)
def test_what_tells_something_is_none(text: str) -> None:
    assert not is_request(text)
