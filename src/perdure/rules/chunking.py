"""Chunking: a long text becomes pieces small enough to be one memory each, without losing a character.

Greedy: each piece takes as much as fits, then ends at the strongest break in its last two thirds: between paragraphs,
lines, sentences, words. A break in the first third is passed over, so a short leading line joins what follows it. Where
no break is in reach (a long run of Thai, a base64 blob) the piece ends between two graphemes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

MAX_CHUNK_BYTES: Final = 1200
"""The mission's MaxChunkBytes: the longest piece, in bytes of UTF-8."""

_LEAST_FILL: Final = 3
GRAPHEME, _WORD, _SENTENCE, _LINE, _PARAGRAPH = range(5)
"""How strong a break is; a grapheme's end is none, and the last resort."""

_LINE_ENDS: Final = frozenset({"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"})
_LONGEST_CODE_POINT: Final = 4


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece. `before` + `text` + `after` of all pieces in order is the original text.

    `after` is the white space removed at the cut; `before` is what led the text, on the first piece only.
    """

    text: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """A place to cut: the piece ends before unit `end`, the next one starts at unit `start`, white space between."""

    end: int
    start: int
    strength: int


def chunk(
    text: str,
    max_bytes: int = MAX_CHUNK_BYTES,
    *,
    graphemes: Callable[[str], Sequence[str]],
    sentence_ends: Callable[[str], Iterable[int]],
) -> list[Chunk]:
    """Cut `text` into pieces of at most `max_bytes` bytes of UTF-8.

    Args:
        text: any text without lone surrogates.
        max_bytes: at least 4, the longest code point.
        graphemes: splits a text into its graphemes; joined they are the text.
        sentence_ends: offsets, in code points, just after each sentence.

    Returns:
        The pieces, none of them empty or white space only; none at all for a text of white space. A text that fits is
        one piece, verbatim; in a longer one no piece begins or ends with white space, unless a run of it is longer than
        a piece. A grapheme is split only if it alone is longer than `max_bytes`, and then between code points.

    Raises:
        ValueError: `max_bytes` is below 4.
    """
    if max_bytes < _LONGEST_CODE_POINT:
        raise ValueError(f"max_bytes is {max_bytes}; the longest code point takes {_LONGEST_CODE_POINT}")
    if not text.strip():
        return []
    if len(text.encode()) <= max_bytes:
        return [Chunk(text)]
    units = [part for unit in graphemes(text) for part in _parts(unit, max_bytes)]
    first = next(place for place, unit in enumerate(units) if not unit.isspace())
    last = next(place for place in range(len(units), 0, -1) if not units[place - 1].isspace())
    sizes = [0, *accumulate(len(unit.encode()) for unit in units)]
    breaks = find_breaks(units, first, last, sentence_ends(text))
    pieces: list[Chunk] = []
    start, passed = first, 0
    while sizes[last] - sizes[start] > max_bytes:
        limit = start
        while sizes[limit + 1] - sizes[start] <= max_bytes:
            limit += 1
        while passed < len(breaks) and breaks[passed].end <= start:
            passed += 1
        cut = _choose(breaks, passed, sizes, start, limit)
        pieces.append(_piece(units, start, cut.end, cut.start))
        start = cut.start
    pieces.append(_piece(units, start, last, len(units)))
    pieces[0] = Chunk(pieces[0].text, "".join(units[:first]), pieces[0].after)
    return pieces


def _piece(units: Sequence[str], start: int, end: int, following: int) -> Chunk:
    return Chunk("".join(units[start:end]), "", "".join(units[end:following]))


def _parts(unit: str, max_bytes: int) -> list[str]:
    """A grapheme, or its code points where it is longer than a whole piece."""
    return [unit] if len(unit) * _LONGEST_CODE_POINT <= max_bytes or len(unit.encode()) <= max_bytes else list(unit)


def find_breaks(units: Sequence[str], first: int, last: int, sentences: Iterable[int]) -> list[Break]:
    """Every break between `first` and `last`, in order of place."""
    ends = set(sentences)
    found: list[Break] = []
    offset = sum(map(len, units[:first]))
    place = first
    while place < last:
        end, lines, sentence = place, 0, offset in ends
        while units[place].isspace():
            lines += units[place] in _LINE_ENDS
            offset += len(units[place])
            sentence = sentence or offset in ends
            place += 1
        strength = (_SENTENCE if sentence else _WORD) if lines == 0 else min(_SENTENCE + lines, _PARAGRAPH)
        if place > end or sentence:
            found.append(Break(end, place, strength))
        offset += len(units[place])
        place += 1
    return found


def _choose(breaks: Sequence[Break], passed: int, sizes: Sequence[int], start: int, limit: int) -> Break:
    """Where the piece from unit `start` ends, at most at unit `limit`."""
    full = sizes[limit] - sizes[start]
    best = Break(limit, limit, GRAPHEME)
    for place in range(passed, len(breaks)):
        found = breaks[place]
        if found.end > limit:
            break
        enough = (sizes[found.end] - sizes[start]) * _LEAST_FILL >= full or found.start > limit
        if enough and found.strength >= best.strength:
            best = found
    return best
