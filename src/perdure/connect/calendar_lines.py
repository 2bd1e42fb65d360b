"""The lines of iCalendar text, taken apart into calendars, time zones and events, before anything is understood.

Only what Perdure reads of an event is kept, so that an inline attachment, an alarm or a private property that somebody
spelt badly can't spoil it. A part that is broken is refused by its line and the rest goes on.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import regex

from perdure.connect.reading import Rejected
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CALENDAR_BYTES: Final = 64 * 1024 * 1024
"""The most iCalendar text that is read at once: some 60,000 events."""

MAX_EVENT_BYTES: Final = 1024 * 1024
"""The most that is kept of one event, attachments not counted."""

_OPENING: Final = "BEGIN:"
_CLOSING: Final = "END:"
_MAX_DEPTH: Final = 16
_WHAT: Final = {"UID", "SUMMARY", "DESCRIPTION", "X-ALT-DESC", "LOCATION", "STATUS", "ORGANIZER", "ATTENDEE"}
_WHEN: Final = {"DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID"}
_WHICH: Final = {"SEQUENCE", "LAST-MODIFIED", "DTSTAMP"}
_WANTED: Final = frozenset(_WHAT | _WHEN | _WHICH)
_NAME: Final = regex.compile(r"[A-Za-z0-9-]{1,64}+")
_CONTROL: Final = regex.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_QUOTES_OR_COLON: Final = regex.compile(r'"[^"]*+"|:')


@dataclass(frozen=True, slots=True)
class Line:
    """One property: its name in capitals, its parameters with their leading semicolon, its value as written."""

    name: str
    params: str
    value: str

    @property
    def opens(self) -> bool:
        """Whether a component begins here."""
        return f"{self.name}:" == _OPENING

    @property
    def closes(self) -> bool:
        """Whether a component ends here."""
        return f"{self.name}:" == _CLOSING

    def __str__(self) -> str:
        return f"{self.name}{self.params}:{self.value}"


@dataclass(frozen=True, slots=True)
class Block:
    """The properties of one component, and where it begins. Of a time zone the lines of its parts are among them."""

    line: int
    lines: tuple[Line, ...]

    def value(self, name: str) -> str:
        """The first value of a property, stripped; empty when there is none."""
        return next((line.value.strip() for line in self.lines if line.name == name), "")


@dataclass(slots=True)
class CalendarText:
    """One VCALENDAR: what it says about itself, its time zones by TZID, and its events."""

    name: str = ""
    zone: str = ""
    method: str = ""
    zones: dict[str, Block] = field(default_factory=dict)
    events: list[Block] = field(default_factory=list)


@dataclass(slots=True)
class Scan:
    """All calendars of a text. `complete` is false when events may have been lost: what is absent may still exist."""

    calendars: list[CalendarText] = field(default_factory=list)
    refused: list[Rejected] = field(default_factory=list)
    complete: bool = True

    def refuse(self, line: int, value: object, limit: str) -> None:
        """Report one part that can't be read."""
        self.refused.append(Rejected.at(line, InvalidInput("event", value, limit)))


