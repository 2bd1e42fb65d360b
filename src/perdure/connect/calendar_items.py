"""What an instance of an event says, as the item that is handed in: its words, and what makes it another revision."""

from __future__ import annotations

import hashlib
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import regex

from perdure.connect.calendar_zones import zone_name
from perdure.connect.mail_html import QUOTE_BEGIN, QUOTE_END, html_text
from perdure.door import MAX_NAME_BYTES, require_name
from perdure.errors import InvalidInput
from perdure.text import clean, truncate_bytes, truncate_chars
from perdure.types import SourceItem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perdure.connect.calendar_entries import Properties
    from perdure.connect.calendar_events import Instance

MAX_DESCRIPTION_CHARS: Final = 2000
MAX_TITLE_CHARS: Final = 300
MAX_PLACE_CHARS: Final = 500
MAX_ATTENDEES: Final = 20
"""How many attendees are named; the rest is counted."""

_MAX_READ_CHARS: Final = 100_000
_STATUS_CHARS: Final = 40
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = tuple(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_TAGS: Final = regex.compile(r"</?(?:a|b|br|div|em|font|h[1-6]|html|i|li|ol|p|span|strong|table|td|tr|u|ul)\b", regex.I)
_ESCAPED: Final = regex.compile(r"\\([nN,;\\])")
_MANY_LINES: Final = regex.compile(r"\n\s*\n\s*\n+")
_DAY: Final = timedelta(days=1)


def item(instance: Instance, revision: int = 1) -> SourceItem:
    """The instance as an item. `revision` counts the versions of this instance that the caller has seen.

    Its external id is that of its words: an instance that says the same is the same item, whenever it is read. From the
    second revision on the count is part of it, so that an event that is moved there and back is not taken for known.
    """
    event = instance.event
    title = _words(event.get("SUMMARY"), MAX_TITLE_CHARS)
    place = _words(event.get("LOCATION"), MAX_PLACE_CHARS)
    organizer = _person(_first(event.get("ORGANIZER")))
    count = "" if revision == 1 else f".{revision}"
    return SourceItem(
        kind="calendar",
        external_id=f"{instance.series}#{digest(instance)}{count}",
        text=_text(instance, title, place, organizer),
        occurred_at=instance.begins,
        title=title,
        speaker=_speaker(organizer),
        series=instance.series,
        cancelled=instance.cancelled,
        metadata=_metadata(instance, place),
    )


def gone(series: str, begins: datetime, ends: datetime, revision: int) -> SourceItem:
    """The item that closes what was kept of an instance that is no longer in the calendar; times in a local zone."""
    return SourceItem(
        kind="calendar",
        external_id=f"{series}#gone.{revision}",
        text=f"Cancelled: an event of {_day(begins)} is no longer in the calendar.",
        occurred_at=begins,
        series=series,
        cancelled=True,
        metadata={"start": begins.isoformat(), "end": ends.isoformat()},
    )


def digest(instance: Instance) -> str:
    """16 hexadecimal digits that change when the event's meaning does: time, title, place, description, people, status.

    SEQUENCE is among them: the organizer raises it with every change that matters, also one back to what it was.
    """
    event = instance.event
    whole_days = not isinstance(instance.start, datetime)
    parts = [
        str(instance.start) if whole_days else instance.begins.isoformat(),
        str(instance.end) if whole_days else instance.ends.isoformat(),
        _words(event.get("SUMMARY"), MAX_TITLE_CHARS),
        _words(event.get("LOCATION"), MAX_PLACE_CHARS),
        _description(event),
        *sorted(_attendees(event)),
        "CANCELLED" if instance.cancelled else _words(event.get("STATUS"), _STATUS_CHARS).upper(),
        str(event.get("SEQUENCE", 0)),
    ]
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).hexdigest()


