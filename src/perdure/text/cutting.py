"""Where a text may be cut: graphemes, sentences, and the chunks and passages made of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import regex

from perdure.rules.chunking import MAX_CHUNK_BYTES, Chunk, chunk
from perdure.rules.passages import Passage
from perdure.rules.passages import passages as overlapping

_GRAPHEME: Final = regex.compile(r"\X")
_WINDOW_CHARS: Final = 4000
"""Longer than any sentence, and short enough to be split in a few milliseconds."""


def graphemes(text: str) -> list[str]:
    """What a reader takes for single characters (UAX #29): an emoji family, a letter with its accents, a line end."""
    if text.isascii() and "\r" not in text:
        return list(text)
    return _GRAPHEME.findall(text)


@cache
def _sentencex() -> Any:
    import sentencex  # noqa: PLC0415 - loaded only for texts longer than a chunk

    return sentencex


def sentence_ends(text: str) -> Iterable[int]:
    """Offsets just after each sentence, in code points; works without knowing the language, Thai has none.

    What splits takes time that grows with the square of a paragraph (two minutes for one of 750,000 Chinese
    characters), so it is shown a window at a time. Each begins with the sentence that the one before left open.
    """
    ends: list[int] = []
    start = 0
    while start < len(text):
        stop = min(start + _WINDOW_CHARS, len(text))
        boundaries = _sentencex().get_sentence_boundaries("en", text[start:stop])
        found = [start + sentence["end_index"] for sentence in boundaries]
        if stop < len(text):
            found = [end for end in found if end < stop]
            stop = found[-1] if found else stop
        ends += found
        start = stop
    return ends


def chunks(text: str, max_bytes: int = MAX_CHUNK_BYTES) -> list[Chunk]:
    """`rules.chunking.chunk` with real graphemes and sentences: pieces of at most `max_bytes` bytes of UTF-8."""
    return chunk(text, max_bytes, graphemes=graphemes, sentence_ends=sentence_ends)


def passages(text: str) -> list[Passage]:
    """`rules.passages.passages` with real graphemes and sentences: at most 1000 characters, 200 of them shared."""
    return overlapping(text, graphemes=graphemes, sentence_ends=sentence_ends)


def truncate_chars(text: str, limit: int) -> str:
    """The longest beginning of `text` with at most `limit` code points that splits no grapheme.

    Only a first grapheme that is longer than the limit itself is cut between code points.
    """
    if len(text) <= limit:
        return text
    return _whole(text, max(limit, 0))


def truncate_bytes(text: str, limit: int) -> str:
    """The longest beginning of `text` with at most `limit` bytes of UTF-8 that splits no grapheme, see above."""
    if len(text) * 4 <= limit:
        return text
    raw = text[: max(limit, 0) + 1].encode()
    if len(raw) <= limit:
        return text
    return _whole(text, len(raw[: max(limit, 0)].decode("utf-8", "ignore")))


def _whole(text: str, length: int) -> str:
    """`text[:length]` without the grapheme that this cut would split, unless nothing else is there."""
    # A boundary depends on what stands before it and on one code point behind it.
    kept = 0
    for match in _GRAPHEME.finditer(text[: length + 1]):
        if match.end() > length:
            break
        kept = match.end()
    return text[: kept or length]
