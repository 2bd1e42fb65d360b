"""Which time zone a TZID means: IANA names, Windows names, a calendar's own VTIMEZONE, and the spellings in between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Final, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import regex
from icalendar import Timezone
from icalendar.timezone.tzp import TZP
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

if TYPE_CHECKING:
    from perdure.connect.calendar_lines import Block, CalendarText

_OFFSET: Final = regex.compile(r"\(?(?:UTC|GMT)(?:([+-])(\d{1,2}):?(\d\d)?)?(?=$|[\s)])", regex.IGNORECASE)
_YEARLY: Final = frozenset({"FREQ", "INTERVAL", "BYMONTH", "BYMONTHDAY", "BYDAY", "UNTIL", "COUNT", "WKST"})
_MAX_OBSERVANCE_LINES: Final = 5000
_MAX_NOTES: Final = 20
_MAX_PATH: Final = 8


class Zones:
    """The zones of one calendar. Nothing is kept beyond it: another calendar may mean another zone by the same name."""

    def __init__(self, calendar: CalendarText, default: tzinfo, notes: list[str]) -> None:
        """`default` is the zone of times written without one, unless the calendar names its own (X-WR-TIMEZONE)."""
        self._calendar, self._notes = calendar, notes
        self._found: dict[str, tzinfo] = {}
        self.floating = (self._named(calendar.zone) if calendar.zone else None) or default

    def find(self, tzid: str) -> tzinfo:
        """The zone of a TZID; one that nobody knows is read as the calendar's own zone, and a note says so."""
        if tzid not in self._found:
            zone = self._named(tzid)
            if zone is None:
                zone = self.floating
                note = f"the time zone {tzid[:80]!r} is unknown and was read as {zone_name(zone)}"
                if note not in self._notes and len(self._notes) < _MAX_NOTES:
                    self._notes.append(note)
            self._found[tzid] = zone
        return self._found[tzid]

    def _named(self, tzid: str) -> tzinfo | None:
        name = tzid.strip().strip('"').strip("/")
        found = _iana(name) or _iana(WINDOWS_TO_OLSON.get(name, ""))
        if found is None and (block := self._calendar.zones.get(tzid)) is not None:
            found = _iana(block.value("X-LIC-LOCATION")) or _defined(block)
        if found is not None:
            return found
        parts = name.split("/")  # /freeassociation.sourceforge.net/America/Argentina/Ushuaia
        for first in range(1, min(len(parts), _MAX_PATH)):
            if (found := _iana("/".join(parts[first:]))) is not None:
                return found
        return _offset(name)


def zone_name(zone: tzinfo, at: datetime | None = None) -> str:
    """How a zone is called: its IANA name, else its offset at that time, such as UTC+01:00."""
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    offset = zone.utcoffset(at) if at is not None else zone.utcoffset(None)
    if not offset:
        return "UTC"
    minutes = round(abs(offset.total_seconds()) / 60)
    return f"UTC{'-' if offset < timedelta(0) else '+'}{minutes // 60:02}:{minutes % 60:02}"


def _iana(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):  # no such zone, a path, a folder of zones
        return None


def _offset(name: str) -> tzinfo | None:
    """`UTC`, `GMT+0100`, and the display names of Windows, `(UTC+01:00) Amsterdam, Berlin`."""
    match = _OFFSET.match(name)
    if match is None:
        return None
    if match[1] is None:
        return UTC
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(-offset if match[1] == "-" else offset) if offset < timedelta(hours=24) else None


def _defined(block: Block) -> tzinfo | None:
    """The zone that a VTIMEZONE describes; None when it is broken, or repeats more often than zones do."""
    if len(block.lines) > _MAX_OBSERVANCE_LINES or not all(map(_harmless, _rules(block))):
        return None
    # Without its name the zone stays out of icalendar's cache, which is shared by all calendars of the process.
    lines = [str(line) for line in block.lines if line.name != "TZID"]
    try:
        text = "\r\n".join(["BEGIN:VTIMEZONE", *lines, "END:VTIMEZONE", ""])
        component = cast("Timezone", Timezone.from_ical(text))
        component.add("TZID", "Custom")
        zone = component.to_tz(TZP(), lookup_tzid=False)
        usable = zone.utcoffset(datetime(2026, 1, 1)) is not None  # noqa: DTZ001  # local time is what zones are asked
    except Exception:  # a foreign definition goes through two parsers, which fail in every way there is
        return None
    return zone if usable else None


def _rules(block: Block) -> list[dict[str, str]]:
    return [
        dict(part.upper().partition("=")[::2] for part in line.value.strip().split(";") if part)
        for line in block.lines
        if line.name == "RRULE"
    ]


def _harmless(rule: dict[str, str]) -> bool:
    return rule.get("FREQ") == "YEARLY" and rule.keys() <= _YEARLY
