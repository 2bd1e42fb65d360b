"""From the events of a calendar to their instances inside a window of time, recurrences expanded."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final

from icalendar import Calendar
from icalendar.prop import vRecur
from recurring_ical_events import CalendarQuery

from perdure.connect.calendar_entries import BAD_VALUE, block_uid, end_of, moment, stamp, understood
from perdure.connect.calendar_lines import Scan, scan
from perdure.connect.calendar_rules import Budget, checked_rule
from perdure.connect.calendar_zones import Zones
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from perdure.connect.calendar_entries import Entry, Properties

MAX_INSTANCES: Final = 1000
"""The most instances that one event may have inside a window; more is a clockwork, not somebody's calendar."""

_ANSWERS: Final = frozenset({"REPLY", "COUNTER", "DECLINECOUNTER", "REFRESH"})
_DAY: Final = timedelta(days=1)
_LONGEST_WINDOW: Final = timedelta(days=36_600)


@dataclass(frozen=True, slots=True)
class Window:
    """The span of time whose instances are read: what begins before `stop` and ends after `start` (both aware)."""

    start: datetime
    stop: datetime

    @classmethod
    def around(cls, now: datetime, past: timedelta, ahead: timedelta) -> Window:
        """From `past` before now to `ahead` after it. Raises InvalidInput for a now without a zone."""
        if now.tzinfo is None:
            raise InvalidInput("now", now, "it has to have a time zone")
        if past < timedelta(0) or ahead < timedelta(0) or past + ahead > _LONGEST_WINDOW:
            raise InvalidInput("window", f"{past} back, {ahead} ahead", "it may be at most 100 years, and not negative")
        now = now.astimezone(UTC)
        return cls(now - past, now + ahead)

    def holds(self, start: datetime, end: datetime) -> bool:
        """Whether what lasts from `start` to `end` touches the window; a moment belongs to its beginning."""
        return start < self.stop and (end > self.start or start >= self.start)


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of an event. `start` and `end` are dates for whole days (the end not included), else aware times.

    `series` stays the same when the instance is moved or edited. `zone` is the zone that dates are to be read in.
    """

    series: str
    uid: str
    event: Properties
    start: date
    end: date
    zone: tzinfo
    cancelled: bool
    line: int

    @property
    def begins(self) -> datetime:
        """When it begins, in UTC; whole days begin at midnight of the calendar's zone."""
        return moment(self.start, self.zone)

    @property
    def ends(self) -> datetime:
        """When it ends, in UTC."""
        return moment(self.end, self.zone)


@dataclass(slots=True)
class Reading:
    """What was found. `unread` are UIDs that are there but can't be read: they have not vanished."""

    name: str = ""
    instances: list[Instance] = field(default_factory=list)
    refused: list[InvalidInput] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    complete: bool = True


def read_instances(data: bytes, window: Window, zone: tzinfo, budget: Budget | None = None) -> Reading:
    """Every instance inside the window, in the order of their starts; broken events are refused, the rest is read.

    `zone` is where times without a zone and whole days are read. Raises InvalidInput for what is no iCalendar text.
    """
    found = scan(data)
    reading = Reading(complete=found.complete)
    reading.refused += [rejected.error for rejected in found.refused]
    budget = budget or Budget()
    for uid, entries in _by_uid(found, zone, reading).items():
        try:
            reading.instances += _expanded(uid, entries, window, budget, reading)
        except InvalidInput as error:
            _refuse(reading, entries[0].line, error, uid)
        except BAD_VALUE as error:
            shown = str(entries[0].event.get("SUMMARY", uid))
            _refuse(reading, entries[0].line, InvalidInput("event", shown, f"it can't be expanded ({error})"), uid)
    reading.instances.sort(key=lambda instance: (instance.begins, instance.series))
    return reading


def _refuse(reading: Reading, line: int, error: InvalidInput, uid: str) -> None:
    reading.refused.append(error.at_line(line))
    reading.unread.add(uid)


def _by_uid(found: Scan, zone: tzinfo, reading: Reading) -> dict[str, list[Entry]]:
    """The events of all calendars that belong together: an event and its edited instances have one UID."""
    groups: defaultdict[str, list[Entry]] = defaultdict(list)
    for calendar in found.calendars:
        reading.name = reading.name or calendar.name
        zones = Zones(calendar, zone, reading.notes)
        for block in calendar.events:
            uid = block_uid(block)
            if calendar.method in _ANSWERS:
                limit = f"it is an answer to an invitation (METHOD:{calendar.method}), not an event"
                _refuse(reading, block.line, InvalidInput("event", block.value("SUMMARY"), limit), uid)
                continue
            try:
                groups[uid].append(understood(block, calendar, zones))
            except InvalidInput as error:
                _refuse(reading, block.line, error, uid)
            except BAD_VALUE as error:
                shown = InvalidInput("event", block.value("SUMMARY"), f"it can't be read ({error})")
                _refuse(reading, block.line, shown, uid)
    return {uid: entries for uid, entries in groups.items() if entries}


