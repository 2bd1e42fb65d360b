"""A CalDAV account as a source. Only PROPFIND and REPORT are sent: nothing on the server is ever changed.

Written on httpx instead of a CalDAV library: reading takes two kinds of question, and the library there is brings an
HTTP client of its own with a QUIC stack, a replacement of urllib3 and lxml, and can write.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

import httpx

from perdure.connect.caldav_xml import (
    CALDAV,
    DAV,
    INSUFFICIENT_STORAGE,
    SERVER,
    Resource,
    events_between,
    propfind,
    resources,
)
from perdure.connect.calendar_events import Reading, Window, read_instances
from perdure.connect.calendar_known import Checkpoint, news
from perdure.connect.calendar_rules import Budget
from perdure.connect.calendar_sources import CalendarOverHttp, name_digits
from perdure.errors import InvalidInput, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from perdure.connect.calendar_http import Answer
    from perdure.types import SourceBatch

MAX_CALENDARS: Final = 100
MAX_EVENTS: Final = 50_000
"""The most event resources read from one account."""

_SHORTEST_SPAN: Final = timedelta(days=1)
_XML: Final = {"Content-Type": "application/xml; charset=utf-8"}
_MULTISTATUS: Final = 207
_STATE_CHARS: Final = 500
_TOO_MUCH: Final = frozenset({413, 504, INSUFFICIENT_STORAGE})
_ABOUT: Final = propfind(
    "d:resourcetype",
    "d:displayname",
    "d:sync-token",
    "d:current-user-principal",
    "c:calendar-home-set",
    "c:supported-calendar-component-set",
    "s:getctag",
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A calendar on the server. `state` changes whenever something in it does; empty when the server has no mark."""

    url: httpx.URL
    name: str
    state: str


