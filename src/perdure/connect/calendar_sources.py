"""Calendars as files and as published addresses: the sources that read iCalendar text."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from perdure.connect.calendar_events import read_instances
from perdure.connect.calendar_http import Reader, calendar_url
from perdure.connect.calendar_known import CalendarOptions, Checkpoint, news
from perdure.connect.calendar_lines import MAX_CALENDAR_BYTES
from perdure.connect.closing import Closing
from perdure.connect.reading import Source
from perdure.types import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

_NOT_MODIFIED: Final = 304
_OK: Final = 200
_NAME_DIGITS: Final = 16
_PATH_BYTES: Final = 180  # of the 200 of a name
_MARK_CHARS: Final = 1000
_CHUNK: Final = 1024 * 1024


class IcsFile(Closing):
    """The events of an .ics file (gzip is fine, too), as the file stands now."""

    def __init__(self, path: Path, options: CalendarOptions | None = None) -> None:
        """Raises InvalidInput when the path is missing, empty or no regular file."""
        self._source = Source(path)
        self._options = options or CalendarOptions()
        self.name = f"ics:{_short(str(path.resolve()))}"
        self.notes: list[str] = []

    def batches(self, checkpoint: Mapping[str, object] | None, *, now: datetime) -> Iterator[SourceBatch]:
        """What is new, changed or gone since the checkpoint; blocking.

        Raises InvalidInput for a file that is no calendar, and then nothing counts as gone.
        """
        with self._source.open() as stream:
            data = bytearray()
            while len(data) <= MAX_CALENDAR_BYTES and (part := stream.read(_CHUNK)):
                data += part
        reading = read_instances(bytes(data), self._options.window(now), self._options.zone)
        self.notes = reading.notes
        yield from news(reading, Checkpoint(checkpoint, self._options), now, self._options, {})

    def close(self) -> None:
        """Close the file; safe to repeat."""
        self._source.close()


class CalendarOverHttp(Closing):
    """What the sources share that ask a server."""

    def __init__(
        self,
        url: str,
        options: CalendarOptions | None = None,
        *,
        username: str | None = None,
        password: str | None = None,
    ) -> None:
        """Raises InvalidInput for an address that isn't https."""
        self._url = calendar_url(url)
        self._user = username or self._url.username
        self._options = options or CalendarOptions()
        self._reader = Reader(self._url, username=username, password=password)
        self.notes: list[str] = []

    def close(self) -> None:
        """Close the connections; safe to repeat."""
        self._reader.close()


class IcsUrl(CalendarOverHttp):
    """The events of a calendar that is published at an https address (webcal is read as https)."""

    @property
    def name(self) -> str:
        """`ics:host/digest`. The path of a private calendar is its secret: it must not stand in a table."""
        return f"ics:{self._url.host}/{name_digits(str(self._url))}"

    def batches(self, checkpoint: Mapping[str, object] | None, *, now: datetime) -> Iterator[SourceBatch]:
        """What is new, changed or gone since the checkpoint; blocking. Nothing when the server says so (ETag).

        Raises SourceUnavailable when the calendar can't be had, and InvalidInput when it is none.
        """
        known = Checkpoint(checkpoint, self._options)
        headers = {"Accept": "text/calendar, */*;q=0.5"}
        if known.fresh(now):
            pairs = (("If-None-Match", "etag"), ("If-Modified-Since", "last_modified"))
            headers |= {header: str(known.state[key]) for header, key in pairs if known.state.get(key)}
        answer = self._reader.read("GET", self._url, headers)
        if answer.status == _NOT_MODIFIED:
            return
        if answer.status != _OK:
            raise answer.refused("the reading of a calendar")
        state = {
            key: value[:_MARK_CHARS]
            for key, header in (("etag", "etag"), ("last_modified", "last-modified"))
            if (value := answer.headers.get(header))
        }
        reading = read_instances(answer.body, self._options.window(now), self._options.zone)
        self.notes = reading.notes
        yield from news(reading, known, now, self._options, state)


def name_digits(text: str) -> str:
    """What stands in a source's name for what must not, or is too long: 16 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=_NAME_DIGITS // 2).hexdigest()


def _short(text: str) -> str:
    """The text itself when it is a name that can be stored, else its end and a digest."""
    if text.isprintable() and len(text.encode("utf-8", "replace")) <= _PATH_BYTES:
        return text
    return f"{name_digits(repr(text))}/{ascii(text[-40:])[1:-1]}"