def _expanded(uid: str, entries: list[Entry], window: Window, budget: Budget, reading: Reading) -> list[Instance]:
    """The instances of one UID inside the window."""
    whole, edited = _newest(entries, reading)
    recurs = bool(edited) or any(name in entry.event for entry in whole for name in ("RRULE", "RDATE"))
    if not recurs:
        entry = whole[0]
        start, end = entry.start, end_of(entry.event)
        single = Instance(uid, uid, entry.event, start, end, entry.zone, entry.cancelled, entry.line)
        return [single] if window.holds(single.begins, single.ends) else []
    for entry in whole:
        _check_rules(entry, window, budget)
    calendar = Calendar()
    lines: dict[int, Entry] = {}
    for number, entry in enumerate([*whole, *edited]):
        entry.event["X-ENTRY"] = str(number)
        lines[number] = entry
        calendar.subcomponents.append(entry.event)
    found = []
    for occurrence in _occurrences(calendar, window):
        entry = lines[int(str(occurrence["X-ENTRY"]))]
        start, end = _pair(occurrence["DTSTART"].dt, occurrence["DTEND"].dt)
        series = f"{uid}/{stamp(_original(occurrence, entry, start))}"
        instance = Instance(series, uid, occurrence, start, end, entry.zone, entry.cancelled, entry.line)
        if window.holds(instance.begins, instance.ends):
            found.append(instance)
    return list({instance.series: instance for instance in found}.values())


def _newest(entries: list[Entry], reading: Reading) -> tuple[list[Entry], list[Entry]]:
    """The newest version of the event (or none) and of each edited instance."""
    by_instance: dict[str, Entry] = {}
    for entry in entries:
        key = "" if entry.instance is None else stamp(entry.instance)
        other = by_instance.get(key)
        if other is None or entry.age > other.age:
            by_instance[key] = entry
        elif not key and entry.age == other.age and entry.start != other.start:
            shown = str(entry.event.get("SUMMARY", ""))
            limit = f"the event on line {other.line} has the same UID; every event needs its own"
            reading.refused.append(InvalidInput("event", shown, limit, line=entry.line))
    whole = by_instance.pop("", None)
    return [whole] if whole else [], list(by_instance.values())


def _check_rules(entry: Entry, window: Window, budget: Budget) -> None:
    rules = entry.event.get("RRULE")
    if rules is None:
        return
    checked = []
    for rule in rules if isinstance(rules, list) else [rules]:
        if not isinstance(rule, vRecur):
            raise InvalidInput("RRULE", str(rule), "it can't be understood")
        checked.append(checked_rule(rule, entry.start, window.stop, entry.rule_zone, budget))
    entry.event["RRULE"] = checked[0] if len(checked) == 1 else checked


def _occurrences(calendar: Calendar, window: Window) -> Iterator[Properties]:
    """What the library finds from a day before the window to a day after it, because whole days know no zone."""
    for series in CalendarQuery(calendar).series:
        found: Iterable[Any] = series.between(window.start - _DAY, window.stop + _DAY)
        for number, occurrence in enumerate(found):
            if number == MAX_INSTANCES:
                limit = f"it has more than {MAX_INSTANCES:,} instances inside the window of time; narrow the window"
                raise InvalidInput("event", str(calendar.subcomponents[0].get("SUMMARY", "")), limit)
            yield occurrence.as_component(False)


def _original(occurrence: Properties, entry: Entry, start: date) -> date:
    """The start that names the instance: where the rule puts it, wherever it was moved.

    With RANGE=THISANDFUTURE one edited instance stands for all later ones, moved by as much as itself.
    """
    if entry.instance is None:
        return start
    if str(entry.event["RECURRENCE-ID"].params.get("RANGE", "")).upper() != "THISANDFUTURE":
        return entry.instance
    moved = moment(entry.start, entry.zone) - moment(entry.instance, entry.zone)
    return start - moved if isinstance(start, datetime) else start - timedelta(days=moved.days)


def _pair(start: date, end: date) -> tuple[date, date]:
    """Both dates or both times: the library makes times of whole days when a rule names hours."""
    if isinstance(start, datetime) != isinstance(end, datetime):
        return (start, start) if isinstance(start, datetime) else (start, start + _DAY)
    return start, max(start, end)