class CalDav(CalendarOverHttp):
    """The events of all calendars of an account, or of one calendar, by the address of server, user or calendar."""

    @property
    def name(self) -> str:
        """`caldav:host/digest`, the digest that of user and address."""
        told = f"{self._user}\n{self._url.copy_with(username=None, password=None)}"
        return f"caldav:{self._url.host}/{name_digits(told)}"

    def batches(self, checkpoint: Mapping[str, object] | None, *, now: datetime) -> Iterator[SourceBatch]:
        """What is new, changed or gone since the checkpoint; blocking. Nothing when no calendar has changed.

        Raises SourceUnavailable when server or account can't be reached, and then nothing counts as gone.
        """
        window = self._options.window(now)
        known = Checkpoint(checkpoint, self._options)
        calendars = self._calendars()
        state = {str(calendar.url): calendar.state for calendar in calendars}
        if known.fresh(now) and known.state == state and all(state.values()):
            return
        reading = self._read(calendars, window)
        self.notes = reading.notes
        yield from news(reading, known, now, self._options, state)

    def _calendars(self) -> list[_Found]:
        """From a calendar, a user or a server to its calendars."""
        url, about = self._start()
        if about.is_calendar:
            return [self._found(url, about)]
        home = about.href_in(f"{CALDAV}calendar-home-set")
        if not home and (principal := about.href_in(f"{DAV}current-user-principal")):
            url = self._reader.joined(url, principal)
            home = self._about(url).href_in(f"{CALDAV}calendar-home-set")
        if home:
            url = self._reader.joined(url, home)
        found = [
            self._found(self._reader.joined(url, resource.href), resource)
            for resource in self._below(url)
            if resource.is_calendar
        ]
        if not found:
            raise SourceUnavailable(f"{url.host} has no calendar for this user.", hint="Check address and user name.")
        return sorted(found, key=lambda calendar: str(calendar.url))[:MAX_CALENDARS]

    def _start(self) -> tuple[httpx.URL, Resource]:
        """What the address says about itself; a bare server is asked where its calendars are (RFC 6764)."""
        answer = self._reader.read("PROPFIND", self._url, {**_XML, "Depth": "0"}, _ABOUT)
        if answer.status != _MULTISTATUS and self._url.path in {"", "/"} and answer.status not in {401, 403}:
            known = self._url.copy_with(raw_path=b"/.well-known/caldav")
            answer = self._reader.read("PROPFIND", known, {**_XML, "Depth": "0"}, _ABOUT)
        return answer.url, self._one(answer)

    def _about(self, url: httpx.URL) -> Resource:
        return self._one(self._reader.read("PROPFIND", url, {**_XML, "Depth": "0"}, _ABOUT))

    def _one(self, answer: Answer) -> Resource:
        if answer.status != _MULTISTATUS:
            raise answer.refused("the question where its calendars are")
        found = resources(answer.body, answer.url.host)
        if not found:
            raise SourceUnavailable(f"{answer.url.host} says nothing about its calendars.", hint="Check the address.")
        return found[0]

    def _below(self, url: httpx.URL) -> list[Resource]:
        answer = self._reader.read("PROPFIND", url, {**_XML, "Depth": "1"}, _ABOUT)
        if answer.status != _MULTISTATUS:
            raise answer.refused("the question for its calendars")
        return resources(answer.body, answer.url.host)

    def _found(self, url: httpx.URL, about: Resource) -> _Found:
        state = about.text(f"{SERVER}getctag") or about.text(f"{DAV}sync-token")
        return _Found(url, about.text(f"{DAV}displayname") or url.path, state[:_STATE_CHARS])

    def _read(self, calendars: list[_Found], window: Window) -> Reading:
        """The instances of all calendars. What one calendar can't give is refused, and nothing counts as gone then."""
        gathered = _Gathering(window, self._options.zone)
        for calendar in calendars:
            try:
                texts = self._events(calendar.url, window.start, window.stop)
            except (SourceUnavailable, InvalidInput) as error:
                if len(calendars) == 1:
                    raise
                gathered.miss(InvalidInput("calendar", calendar.name, str(error).rstrip(".")))
                continue
            for href, text in texts.items():
                gathered.add(href, text)
        gathered.reading.instances.sort(key=lambda instance: (instance.begins, instance.series))
        return gathered.reading

    def _events(self, url: httpx.URL, start: datetime, stop: datetime) -> dict[str, str]:
        """Every event of a calendar in a span of time, by address; asked in halves when the server cuts its answer."""
        answer = self._reader.read("REPORT", url, {**_XML, "Depth": "1"}, events_between(start, stop))
        found = resources(answer.body, answer.url.host) if answer.status == _MULTISTATUS else []
        cut = answer.status in _TOO_MUCH or any(resource.status == INSUFFICIENT_STORAGE for resource in found)
        if cut and stop - start > _SHORTEST_SPAN:
            middle = start + (stop - start) / 2
            both = self._events(url, start, middle) | self._events(url, middle, stop)
            if len(both) > MAX_EVENTS:
                raise InvalidInput("calendar", url.path, f"at most {MAX_EVENTS:,} events are read; narrow the window")
            return both
        if cut or answer.status != _MULTISTATUS:
            raise answer.refused("the reading of a calendar")
        gone = {404, 410}  # deleted between the question and the answer
        return {each.href: each.text(f"{CALDAV}calendar-data") for each in found if each.status not in gone}


class _Gathering:
    """What all calendars hold together; an event that stands in several of them counts once."""

    def __init__(self, window: Window, zone: tzinfo) -> None:
        self.reading = Reading()
        self._window, self._zone, self._budget = window, zone, Budget()
        self._seen: set[str] = set()

    def miss(self, error: InvalidInput) -> None:
        """Something could not be read, and nobody knows what was in it."""
        self.reading.complete = False
        self.reading.refused.append(error)

    def add(self, href: str, text: str) -> None:
        """One event resource, with its edited instances."""
        try:
            found = read_instances(text.encode(), self._window, self._zone, self._budget)
        except InvalidInput as error:
            self.miss(InvalidInput("event", href, error.limit))
            return
        whole = self.reading
        fresh = [instance for instance in found.instances if instance.series not in self._seen]
        self._seen.update(instance.series for instance in fresh)
        whole.instances += fresh
        whole.refused += found.refused
        whole.notes += [note for note in found.notes if note not in whole.notes]
        whole.unread |= found.unread
        whole.complete &= found.complete
