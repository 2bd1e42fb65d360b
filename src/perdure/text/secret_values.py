"""How a value looks: random, as secrets do, or like what stands in any text and is none."""

from __future__ import annotations

from typing import Final

import regex

MIN_PASSWORD_CHARS: Final = 4
_ORDINARY: Final = regex.compile(
    r"\d+(?:st|nd|rd|th|h|am|pm|x|d|s|k|min|mins|days?|hours?|chars?|characters?|bit|bits|-.*)|\d{1,3}[%€$]?|[€$£¥]\d.*|.*://.*"
    r"|[^@\s]+@[^@\s]+\.\p{L}+|[\p{L}]+/[\p{L}/]+|1password|<[^>]*>?|\*+|[xX•.…_-]+|\$\{?.*|%[^%]+%|\{+.*|\[.*"
    r"|[a-z_][\w.]*[(\[].*|(?:self|this|config|settings|process|os|env|args|data|user)\.[\w.]+",
    regex.IGNORECASE,
)
_SYMBOL_OR_INNER_CAPITAL: Final = regex.compile(r"[!@#$%^&*_+=~|\\<>?]|\p{Ll}\p{Lu}")
_DIGIT: Final = regex.compile(r"[\p{Nd}\p{No}]")
_LETTER: Final = regex.compile(r"\p{L}")


def is_ordinary(value: str) -> bool:
    """Whether a value is a number with its unit, an address, a choice of words, a placeholder or a piece of code."""
    return _ORDINARY.fullmatch(value) is not None


def has_digit(text: str) -> bool:
    """Whether there is a digit in it, of any script."""
    return _DIGIT.search(text) is not None


def looks_random(value: str) -> bool:
    """Whether a value is no word: digits among letters, signs among them, capitals inside, or four digits and more."""
    if len(value) < MIN_PASSWORD_CHARS or is_ordinary(value):
        return False
    digits, letters = has_digit(value), _LETTER.search(value) is not None
    if digits and not letters:
        return len(_DIGIT.findall(value)) >= MIN_PASSWORD_CHARS
    return letters and (digits or _SYMBOL_OR_INNER_CAPITAL.search(value) is not None)
