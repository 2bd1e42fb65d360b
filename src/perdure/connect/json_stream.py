"""A pull reader for JSON files larger than memory.

It walks the structure by brackets and strings alone and hands out the bytes of one value at a time. That keeps three
promises which event parsers break: an object that is broken inside is refused by its line while the next one is still
read, lone surrogates reach the checks instead of turning into question marks, and a million opening brackets cost a
counter and no memory.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from perdure.connect.reading import MAX_RECORD_BYTES, Rejected, line_too_long, numbered_lines, utf8_at
from perdure.connect.values import mapping
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perdure.connect.reading import Stream

_CHUNK = 1 << 16
_SNIPPET = 40
_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,:\[\]{}\"]*")
_UP_TO_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:"(?:[^"\\]++|\\.)*+"[^"\[\]{}]*+)*+', re.DOTALL)
_OPENING = {b"{", b"["}
_OPENINGS, _CLOSINGS = re.compile(rb"[\[{]++"), re.compile(rb"[\]}]++")
_MAX_DEPTH = 200
"""Levels of objects and arrays in one value, many times those of any export; deeper ones are refused unread."""
_TOO_DEEP = "it is nested too deeply"


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes of one JSON value and where it begins; `data` is None when it was larger than the limit, or `deep`."""

    data: bytes | None
    line: int
    offset: int
    limit: int
    deep: bool = False

    def decode(self) -> object:
        """The value. Raises InvalidInput with line and byte when it isn't JSON, too large, or nested too deeply."""
        if self.deep:
            raise InvalidInput("json", "object", f"{_TOO_DEEP} (at most {_MAX_DEPTH} levels)", line=self.line)
        if self.data is None:
            raise InvalidInput("json", "object", f"one object has at most {self.limit} bytes", line=self.line)
        return decode_json(utf8_at(self.data, self.line), line=self.line, offset=self.offset)


