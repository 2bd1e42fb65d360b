"""One VEVENT, understood: its values read, its times put into their zones, what contradicts itself mended."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import regex
from icalendar import Event
from icalendar.prop import vBroken, vDDDTypes

from perdure.connect.calendar_lines import Line
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from perdure.connect.calendar_lines import Block, CalendarText
    from perdure.connect.calendar_zones import Zones

Properties: TypeAlias = Any
"""An `icalendar.Event`. Its values are of some thirty types, so each is looked at before it is used."""

MAX_UID_BYTES: Final = 400
MAX_DATES: Final = 20_000
BAD_VALUE: Final = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError)
"""What icalendar and its helpers raise on values that nobody should write."""

_ZONED: Final = frozenset({"DTSTART", "DTEND", "RECURRENCE-ID", "RDATE", "EXDATE"})
_TZID: Final = regex.compile(r';TZID=("[^"]*+"|[^;:"]*+)', regex.IGNORECASE)
_DAY: Final = timedelta(days=1)


@dataclass(slots=True)
class Entry:
    """The event itself, or an edited instance of it. `zone` is where a person reads its times, so never plain UTC."""

    event: Properties
    line: int
    zone: tzinfo
    cancelled: bool

    @property
    def start(self) -> date:
        return cast("date", self.event["DTSTART"].dt)

    @property
    def rule_zone(self) -> tzinfo:
        """Where its rule counts days and reads local times."""
        return (self.start.tzinfo if isinstance(self.start, datetime) else None) or self.zone

    @property
    def instance(self) -> date | None:
        """The start that this instance had before it was edited."""
        value = self.event.get("RECURRENCE-ID")
        return None if value is None else cast("date", value.dt)

    @property
    def age(self) -> tuple[int, float]:
        """Which of two versions is the newer one."""
        sequence = self.event.get("SEQUENCE", 0)
        stamps = (self.event.get(name) for name in ("LAST-MODIFIED", "DTSTAMP"))
        times = [stamp.dt for stamp in stamps if isinstance(stamp, vDDDTypes) and isinstance(stamp.dt, datetime)]
        return int(sequence) if isinstance(sequence, int) else 0, moment(times[0], UTC).timestamp() if times else 0.0


def block_uid(block: Block) -> str:
    """The UID, shortened by a digest when it is long; of an event without one, a digest of its start and title."""
    uid = " ".join(block.value("UID").split())
    if uid and len(uid.encode()) <= MAX_UID_BYTES and uid.isprintable():
        return uid
    told = uid or f"{block.value('DTSTART')}\n{block.value('SUMMARY')}"
    return f"perdure-{hashlib.blake2b(told.encode(), digest_size=16).hexdigest()}"


def understood(block: Block, calendar: CalendarText, zones: Zones) -> Entry:
    """The event that a block describes, its times in their zones."""
    shown = block.value("SUMMARY") or block.value("UID")
    wanted = [*map(_without_zone, block.lines)]
    try:
        event: Properties = Event.from_ical("\r\n".join(["BEGIN:VEVENT", *wanted, "END:VEVENT", ""]))
    except BAD_VALUE as error:
        raise InvalidInput("event", shown, f"it can't be read ({error})") from error
    for name in _ZONED & event.keys():
        _put_in_zones(event, name, zones, shown)
    start = event.get("DTSTART")
    if not isinstance(start, vDDDTypes) or not isinstance(start.dt, date):
        raise InvalidInput("DTSTART", block.value("DTSTART"), f"the event {shown[:80]!r} has to have a date or time")
    _mend_end(event)
    own = start.dt.tzinfo if isinstance(start.dt, datetime) else None
    zone = zones.floating if own is None or own.utcoffset(None) == timedelta(0) else own
    status = str(event.get("STATUS", "")).upper()
    return Entry(event, block.line, zone, status == "CANCELLED" or calendar.method == "CANCEL")


def _without_zone(line: Line) -> str:
    """The line with its TZID moved where icalendar doesn't look: which zone is meant is decided in `Zones`."""
    if line.name in _ZONED and (tzid := _TZID.search(line.params)):
        name = tzid[1].strip('"')
        return str(Line(line.name, f'{line.params.replace(tzid[0], "")};X-ZONE="{name}"', line.value))
    return str(line)


def _put_in_zones(event: Properties, name: str, zones: Zones, shown: str) -> None:
    """Give every local time of a property its zone; a property that may stand several times becomes one list."""
    values = event[name] if isinstance(event[name], list) else [event[name]]
    if any(isinstance(value, vBroken) for value in values):
        raise InvalidInput(name, str(values[0])[:80], f"the event {shown[:80]!r} has to have valid dates and times")
    for value in values:
        tzid = str(value.params.get("X-ZONE", ""))
        if tzid:
            del value.params["X-ZONE"]
        for single in value.dts:
            single.dt = _in_zone(single.dt, tzid, zones)
    if name not in {"RDATE", "EXDATE"}:
        event[name] = values[0]
    elif sum(len(value.dts) for value in values) > MAX_DATES:
        raise InvalidInput(name, shown, f"an event has at most {MAX_DATES:,} of them")


def _in_zone(value: Any, tzid: str, zones: Zones) -> Any:
    if isinstance(value, tuple):
        return tuple(_in_zone(part, tzid, zones) for part in value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=zones.find(tzid) if tzid else zones.floating)
    return value


def _mend_end(event: Properties) -> None:
    """Drop an end that contradicts the start: of another kind, or before it."""
    start = event["DTSTART"].dt
    end, duration = event.get("DTEND"), event.get("DURATION")
    if end is not None:
        fits = isinstance(end, vDDDTypes) and isinstance(end.dt, datetime) == isinstance(start, datetime)
        if not fits or end.dt < start:
            del event["DTEND"]
        event.pop("DURATION", None)
    elif duration is not None and not _is_length(duration):
        del event["DURATION"]


def _is_length(value: Any) -> bool:
    return isinstance(value, vDDDTypes) and isinstance(value.dt, timedelta) and value.dt >= timedelta(0)


def end_of(event: Properties) -> date:
    start = event["DTSTART"].dt
    if (end := event.get("DTEND")) is not None:
        return cast("date", end.dt)
    if (duration := event.get("DURATION")) is not None:
        return cast("date", start + duration.dt)
    return cast("date", start if isinstance(start, datetime) else start + _DAY)


def moment(value: date, zone: tzinfo) -> datetime:
    """As a time in UTC. A local time that a change of clocks skips is read with the offset before the change."""
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    try:
        return value.astimezone(UTC)
    except OverflowError:  # the first and last day there is: nothing lies beyond them
        return value.replace(tzinfo=UTC)


def stamp(start: date) -> str:
    """A start as it stands in a series: 20260305 for a whole day, 20260305T130000Z for a time."""
    if isinstance(start, datetime):
        return moment(start, UTC).strftime("%Y%m%dT%H%M%SZ")
    return start.strftime("%Y%m%d")
