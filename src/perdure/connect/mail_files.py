"""Mails from a file: one message (.eml), or a mailbox of many (mbox), read as a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from perdure.connect.closing import Closing
from perdure.connect.mail import MAX_MAIL_BYTES, read_mail
from perdure.connect.mail_format import from_line_time, is_dated, is_from_line, is_header_line, mail_format
from perdure.connect.mail_text import on_one_line
from perdure.connect.reading import Progress, Source, Stream
from perdure.door import MAX_NAME_BYTES
from perdure.errors import InvalidInput
from perdure.text import truncate_bytes
from perdure.types import SourceBatch, SourceItem

BATCH_ITEMS: Final = 100

_LINE_BYTES: Final = 64 * 1024
_SKIP_BYTES: Final = 1024 * 1024
_SIGNS: Final = 2
_NAME_DIGITS: Final = 12
_CHECKPOINT_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class _Letter:
    """The bytes of one message of a mailbox file: where it begins, and the line before it that dates it."""

    offset: int
    end: int
    line: int
    head: bytes
    data: bytes

    @property
    def whole(self) -> bytes:
        return self.head + self.data


@dataclass(frozen=True, slots=True)
class _Place:
    """The message of a mailbox file that was read last: where it began, how long it was, and a digest of it."""

    offset: int
    line: int
    size: int
    digest: str


class MailFile(Closing):
    """The mails of a file, read in batches and in flat memory (`ItemSource`).

    A message that can't be read is in `refused` of its batch, by its line; what follows it is read all the same. The
    checkpoint of a mailbox file holds while the file only grows: if what stood before it has changed, reading begins
    anew, and ids keep everything from coming in twice.
    """

    def __init__(self, path: Path, format: str | None = None) -> None:  # noqa: A002  # the word of the API
        """`format` is `eml`, `mbox` or None to judge by content.

        Raises InvalidInput for a missing, empty or binary file, and for one that holds no mail.
        """
        self._source = Source(path)
        with self._source.open() as stream:
            found = mail_format(stream.head())
        if format not in (None, "eml", "mbox"):
            raise InvalidInput("format", format, "it must be one of eml, mbox")
        if found is None and format is None:
            limit = "it begins neither like a mail (header lines) nor like a mailbox file (`From ann@example.org Mon`)"
            raise InvalidInput("file", path.name, limit)
        self.format = format or str(found)
        self.notes: tuple[str, ...] = ()  # what there is to say of a file stands in `refused`

    @property
    def name(self) -> str:
        """`mail:` and the name of the file."""
        return short_name(f"mail:{self._source.path.name}")

    @property
    def progress(self) -> Progress:
        """Bytes of the file on disk consumed so far, and all of them."""
        return Progress(self._source.bytes_read, self._source.total_bytes)

    def batches(self, checkpoint: Mapping[str, object] | None = None, *, now: datetime) -> Iterator[SourceBatch]:
        """What stands behind `checkpoint`, in batches of at most 100; `now` is not used. Blocks: run it in a thread."""
        yield from self._mailbox(checkpoint) if self.format == "mbox" else self._single()
        self._source.finish()

    def close(self) -> None:
        """Close the file before its end; safe to repeat."""
        self._source.close()

    def _single(self) -> Iterator[SourceBatch]:
        changed = datetime.fromtimestamp(self._source.path.stat().st_mtime, UTC)
        with self._source.open() as stream:
            data = _up_to(stream, MAX_MAIL_BYTES + 1)
        try:
            batch = SourceBatch((read_mail(data, dated=changed),))
        except InvalidInput as error:
            batch = SourceBatch((), refused=(error,))
        yield batch

    def _mailbox(self, checkpoint: Mapping[str, object] | None) -> Iterator[SourceBatch]:
        items: list[SourceItem] = []
        refused: list[InvalidInput] = []
        last: _Letter | None = None
        for letter in self._from(checkpoint):
            last = letter
            try:
                items.append(read_mail(letter.data, dated=from_line_time(letter.head)))
            except InvalidInput as error:
                refused.append(error.at_line(letter.line))
            if len(items) + len(refused) >= BATCH_ITEMS:
                yield SourceBatch(tuple(items), _checkpoint(letter), tuple(refused))
                items, refused, last = [], [], None
        if last is not None:
            yield SourceBatch(tuple(items), _checkpoint(last), tuple(refused))

    def _from(self, checkpoint: Mapping[str, object] | None) -> Iterator[_Letter]:
        """The messages behind the checkpoint; all of them, if the one it names isn't where it was.

        That one is read again if it has grown: then it was being written when it was read.
        """
        at = _place(checkpoint)
        if at is not None:
            letters = self._letters(at.offset, at.line)
            first = next(letters, None)
            if first is not None and first.offset == at.offset and _digest(first, at.size) == at.digest:
                if len(first.whole) > at.size:
                    yield first
                yield from letters
                return
        yield from self._letters(0, 1)

    def _letters(self, offset: int, line: int) -> Iterator[_Letter]:
        """Each message from this offset on; what a writer has hidden in text as `>From ` is `From ` again."""
        with self._source.open() as stream:
            _skip(stream, offset)
            open_letter, end = _Draft(offset, line, b""), offset
            for text in _lines(stream, offset, line):
                if text.begins:
                    if letter := open_letter.finished(text.offset):
                        yield letter
                    open_letter = _Draft(text.offset, text.number, text.data)
                else:
                    open_letter.add(text.data)
                end = text.offset + len(text.data)
            if letter := open_letter.finished(end):
                yield letter


@dataclass(frozen=True, slots=True)
class _Line:
    offset: int
    number: int
    data: bytes
    begins: bool


class _Draft:
    """A message whose following lines are still being read; beyond the limit they are only passed over."""

    def __init__(self, offset: int, line: int, head: bytes) -> None:
        self._offset, self._line, self._head = offset, line, head
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> None:
        if self._size <= MAX_MAIL_BYTES:
            hidden = data.startswith(b">") and data.lstrip(b">").startswith(b"From ")
            self._parts.append(data[1:] if hidden else data)
            self._size += len(data)

    def finished(self, end: int) -> _Letter | None:
        """The message; None for nothing but empty lines before the first one."""
        data = b"".join(self._parts)
        if not self._head and not data.strip():
            return None
        return _Letter(self._offset, end, self._line, self._head, data)


def _lines(stream: Stream, offset: int, number: int) -> Iterator[_Line]:
    """The lines of a mailbox file, long ones in pieces, and which of them begin a message.

    Texts hold lines that only look alike, and not every writer puts an empty line in between. So the form has to be
    right, and of an empty line before, a full date in it and a header line after it two have to be there.
    """
    after_empty = whole = True
    held = stream.readline(_LINE_BYTES)
    while held:
        following = stream.readline(_LINE_BYTES)
        begins = (
            whole
            and held.startswith(b"From ")
            and is_from_line(held)
            and after_empty + is_dated(held) + is_header_line(following) >= _SIGNS
        )
        yield _Line(offset, number, held, begins)
        offset += len(held)
        after_empty = whole and held in (b"\n", b"\r\n")
        whole = held.endswith(b"\n")
        number += whole
        held = following


def _skip(stream: Stream, size: int) -> None:
    while size > 0 and (data := stream.read(min(size, _SKIP_BYTES))):
        size -= len(data)


def _up_to(stream: Stream, size: int) -> bytes:
    parts = []
    while size > 0 and (data := stream.read(min(size, _SKIP_BYTES))):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def short_name(name: str) -> str:
    """A name of a source as it may be kept; a long one ends with a digest instead."""
    name = on_one_line(name)
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_NAME_DIGITS]
    return f"{truncate_bytes(name, MAX_NAME_BYTES - _NAME_DIGITS - 1)}-{digest}"


def _digest(letter: _Letter, size: int) -> str:
    return hashlib.sha256(letter.whole[:size]).hexdigest()[:_CHECKPOINT_DIGITS]


def _checkpoint(letter: _Letter) -> dict[str, object]:
    size = len(letter.whole)
    return {"offset": letter.offset, "line": letter.line, "size": size, "digest": _digest(letter, size)}


def _place(checkpoint: Mapping[str, object] | None) -> _Place | None:
    if not checkpoint:
        return None
    offset, line, size, digest = (checkpoint.get(key) for key in ("offset", "line", "size", "digest"))
    if isinstance(offset, int) and isinstance(line, int) and isinstance(size, int) and isinstance(digest, str):
        return _Place(offset, line, size, digest) if offset >= 0 and size >= 0 else None
    return None