def _text(instance: Instance, title: str, place: str, organizer: str) -> str:
    event = instance.event
    lines = [title or "An event without a title", f"When: {_when(instance)}"]
    if instance.cancelled:
        lines.insert(0, "Cancelled:")
    elif _words(event.get("STATUS"), _STATUS_CHARS).upper() == "TENTATIVE":
        lines.append("Status: tentative")
    if place:
        lines.append(f"Where: {place}")
    if organizer:
        lines.append(f"Organizer: {organizer}")
    if people := _attendees(event):
        more = f" and {len(people) - MAX_ATTENDEES} more" if len(people) > MAX_ATTENDEES else ""
        lines.append(f"With: {', '.join(people[:MAX_ATTENDEES])}{more}")
    if description := _description(event):
        lines += ["", description]
    return "\n".join(lines)


def _when(instance: Instance) -> str:
    """Weekday, date and local time with its zone: `Thursday, 5 March 2026, 14:00–15:00 (Europe/Berlin)`."""
    if not isinstance(instance.start, datetime):
        last = max(instance.start, instance.end - _DAY)
        days = _day(instance.start) if last == instance.start else f"{_day(instance.start)} – {_day(last)}"
        return f"{days} (all day)"
    start, end = instance.begins.astimezone(instance.zone), instance.ends.astimezone(instance.zone)
    zone = zone_name(instance.zone, start)
    if start == end:
        return f"{_day(start)}, {start:%H:%M} ({zone})"
    if start.date() == end.date():
        return f"{_day(start)}, {start:%H:%M}–{end:%H:%M} ({zone})"
    return f"{_day(start)}, {start:%H:%M} – {_day(end)}, {end:%H:%M} ({zone})"


def _day(day: date) -> str:
    return f"{_WEEKDAYS[day.weekday()]}, {day.day} {_MONTHS[day.month - 1]} {day.year}"


def _metadata(instance: Instance, place: str) -> Mapping[str, object]:
    whole_days = not isinstance(instance.start, datetime)
    zone = instance.zone
    found: dict[str, object] = {
        "start": (instance.start if whole_days else instance.begins.astimezone(zone)).isoformat(),
        "end": (instance.end if whole_days else instance.ends.astimezone(zone)).isoformat(),
        "all_day": whole_days,
        "uid": instance.uid,
    }
    return found | ({"location": place} if place else {})


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _words(value: Any, limit: int) -> str:
    """A value on one line."""
    value = _first(value)
    if value is None:
        return ""
    return truncate_chars(" ".join(clean(str(value)[:_MAX_READ_CHARS]).split()), limit)


def _description(event: Properties) -> str:
    """The description as plain text; some calendars write HTML into it, others beside it."""
    plain = _first(event.get("DESCRIPTION"))
    text = clean(str(plain)[:_MAX_READ_CHARS]) if plain is not None else ""
    if not text.strip():
        beside = str(_first(event.get("X-ALT-DESC")) or "")[:_MAX_READ_CHARS]
        text = clean(_ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], beside))
    if _TAGS.search(text):
        text = html_text(text).replace(QUOTE_BEGIN, "").replace(QUOTE_END, "")
    text = _MANY_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.splitlines()))
    return truncate_chars(text.strip(), MAX_DESCRIPTION_CHARS)


def _attendees(event: Properties) -> list[str]:
    values = event.get("ATTENDEE")
    people = [_person(value) for value in (values if isinstance(values, list) else [values])]
    return list(dict.fromkeys(person for person in people if person))


def _person(value: Any) -> str:
    """`Ada Lovelace <ada@example.org>`, or what of it there is."""
    if value is None:
        return ""
    address = _words(value, MAX_PLACE_CHARS)
    if address[:7].lower() == "mailto:":
        address = address[7:]
    name = _words(getattr(value, "params", {}).get("CN"), MAX_NAME_BYTES).strip("\"'")
    if not name or name == address:
        return address
    return f"{name} <{address}>" if "@" in address else name


def _speaker(person: str) -> str | None:
    """The organizer as who vouches for the event: the name, else the address."""
    name = truncate_bytes(person.partition(" <")[0], MAX_NAME_BYTES)
    try:
        return require_name(name, "organizer") if name else None
    except InvalidInput:  # a name in which nothing can be seen vouches for nothing
        return None
