"""Folding: one spelling for all the spellings that people take for the same.

What is folded away: case, compatibility forms (full width, ligatures), the accents of Latin and Greek, stress marks and
ё of Cyrillic, vowel points of Arabic and Hebrew, the Arabic letter variants that keyboards disagree about, digits of
other scripts, typographic quotes and hyphens, invisible characters. What is kept, because it makes another word: й and
ї, the voicing marks of kana, and every vowel sign and tone mark of Thai, Lao, Khmer, Myanmar and the scripts of India.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Final

import regex

# Python sorts runs of combining marks by insertion, in quadratic time; UAX #15 calls a run of more than 30 no text.
_MARK_FLOOD: Final = regex.compile(r"(\p{M}{30})\p{M}++")
_LATIN_GREEK_MARKS: Final = regex.compile(r"(?<=[\p{Script=Latin}\p{Script=Greek}])\p{Mn}++")
_CYRILLIC_MARKS: Final = regex.compile(r"(?<=е)[\u0300\u0301\u0308]++|(?<=\p{Script=Cyrillic})[\u0300\u0301]++")
_DIGIT: Final = regex.compile(r"(?V1)[\p{Nd}--[0-9]]")
_AM: Final = regex.compile("\u0e4d([\u0e48-\u0e4b]?)\u0e32|\u0ecd([\u0ec8-\u0ecb]?)\u0eb2")

_LETTERS: Final = {
    "ı": "i", "ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ŧ": "t",
    "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
}  # fmt: skip


@cache
def _plain() -> dict[int, str | None]:
    """Characters replaced or dropped in every text: invisible ones, quotes, hyphens."""
    table: dict[int, str | None] = {
        code: None
        for start, end in (
            (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x0640, 0x0640), (0x180B, 0x180E),
            (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
            (0xE0000, 0xE0FFF),
        )
        for code in range(start, end + 1)
    }  # fmt: skip
    table.update(dict.fromkeys(map(ord, "‘’‛ʼ`′"), "'"))
    table.update(dict.fromkeys(map(ord, "‐‒−־"), "-"))
    return table


@cache
def _points() -> dict[int, str | None]:
    """Vowel points of Arabic and Hebrew to drop, letters without a decomposition to replace; after decomposing."""
    table: dict[int, str | None] = {ord(letter): plain for letter, plain in _LETTERS.items()}
    for start, end in ((0x0591, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06ED)):
        table.update({code: None for code in range(start, end + 1) if unicodedata.combining(chr(code))})
    return table


def _am(match: regex.Match[str]) -> str:
    return f"{match[1]}\u0e33" if match[1] is not None else f"{match[2]}\u0eb3"


def _digit(match: regex.Match[str]) -> str:
    # `regex` knows digits of a newer Unicode than this Python may; those stay as they are.
    return str(unicodedata.decimal(match[0], match[0]))


def plain(text: str) -> str:
    """`text` in its compatibility form, without invisible characters; case and accents still as written."""
    if text.isascii():
        return text
    # NFKC would make a space and a mark of the accent that many keyboards offer as an apostrophe.
    text = _MARK_FLOOD.sub(r"\1", text).replace("´", "'")
    normal = unicodedata.normalize("NFKC", text).translate(_plain())
    # NFKC takes the Thai and Lao vowel "am" apart, and people type its tone mark before or after it.
    return _DIGIT.sub(_digit, _AM.sub(_am, normal))


def fold(text: str) -> str:
    """The one folding used for terms, tags and entities; see the module's text for what it folds and what it keeps.

    >>> fold("Ｃｒèｍｅ BRÛLÉE")
    'creme brulee'
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFD", plain(plain(text).casefold()).casefold()).translate(_points())
    return unicodedata.normalize("NFC", _CYRILLIC_MARKS.sub("", _LATIN_GREEK_MARKS.sub("", folded)))