def looks_like_calendar(head: bytes) -> bool:
    """Whether a file that begins with these bytes holds iCalendar text."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:15].upper() == b"BEGIN:VCALENDAR"


def scan(data: bytes) -> Scan:
    """Take the text apart. Raises InvalidInput when it holds no calendar at all, or more than `MAX_CALENDAR_BYTES`."""
    if len(data) > MAX_CALENDAR_BYTES:
        limit = f"at most {MAX_CALENDAR_BYTES:,} bytes of iCalendar are read at once; export a shorter span of time"
        raise InvalidInput("calendar", f"{len(data):,} bytes", limit)
    found = _Scanner().run(data)
    if not found.calendars:
        limit = "it has to be iCalendar text, which begins with BEGIN:VCALENDAR"
        raise InvalidInput("calendar", data[:40], limit)
    return found


class _Scanner:
    """Follows BEGIN and END. A component that begins where it can't ends the one that was open, which is refused."""

    def __init__(self) -> None:
        self._found = Scan()
        self._calendar: CalendarText | None = None
        self._open: str | None = None  # VEVENT or VTIMEZONE
        self._inside: list[str] = []  # parts of the open component, or other components of the calendar
        self._began = 0
        self._lines: list[Line] = []
        self._size = 0
        self._fault: str | None = None

    def run(self, data: bytes) -> Scan:
        for number, raw in _unfolded(data):
            try:
                line = _taken_apart(raw.decode("utf-8"))
            except UnicodeDecodeError:
                self._fault = self._fault or "it is not UTF-8; convert the file, for Latin-1 with `iconv -f LATIN1`"
                continue
            if line is None:
                continue
            if line.opens:
                self._begin(line.value.strip().upper(), number)
            elif line.closes:
                self._end(line.value.strip().upper())
            else:
                self._keep(line)
        if self._open is not None:
            self._broken_off()
        if self._calendar is not None:
            self._found.complete = False
        return self._found

    def _begin(self, name: str, number: int) -> None:
        if name in {"VCALENDAR", "VEVENT", "VTIMEZONE"}:
            if self._open is not None:
                self._broken_off()
            self._inside.clear()
        if name == "VCALENDAR":
            self._found.complete &= self._calendar is None
            self._calendar = CalendarText()
            self._found.calendars.append(self._calendar)
        elif name in {"VEVENT", "VTIMEZONE"} and self._calendar is not None:
            self._open, self._began, self._lines, self._size, self._fault = name, number, [], 0, None
        elif len(self._inside) >= _MAX_DEPTH:
            self._fault = self._fault or f"its parts are nested more than {_MAX_DEPTH} deep"
        else:
            self._inside.append(name)
            if self._open == "VTIMEZONE":
                self._lines.append(Line(_OPENING[:-1], "", name))

    def _end(self, name: str) -> None:
        if self._inside and name in self._inside:
            while self._inside.pop() != name:
                pass
            if self._open == "VTIMEZONE":
                self._lines.append(Line(_CLOSING[:-1], "", name))
        elif name == "VCALENDAR":
            if self._open is not None:
                self._broken_off()
            self._inside.clear()
            self._calendar = None
        elif name == self._open:
            self._close()

    def _keep(self, line: Line) -> None:
        if self._open == "VEVENT":
            if not self._inside and line.name in _WANTED:
                self._size += len(line.value) + len(line.params)
                if self._size > MAX_EVENT_BYTES:
                    self._fault = self._fault or f"an event has at most {MAX_EVENT_BYTES:,} characters"
                else:
                    self._lines.append(line)
        elif self._open == "VTIMEZONE":
            self._lines.append(line)
        elif self._calendar is not None and not self._inside:
            if line.name in {"X-WR-CALNAME", "NAME"}:
                self._calendar.name = line.value.strip()
            elif line.name == "X-WR-TIMEZONE":
                self._calendar.zone = line.value.strip()
            elif line.name == "METHOD":
                self._calendar.method = line.value.strip().upper()

    def _close(self) -> None:
        assert self._calendar is not None
        block = Block(self._began, tuple(self._lines))
        if self._open == "VTIMEZONE":
            if not self._fault:
                self._calendar.zones.setdefault(block.value("TZID"), block)
        elif self._fault:
            self._found.refuse(self._began, block.value("SUMMARY") or block.value("UID"), self._fault)
            self._found.complete = False
        else:
            self._calendar.events.append(block)
        self._open = None
        self._inside.clear()

    def _broken_off(self) -> None:
        if self._open == "VEVENT":
            block = Block(self._began, tuple(self._lines))
            limit = "it is broken off: its END:VEVENT is missing"
            self._found.refuse(self._began, block.value("SUMMARY") or block.value("UID"), limit)
        self._found.complete = False
        self._open = None


def _unfolded(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Logical lines with the number of their first line; a line that begins with white space continues the last."""
    parts: list[bytes] = []
    began = 0
    for number, raw in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        if raw[:1] in {b" ", b"\t"} and parts:
            parts.append(raw[1:])
            continue
        if parts:
            yield began, b"".join(parts)
        parts, began = ([raw], number) if raw.strip() else ([], 0)
    if parts:
        yield began, b"".join(parts)


def _taken_apart(text: str) -> Line | None:
    """Name, parameters and value, without control characters; None for what is no property."""
    text = _CONTROL.sub("", text)
    name = _NAME.match(text)
    if name is None or text[name.end() : name.end() + 1] not in {";", ":"}:
        return None
    colon = next((hit.start() for hit in _QUOTES_OR_COLON.finditer(text, name.end()) if hit[0] == ":"), None)
    if colon is None:
        return None
    return Line(name[0].upper(), text[name.end() : colon], text[colon + 1 :])
