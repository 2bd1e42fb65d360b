"""No text takes more than linear time: ten times the text may take about ten times as long, never a hundred times."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from perdure.clock import DatabaseClock
from perdure.text import (
    MAX_TEXT_BYTES,
    chunks,
    clean,
    entity_keys,
    fold,
    is_question,
    mask,
    query_date_terms,
    query_terms,
    terms,
)
from perdure.text.names import phrase_in

SMALL, LARGE = 25_000, 250_000
LEAST_SECONDS = 0.02  # below it a measurement is noise, on a busy machine too; quadratic time would be minutes
TWICE = 3.0  # twice the text in linear time is twice the time; quadratic would be four times
GROWTH = 40.0  # ten times the text in linear time, and a factor for caches that are full
HOSTILE = {
    "one word": "a",
    "hyphens": "a-",
    "dots": "ab...",
    "apostrophes": "a'",
    "colons": ":",
    "underscores": "_",
    "plus signs": "a++",
    "numbers": "1,234,",
    "Chinese": "中",
    "Thai": "ที่",
    "accents in the wrong order": "\u0301\u0316",
    "emoji": "👩‍💻",
    "Hangul": "서울",
    "capitals": "Ab ",
    "spaces": " ",
    "months": "may ",
    "dates": "in may 5 ",
    "dates that begin with a year": "2023-5-",
    "question marks": "?",
    "prose": "The fox's den, over 3 hills: ok. ",
    "ligatures that become eighteen letters": "\ufdfa",
}
FUNCTIONS: list[Callable[[str], object]] = [
    clean,
    fold,
    terms,
    query_terms,
    query_date_terms,
    is_question,
    entity_keys,
    chunks,
    lambda text: phrase_in("ab cd", text),
]


def filled(piece: str, size: int) -> str:
    return f"x{piece * (size // len(piece.encode()))}x"


def seconds(function: Callable[[str], object], text: str, runs: int) -> float:
    """The best of some runs, so that a pause of the machine is not taken for the text's fault."""
    clock, best = DatabaseClock(), float("inf")
    for _ in range(runs):
        start = clock.monotonic()
        function(text)
        best = min(best, clock.monotonic() - start)
    return best


def of_processor(function: Callable[[str], object], text: str) -> float:
    """Seconds of processor time."""
    start = process_time()
    function(text)
    return process_time() - start


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    small, large = filled(piece, SMALL), filled(piece, LARGE)
    for function in FUNCTIONS:
        bound = max(seconds(function, small, 2), LEAST_SECONDS) * GROWTH
        assert seconds(function, large, 1) < bound or seconds(function, large, 2) < bound


SECRETS = {
    "announcements": "password is ",
    "announcements with values": "password=",
    "announcements in Chinese": "密码是",
    "announcements in Russian": "пароль ",
    "announcements of many kinds": "key token пароль ://a:b",
    "pins": "pin ",
    "a detector's own fields": "AccountKey=",
    "web tokens": "eyJ",
    "keys without an end": "-----BEGIN PRIVATE KEY-----",
    "cookies": "cookie: a=",
    "card numbers": "4111 1111 1111 ",
    "addresses": "a:b@",
    "what nobody sees": "pass\u200bword ",
    "account numbers": "DE89 3704 0044 0532 0130 ",
    "passphrases": "password is correct horse battery ",
}


@pytest.mark.parametrize("piece", SECRETS.values(), ids=SECRETS)
def test_secrets_are_looked_for_in_linear_time(piece: str) -> None:
    half, whole = filled(piece, MAX_TEXT_BYTES // 2), filled(piece, MAX_TEXT_BYTES)
    # In turns, so that whoever else is at work slows down both; a few times, before it is called the text's fault.
    pairs = ((of_processor(mask, half), of_processor(mask, whole)) for _ in range(8))
    assert any(long < max(short, LEAST_SECONDS) * TWICE for short, long in pairs)


def test_a_megabyte_of_accents_in_the_wrong_order_is_no_attack() -> None:
    flood = filled("\u0301\u0316", 1_000_000)
    assert seconds(terms, flood, 1) < max(seconds(terms, filled("\u0301\u0316", 100_000), 2), LEAST_SECONDS) * GROWTH
