"""Reading: the bytes of a file become passages of text, without secrets, each knowing its place."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from perdure.document_types import DocumentPart
from perdure.documents.decoding import decode_text
from perdure.documents.formats import MediaType
from perdure.documents.pdf import pdf_pages
from perdure.documents.refusing import NO_TEXT, Refused
from perdure.rules.fencing import strip_fenced
from perdure.rules.passages import OVERLAP_CHARS, PASSAGE_CHARS
from perdure.text import clean, has_letter_or_digit, mask, passages

_BLANKS: Final = " \t\u00a0\u3000"
_EMPTY_LINES: Final = re.compile(r"\n{3,}")
_BETWEEN_PAGES: Final = "\n\n"
_MASK: Final = re.compile(r"\[secret: [a-z ]{1,20}\]")


async def read_parts(
    data: bytes, media_type: MediaType, *, most_parts: int, timeout_s: float, encoding: str | None = None
) -> list[DocumentPart]:
    """The passages of a file in order; the event loop goes on meanwhile.

    Args:
        most_parts: passages at most. timeout_s: seconds for the process that reads a PDF; the others are read in time
            that grows with their length.
        encoding: of a text or Markdown file; told by its bytes if missing.

    Raises:
        Refused: it can't be read, there is no text in it, or too much.
    """
    if media_type is MediaType.PDF:
        pages = await pdf_pages(data, most_chars=most_parts * PASSAGE_CHARS, timeout_s=timeout_s)
        return await asyncio.to_thread(parts_of_pages, pages, most_parts)

    def read() -> list[DocumentPart]:
        return parts_of(_text(data, media_type, encoding), most_parts)

    return await asyncio.to_thread(read)


def parts_of_pages(pages: Sequence[str], most_parts: int) -> list[DocumentPart]:
    """The passages of a text that stands on pages; each names the page on which it begins."""
    tidied = [_tidied(page) for page in pages]
    starts = [0, *accumulate(len(page) + len(_BETWEEN_PAGES) for page in tidied[:-1])]
    return parts_of(_BETWEEN_PAGES.join(tidied), most_parts, starts)


def parts_of(text: str, most_parts: int, page_starts: Sequence[int] = ()) -> list[DocumentPart]:
    """The passages of a text, without secrets and without what a recall had put into it.

    Raises:
        Refused: there is no text in it, or too much.
    """
    text = text if page_starts else _tidied(text)
    if len(text) > most_parts * PASSAGE_CHARS:
        raise Refused(_too_long(len(text) // (PASSAGE_CHARS - OVERLAP_CHARS), most_parts))
    kept = mask(strip_fenced(text)).text
    if not has_letter_or_digit(kept):
        raise Refused(NO_TEXT)
    found = passages(kept)
    if len(found) > most_parts:
        raise Refused(_too_long(len(found), most_parts))
    starts = _moved(page_starts, text, kept)
    return [
        DocumentPart(
            position=position,
            text=kept[one.start : one.end],
            starts=one.start,
            ends=one.end,
            page=max(bisect_right(starts, one.start), 1) if starts else None,
        )
        for position, one in enumerate(found, 1)
    ]


def _text(data: bytes, media_type: MediaType, encoding: str | None) -> str:
    if media_type is MediaType.HTML:
        from perdure.connect import page_text  # noqa: PLC0415 - loads all readers of mail and calendars

        return page_text(data)
    return decode_text(data, encoding)


def _tidied(text: str) -> str:
    """Without blanks at the ends of lines, and with at most one empty line in a row."""
    lines = (line.rstrip(_BLANKS) for line in clean(text).split("\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()


def _moved(marks: Sequence[int], text: str, kept: str) -> list[int]:
    """Where places of `text` are in `kept`, which is the same but for what was masked."""
    if text == kept or not marks:
        return list(marks)
    moved: list[int] = []
    here = there = 0
    for literal in _MASK.split(kept):
        begin = max(text.find(literal, here), here)
        reached = begin + len(literal)
        moved += [there + max(mark - begin, 0) for mark in marks[len(moved) :] if mark < reached]
        here, there = reached, there + len(literal)
        masked = _MASK.match(kept, there)
        there += len(masked[0]) if masked else 0
    return [*moved, *([len(kept)] * (len(marks) - len(moved)))]


def _too_long(parts: int, most: int) -> str:
    return f"it has some {parts:,} passages, at most {most:,} fit into a scope (setting max_document_chunks)"
