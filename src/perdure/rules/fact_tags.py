"""Tags of facts: at most five short ones, and whether one occurs as a whole word in what was said lately.

What a whole word is depends on the script. Letters of alphabets must not go on at either end ("cat" is not in
"category"); Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces, so there a tag occurs
wherever it stands; a Korean word may carry a particle after it, an Arabic one the article before it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

MAX_TAGS: Final = 5
"""The most tags of one fact (mission)."""
MAX_TAG_CHARS: Final = 32
"""The longest tag, in characters (mission)."""

_SPACES: Final = re.compile(r"\s+")
_QUOTES: Final = "\"'“”‘’«»`"
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_HANGUL: Final = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_ARABIC: Final = re.compile("[\u0620-\u064a\u066e-\u06d3]")
# The article, and what may be written together with it: and, so, with, like, for the.
_ARTICLE: Final = re.compile(r"(?<!\w)(?:[وف]?[بك]?ال|[وف]?لل)\Z")
_LONGEST_ARTICLE: Final = 5
# "can't" holds no "can", "C++" and "C#" no "C".
_GOES_ON: Final = re.compile(r"'t(?!\w)|(?:\+\+|#)(?!\w)")


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags as they are kept: without quotes and spaces around them, without blank ones, each once.

    Raises:
        ValueError: more than five, or one of more than 32 characters; the message names it.
    """
    kept = dict.fromkeys(_trimmed(tag) for tag in tags)
    kept.pop("", None)
    for tag in kept:
        if len(tag) > MAX_TAG_CHARS:
            raise ValueError(f"the tag {tag[:MAX_TAG_CHARS]!r}… has {len(tag)} characters of at most {MAX_TAG_CHARS}")
    if len(kept) > MAX_TAGS:
        raise ValueError(f"{len(kept)} tags are more than {MAX_TAGS}")
    return tuple(kept)


def one_occurs(tags: Iterable[str], texts: Sequence[str]) -> bool:
    """Whether one of the tags stands as a whole word in one of the texts. All of them are folded (`text.fold`).

    >>> one_occurs(["cat"], ["my cat sleeps"]), one_occurs(["cat"], ["another category"])
    (True, False)
    """
    spaced = [_SPACES.sub(" ", text) for text in texts]
    return any(_occurs(tag, text) for tag in map(_trimmed, tags) if tag for text in spaced)


def _trimmed(tag: str) -> str:
    return _SPACES.sub(" ", tag).strip(_QUOTES + " ")


def _occurs(tag: str, text: str) -> bool:
    place = text.find(tag)
    while place >= 0:
        if _begins(tag, text, place) and _ends(tag, text, place + len(tag)):
            return True
        place = text.find(tag, place + 1)
    return False


def _begins(tag: str, text: str, place: int) -> bool:
    if not (_joins(tag[0]) and _joins(text[place - 1 : place])):
        return True
    before = text[max(0, place - _LONGEST_ARTICLE) : place]
    return _ARABIC.match(tag) is not None and _ARTICLE.search(before) is not None


def _ends(tag: str, text: str, place: int) -> bool:
    if not _joins(tag[-1]) or _HANGUL.match(tag[-1]):
        return True
    return not _joins(text[place : place + 1]) and _GOES_ON.match(text, place) is None


def _joins(character: str) -> bool:
    """Whether a word of an alphabet goes on with this; no character joins nothing."""
    if character == "" or _UNSPACED.match(character):
        return False
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
