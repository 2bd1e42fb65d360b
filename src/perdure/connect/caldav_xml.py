"""WebDAV's XML, as little of it as reading calendars needs. A document with a DOCTYPE is refused, not expanded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, ParseError, fromstring

from perdure.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

DAV: Final = "{DAV:}"
CALDAV: Final = "{urn:ietf:params:xml:ns:caldav}"
SERVER: Final = "{http://calendarserver.org/ns/}"

_STATUS: Final = re.compile(r"HTTP/\S+\s+(\d{3})")
_HEAD: Final = (
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<{name} xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/">{inner}</{name}>'
)
_OK: Final = 200
INSUFFICIENT_STORAGE: Final = 507


@dataclass(frozen=True, slots=True)
class Resource:
    """One response of a multistatus: its address as the server wrote it, its own status, and its properties."""

    href: str
    status: int
    properties: dict[str, Element]

    def text(self, name: str) -> str:
        """A property's text, stripped; empty when there is none."""
        found = self.properties.get(name)
        return (found.text or "").strip() if found is not None else ""

    def href_in(self, name: str) -> str:
        """The address that a property holds."""
        found = self.properties.get(name)
        inner = found.find(f"{DAV}href") if found is not None else None
        return (inner.text or "").strip() if inner is not None else ""

    @property
    def is_calendar(self) -> bool:
        """Whether it is a calendar that may hold events."""
        kinds = self.properties.get(f"{DAV}resourcetype")
        if kinds is None or kinds.find(f"{CALDAV}calendar") is None:
            return False
        components = self.properties.get(f"{CALDAV}supported-calendar-component-set")
        names = [] if components is None else [part.get("name", "").upper() for part in components]
        return not names or "VEVENT" in names


def propfind(*names: str) -> bytes:
    """A question for properties, named with the prefixes d, c and s."""
    inner = "".join(f"<{name}/>" for name in names)
    return _HEAD.format(name="d:propfind", inner=f"<d:prop>{inner}</d:prop>").encode()


def events_between(start: datetime, stop: datetime) -> bytes:
    """A question for every event that has an instance in a span of time (both in UTC)."""
    span = f'<c:time-range start="{start:%Y%m%dT%H%M%SZ}" end="{stop:%Y%m%dT%H%M%SZ}"/>'
    inner = (
        "<d:prop><d:getetag/><c:calendar-data/></d:prop>"
        f'<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT">{span}</c:comp-filter>'
        "</c:comp-filter></c:filter>"
    )
    return _HEAD.format(name="c:calendar-query", inner=inner).encode()


def resources(body: bytes, host: str) -> list[Resource]:
    """The responses of a multistatus. Raises SourceUnavailable for what is none."""
    try:
        root = _parsed(body)
    except (ParseError, UnicodeDecodeError, ValueError) as error:
        raise SourceUnavailable(
            f"{host} answered with XML that can't be read.", hint="Is it a CalDAV server?"
        ) from error
    if root.tag != f"{DAV}multistatus":
        raise SourceUnavailable(f"{host} answered with {root.tag[:80]}.", hint="Is it a CalDAV server?")
    return list(_responses(root))


def _parsed(body: bytes) -> Element:
    text = body.decode("utf-8-sig")
    if "<!DOCTYPE" in text:  # what entities are declared in; a decoded text can't hide it in another encoding
        raise ValueError("a DOCTYPE")
    return fromstring(text)  # noqa: S314  # without a DOCTYPE there are no entities to expand


def _responses(root: Element) -> Iterator[Resource]:
    for response in root.iterfind(f"{DAV}response"):
        href = (response.findtext(f"{DAV}href") or "").strip()
        status = _code(response.findtext(f"{DAV}status"))
        found: dict[str, Element] = {}
        for part in response.iterfind(f"{DAV}propstat"):
            if _code(part.findtext(f"{DAV}status")) == _OK:
                for holder in part.iterfind(f"{DAV}prop"):
                    found.update((element.tag, element) for element in holder)
        yield Resource(href, status, found)


def _code(text: str | None) -> int:
    """The number in a status line; a missing one means that all is well."""
    match = _STATUS.match((text or "").strip())
    return int(match[1]) if match else _OK
