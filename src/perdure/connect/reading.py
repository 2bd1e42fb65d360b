"""What every chat source shares: opening a file safely, reading its lines, and saying what was refused or skipped."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, BinaryIO

from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from perdure.types import Message

MAX_LINE_BYTES = 4 * 1024 * 1024
"""Longest line of a line-based format; a longer one is refused by its number and the next line goes on."""

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""Largest single object of a JSON export (one conversation, one evaluation question) that is held in memory."""

_HEAD_BYTES = 4096
_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
_NUL_SHARE_OF_BINARY = 0.05
_SNIPPET_BYTES = 40


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read what a file leaves open.

    `zone` is the zone of times written without one (default UTC). `day_first` settles WhatsApp dates such as 03/04/23
    when nothing in the file does. `conversation` names the conversation of a file that doesn't name it itself.
    """

    zone: tzinfo = UTC
    day_first: bool | None = None
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """One message that can't be read; what follows it in the file is read all the same."""

    line: int | None
    error: InvalidInput

    @classmethod
    def at(cls, line: int, error: InvalidInput) -> Rejected:
        """A refusal that names its line."""
        return cls(error.line or line, error if error.line else error.at_line(line))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a reader is, in bytes of the file on disk (compressed bytes for a gzip file)."""

    bytes_read: int
    total_bytes: int


@dataclass(slots=True)
class Tally:
    """What a reader left out on purpose, by reason, and the assumptions a person should see."""

    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def skip(self, reason: str) -> None:
        """Count one thing left out."""
        self.skipped[reason] += 1


def attempt(line: int, build: Callable[[], Message]) -> Message | Rejected:
    """The message, or the refusal with its line."""
    try:
        return build()
    except InvalidInput as error:
        return Rejected.at(line, error)


class Stream:
    """The decompressed bytes of a file; a damaged archive becomes an `InvalidInput`. UTF-8 byte order marks vanish."""

    def __init__(self, raw: BinaryIO, unpacked: io.BufferedReader | gzip.GzipFile, name: str) -> None:
        self._raw, self._unpacked, self._name = raw, unpacked, name

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to repeat."""
        self._unpacked.close()
        self._raw.close()

    def position(self) -> int:
        """Bytes of the file on disk that were consumed so far."""
        return self._raw.tell()

    def head(self) -> bytes:
        """The first bytes, without consuming them."""
        return self._guarded(lambda: self._unpacked.peek(_HEAD_BYTES))[:_HEAD_BYTES]

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        return self._guarded(lambda: self._unpacked.read(size))

    def readline(self, limit: int) -> bytes:
        """The next line with its line end, cut after `limit` bytes; empty at the end."""
        return self._guarded(lambda: self._unpacked.readline(limit))

    def _guarded(self, action: Callable[[], bytes]) -> bytes:
        try:
            return action()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            limit = f"the gzip archive must be complete and undamaged ({error})"
            raise InvalidInput("file", self._name, limit) from error
        except OSError as error:
            raise InvalidInput("file", self._name, f"the file must be readable ({error.strerror or error})") from error


class Source:
    """A file to read from, possibly more than once, with its progress."""

    def __init__(self, path: Path) -> None:
        """Raises InvalidInput when the path is missing, empty or no regular file."""
        if path.is_dir():
            raise InvalidInput("path", str(path), "it is a directory; name the file inside it")
        if not path.exists():
            raise InvalidInput("path", str(path), "there is no such file")
        if not path.is_file():
            raise InvalidInput("path", str(path), "it must be a regular file, because some formats are read twice")
        self.path = path
        self.total_bytes = path.stat().st_size
        if self.total_bytes == 0:
            raise InvalidInput("file", path.name, "it is empty; an export holds at least one message")
        self._stream: Stream | None = None
        self._bytes_read = 0

    @property
    def bytes_read(self) -> int:
        """Bytes of the file consumed by the current (or last) reading."""
        if self._stream is not None:
            try:
                self._bytes_read = self._stream.position()
            except ValueError:  # closed meanwhile: the last known position stands
                self._stream = None
        return self._bytes_read

    def open(self) -> Stream:
        """Open the file from its start. Raises InvalidInput for what is plainly not UTF-8 text."""
        try:
            raw = self.path.open("rb")
        except OSError as error:
            limit = f"the file must be readable ({error.strerror})"
            raise InvalidInput("path", str(self.path), limit) from error
        packed = raw.peek(2)[:2] == _GZIP_MAGIC
        stream = Stream(raw, gzip.GzipFile(fileobj=raw) if packed else raw, self.path.name)
        try:
            head = stream.head()
            self._refuse_binary(head)
            if head.startswith(codecs.BOM_UTF8):
                stream.read(len(codecs.BOM_UTF8))
        except BaseException:
            stream.close()
            raise
        self._stream = stream
        return stream

    def finish(self) -> None:
        """Count the file as read to its end and close it."""
        self._bytes_read = self.total_bytes
        self.close()

    def close(self) -> None:
        """Close the current reading; safe to repeat."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _refuse_binary(self, head: bytes) -> None:
        name = self.path.name
        if not head.removeprefix(codecs.BOM_UTF8).strip() and len(head) < _HEAD_BYTES:
            raise InvalidInput("file", name, "it is empty; an export holds at least one message")
        if head.startswith(_ZIP_MAGIC):
            limit = "it is a zip archive; unpack it and name the chat file inside (conversations.json, result.json, …)"
            raise InvalidInput("file", name, limit)
        wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if wide or head.count(0) > _NUL_SHARE_OF_BINARY * len(head):
            limit = "it must be UTF-8 text, and this is UTF-16 or binary; convert text with `iconv -f UTF-16 -t UTF-8`"
            raise InvalidInput("file", name, limit)


def numbered_lines(stream: Stream, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number, from 1, without its line end; None for a line longer than `limit` bytes."""
    number = 0
    while line := stream.readline(limit + 2):
        number += 1
        body = line.rstrip(b"\r\n")
        if len(body) <= limit:
            yield number, body
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(limit)
        yield number, None


def line_too_long(number: int, limit: int = MAX_LINE_BYTES) -> Rejected:
    """The refusal of a line above `limit` bytes."""
    return Rejected.at(number, InvalidInput("line", f"over {limit} bytes", f"a line has at most {limit} bytes"))


def utf8_at(data: bytes, line: int) -> str:
    """The text of UTF-8 bytes that begin on this line. Raises InvalidInput naming the first byte that isn't UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        snippet = data[max(0, error.start - _SNIPPET_BYTES) : error.start + 1]
        limit = (
            f"its last byte shown, 0x{data[error.start]:02x}, is not UTF-8; "
            "convert the file, for Latin-1 with `iconv -f LATIN1 -t UTF-8`"
        )
        raise InvalidInput("encoding", snippet, limit, line=line) from error
