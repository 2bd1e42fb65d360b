"""Placeholders: unknown ones lose their braces and nothing else, known ones are filled in when shown, and only once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.placeholders import KNOWN, SERVER_USER, expand, sanitise

PIECES = st.lists(
    st.sampled_from(
        ["{", "}", "{{", "}}", "user", "Bot", "char", "name", "a", "_", "9", " ", "-", "é", "名", "ſ", "\n"]
    )
).map("".join)
WORD_IN_BRACES = re.compile(r"\{([^\W\d_]\w*)\}")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("{user} likes {bot} and {char}", "{user} likes {bot} and {char}"),
        ("{{User}} {{BOT}} {Char}", "{{User}} {{BOT}} {Char}"),
        ("{name} lives in {{city}}", "name lives in city"),
        ("{user_name} and {users}", "user_name and users"),
        ("{ user } {2cups} {two-words} {} { name }", "{ user } {2cups} {two-words} {} { name }"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{名前} and {città}", "名前 and città"),
        ("{{name} {name}} {name", "{name name} {name"),
        ("{{{name}}} {{{{name}}}} {{{user}}}", "name name {{{user}}}"),
        ("{a{b}} {us{e}r} {long{er}word} {{user}x}", "ab {user} longerword {{user}x}"),
        ("{uſer}", "uſer"),
        ("} } {", "} } {"),
        ("", ""),
    ],
)
def test_unknown_words_lose_their_braces_and_keep_their_text(written: str, kept: str) -> None:
    assert sanitise(written) == kept


@given(PIECES | st.text())
def test_nothing_but_braces_is_ever_lost(text: str) -> None:
    assert re.sub("[{}]", "", sanitise(text)) == re.sub("[{}]", "", text)


@given(PIECES)
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    once = sanitise(text)
    assert sanitise(once) == once
    assert all(word.lower() in KNOWN for word in WORD_IN_BRACES.findall(once))


@given(PIECES)
def test_a_placeholder_survives_whatever_stands_around_it(text: str) -> None:
    assert "|{user}|" in sanitise(f"{text}|{{user}}|{text}")


def test_a_flood_of_braces_takes_no_time() -> None:
    assert sanitise("{" * 200_000 + "x" + "}" * 200_000) == "x"
    assert sanitise("{" * 200_000 + "1" + "}" * 200_000) == "{" * 200_000 + "1" + "}" * 200_000
    assert expand("{" * 200_000 + " " * 200_000, user="", bot="") == "{" * 200_000 + " " * 200_000


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{user} and {{user}} and {USER}", "Ada and Ada and Ada"),
        ("{ user } {{ Bot }} {{\tchar\n}}", "Ada Momo Momo"),
        ("{{user} {user}}", "{Ada Ada}"),
        ("{name} user", "{name} user"),
    ],
)
def test_names_stand_where_placeholders_stood(written: str, shown: str) -> None:
    assert expand(written, user="Ada", bot="Momo") == shown


def test_a_name_is_never_read_as_a_placeholder() -> None:
    assert expand("{user}{bot}", user="{bot}", bot=r"{user}\1") == r"{bot}{user}\1"


def test_a_server_calls_everybody_the_same() -> None:
    assert expand("{user} plays chess", user=SERVER_USER, bot="Momo") == "User plays chess"