def decode_json(
    text: str,
    *,
    line: int,
    offset: int = 0,
    pairs: Callable[[list[tuple[str, object]]], dict[str, object]] | None = None,
) -> object:
    """The JSON value in `text`, which stands at this line and byte of its file. Raises InvalidInput naming both."""
    try:
        value: object = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        place = offset + len(text[: error.pos].encode("utf-8", "replace"))
        snippet = text[max(0, error.pos - _SNIPPET // 2) : error.pos + _SNIPPET // 2]
        limit = f"it must be JSON ({error.msg} at byte {place})"
        raise InvalidInput("json", snippet, limit, line=line + error.lineno - 1) from error
    except RecursionError as error:
        raise InvalidInput("json", text[:_SNIPPET], _TOO_DEEP, line=line) from error
    except ValueError as error:  # an integer of thousands of digits
        raise InvalidInput("json", text[:_SNIPPET], f"it must be JSON ({error})", line=line) from error
    return value


class JsonCursor:
    """Stands before a value. The caller takes the value, or enters it with `members` or `elements`, or moves on."""

    def __init__(self, read: Callable[[int], bytes], *, limit: int = MAX_RECORD_BYTES) -> None:
        self._read, self._limit = read, limit
        self._buffer, self._at = b"", 0
        self._base = 0  # bytes of the file before the buffer
        self._line, self._counted = 1, 0  # the line at buffer position `_counted`

    @property
    def offset(self) -> int:
        """Bytes of JSON before the cursor."""
        return self._base + self._at

    @property
    def line(self) -> int:
        """Line of the cursor, from 1."""
        if self._at > self._counted:
            self._line += self._buffer.count(b"\n", self._counted, self._at)
            self._counted = self._at
        return self._line

    def peek(self) -> bytes:
        """The first byte of the next token, white space passed over; empty at the end of the file."""
        while True:
            self._at = _end_of(_SPACE, self._buffer, self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            if not self._more(self._at):
                return b""

    def value(self) -> Raw:
        """Take the whole next value."""
        first = self.peek()
        line, offset, deep = self.line, self.offset, False
        if first == b'"':
            data: bytes | None = self._scan_string()
        elif first in _OPENING:
            data, deep = self._scan_container(keep=True)
        else:
            data = self._scan_scalar()
        return Raw(data, line, offset, self._limit, deep)

    def skip(self) -> None:
        """Pass over the next value without keeping it."""
        if self.peek() in _OPENING:
            self._scan_container(keep=False)
        else:
            self.value()

    def members(self) -> Iterator[str]:
        """Enter an object: each key, with the cursor before its value. A value not taken is passed over."""
        self._take(b"{")
        if self.peek() == b"}":
            self._at += 1
            return
        while True:
            if self.peek() != b'"':
                self.broken("a key in double quotes")
            key = str(self.value().decode())
            self._take(b":")
            self.peek()
            before = self.offset
            yield key
            if self._next(b"}", before):
                return

    def elements(self) -> Iterator[None]:
        """Enter an array: once per element, with the cursor before it. An element not taken is passed over."""
        self._take(b"[")
        if self.peek() == b"]":
            self._at += 1
            return
        while True:
            self.peek()
            before = self.offset
            yield
            if self._next(b"]", before):
                return

    def broken(self, expected: str) -> NoReturn:
        """Raises InvalidInput: the structure itself is damaged here, so the file can't be read any further."""
        found = self.peek()
        snippet = self._buffer[self._at : self._at + _SNIPPET].decode("utf-8", "replace") if found else "end of file"
        raise InvalidInput("json", snippet, f"expected {expected} at byte {self.offset}", line=self.line)

    def _take(self, token: bytes) -> None:
        if self.peek() != token:
            self.broken(f"'{token.decode()}'")
        self._at += 1

    def _next(self, closing: bytes, before: int) -> bool:
        """Pass a value that was left at `before`, then the comma (False) or the closing bracket (True)."""
        if self.offset == before:
            self.skip()
        found = self.peek()
        if found not in {b",", closing}:
            self.broken(f"',' or '{closing.decode()}'")
        self._at += 1
        return found == closing

    def _more(self, keep_from: int) -> bool:
        """Read on and forget what stands before `keep_from`; False at the end of the file.

        A read is as long as what is kept, so that a long value costs linear time.
        """
        self._line += self._buffer.count(b"\n", self._counted, keep_from) if keep_from > self._counted else 0
        self._counted = max(self._counted, keep_from) - keep_from
        fresh = self._read(max(_CHUNK, len(self._buffer) - keep_from))
        self._base += keep_from
        self._at -= keep_from
        self._buffer = self._buffer[keep_from:] + fresh
        return bool(fresh)

    def _scan_string(self) -> bytes:
        while (found := _STRING.match(self._buffer, self._at)) is None:
            self._grow(self._at, "a closed string")
        self._at = found.end()
        return found.group()

    def _scan_scalar(self) -> bytes:
        while (end := _end_of(_SCALAR, self._buffer, self._at)) == len(self._buffer):
            if end - self._at > _CHUNK:
                self.broken("a value")
            if not self._more(self._at):
                end = len(self._buffer)
                break
        if end == self._at:
            self.broken("a value")
        data, self._at = self._buffer[self._at : end], end
        return data

    def _scan_container(self, *, keep: bool) -> tuple[bytes | None, bool]:
        """Pass an object or array; its bytes, unless they are not wanted or too many, and whether it is too deep.

        Brackets in a row are counted together, so that a file of nothing else is passed as fast as it is read.
        """
        begin, line, depth, deep = self.offset, self.line, 0, False
        while True:
            self._at = _end_of(_UP_TO_BRACKET, self._buffer, self._at)
            bracket = self._buffer[self._at : self._at + 1]
            if bracket in {b"", b'"'}:
                keep = keep and self.offset - begin <= self._limit
                end = f"the end of what opens at byte {begin} (line {line})"
                try:
                    self._grow(begin - self._base if keep else self._at, end)
                except InvalidInput as error:
                    if deep:
                        raise InvalidInput("json", "object", f"{_TOO_DEEP}, and has no end", line=line) from error
                    raise
                continue
            if bracket in _OPENING:
                opened = _end_of(_OPENINGS, self._buffer, self._at)
                depth, self._at = depth + opened - self._at, opened
                deep = deep or depth > _MAX_DEPTH
                keep = keep and not deep
                continue
            closed = min(_end_of(_CLOSINGS, self._buffer, self._at), self._at + depth)
            depth, self._at = depth - (closed - self._at), closed
            if depth == 0:
                fits = keep and self.offset - begin <= self._limit
                return (self._buffer[begin - self._base : self._at] if fits else None), deep

    def _grow(self, keep_from: int, expected: str) -> None:
        """Read on because a token is cut off; raises InvalidInput at the end of the file and for an endless token."""
        if len(self._buffer) - self._at > self._limit:
            self.broken(f"within {self._limit} bytes {expected}")
        if not self._more(keep_from):
            raise InvalidInput("json", "end of file", f"expected {expected} at byte {self.offset}", line=self.line)


def _end_of(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at


@dataclass(frozen=True, slots=True)
class Record:
    """One object of a file and the line it begins on."""

    value: dict[str, object]
    line: int


def records(stream: Stream) -> Iterator[Record | Rejected]:
    """The objects of a JSON array, or of a file with one object per line. Broken ones are refused, the rest goes on.

    Raises InvalidInput where the array itself is damaged, after everything before that place was handed out.
    """
    cursor = JsonCursor(stream.read)
    if stream.head().lstrip().startswith(b"["):
        for _ in cursor.elements():
            yield _record(cursor.value())
        if cursor.peek():
            cursor.broken("nothing after the closing bracket")
        return
    for number, line in numbered_lines(stream, MAX_RECORD_BYTES):
        if line is None:
            yield line_too_long(number, MAX_RECORD_BYTES)
        elif line.strip():
            yield _record(Raw(line, number, 0, MAX_RECORD_BYTES))


def _record(raw: Raw) -> Record | Rejected:
    try:
        return Record(mapping("json", raw.decode()), raw.line)
    except InvalidInput as error:
        return Rejected.at(raw.line, error)
