"""Passages: a long text as overlapping windows, each small enough to be compared with a question.

A passage ends at the strongest break in its last third: between paragraphs, lines, sentences, words. The next one
begins with a word that the last still holds, so that what stands around a cut is found whole in one of the two. Where
no break is in reach (a long run of Thai, a base64 blob) it is cut between two graphemes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from perdure.rules.chunking import GRAPHEME, Break, find_breaks

PASSAGE_CHARS: Final = 1000
"""The longest passage, in code points (mission)."""

OVERLAP_CHARS: Final = 200
"""What neighbours share at most, in code points (mission)."""

_LEAST_FILL: Final = 2 / 3


@dataclass(frozen=True, slots=True)
class Passage:
    """Code points `start` to `end` of a text."""

    start: int
    end: int


def passages(
    text: str,
    size: int = PASSAGE_CHARS,
    overlap: int = OVERLAP_CHARS,
    *,
    graphemes: Callable[[str], Sequence[str]],
    sentence_ends: Callable[[str], Iterable[int]],
) -> list[Passage]:
    """Cut `text` into passages of at most `size` code points, neighbours sharing at most `overlap`.

    Args:
        text: any text without lone surrogates.
        size: at least twice `overlap` and at least 4. overlap: 0 or more.
        graphemes: splits a text into its graphemes; joined they are the text.
        sentence_ends: offsets, in code points, just after each sentence.

    Returns:
        Passages in order, none at all for a text of white space. None begins or ends with white space, and all that is
        not white space is in one of them. A grapheme is split only if it alone is longer than `size - overlap`.

    Raises:
        ValueError: size and overlap don't go together.
    """
    if overlap < 0 or size < max(2 * overlap, 4):
        raise ValueError(f"passages of {size} characters can't overlap by {overlap}")
    if not text.strip():
        return []
    return _Cutter(size, overlap, graphemes(text), sentence_ends(text)).cut()


class _Cutter:
    """A text in units (graphemes), with the offset of each and the breaks between them."""

    def __init__(self, size: int, overlap: int, units: Iterable[str], sentences: Iterable[int]) -> None:
        longest = size - overlap
        self._units = [part for unit in units for part in ([unit] if len(unit) <= longest else unit)]
        self._offsets = [0, *accumulate(map(len, self._units))]
        self._size, self._overlap = size, overlap
        seen = [place for place, unit in enumerate(self._units) if not unit.isspace()]
        self._first, self._last = seen[0], seen[-1] + 1
        self._breaks = find_breaks(self._units, self._first, self._last, sentences)
        self._ends = [each.end for each in self._breaks]
        self._starts = [each.start for each in self._breaks]

    def cut(self) -> list[Passage]:
        found: list[Passage] = []
        start = reached = self._first
        while self._length(start, self._last) > self._size:
            place = self._end_of(start, reached)
            found.append(Passage(self._offsets[start], self._offsets[place.end]))
            reached = place.end
            start = self._start_after(start, place)
        found.append(Passage(self._offsets[start], self._offsets[self._last]))
        return found

    def _length(self, start: int, end: int) -> int:
        return self._offsets[end] - self._offsets[start]

    def _end_of(self, start: int, reached: int) -> Break:
        """Where the passage from unit `start` ends: behind unit `reached`, where the one before it ended."""
        limit = bisect_right(self._offsets, self._offsets[start] + self._size) - 1
        enough = _LEAST_FILL * self._length(start, limit)
        best = Break(limit, limit, GRAPHEME)
        for place in range(bisect_right(self._ends, reached), bisect_right(self._ends, limit)):
            found = self._breaks[place]
            # A long run of white space around the limit ends a passage however short it is.
            fits = self._length(start, found.end) >= enough or found.start >= limit
            if fits and found.strength >= best.strength:
                best = found
        return best

    def _start_after(self, start: int, cut: Break) -> int:
        """The first unit of the passage that follows one from `start` to `cut`."""
        earliest = bisect_left(self._offsets, self._offsets[cut.end] - self._overlap)
        word = bisect_left(self._starts, max(earliest, start + 1))
        shared = self._starts[word] if word < len(self._starts) and self._starts[word] < cut.end else earliest
        # What is shared must leave room for something new.
        return cut.start if shared <= start or self._length(shared, cut.start + 1) > self._size else shared
