"""Calendars as text, and the window of time in which the tests read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from perdure.connect.calendar_events import Instance, Reading, Window, read_instances

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WINDOW = Window.around(NOW, timedelta(days=30), timedelta(days=365))
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")

VTIMEZONE = """BEGIN:VTIMEZONE
TZID:{name}
BEGIN:STANDARD
DTSTART:16010101T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
TZOFFSETFROM:+0600
TZOFFSETTO:+0500
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
TZOFFSETFROM:+0500
TZOFFSETTO:+0600
END:DAYLIGHT
END:VTIMEZONE
"""


def calendar(*events: str, head: str = "") -> bytes:
    blocks = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{head}{blocks}END:VCALENDAR\n".replace("\n", "\r\n").encode()


def read(*events: str, head: str = "", window: Window = WINDOW, zone: ZoneInfo = BERLIN) -> Reading:
    return read_instances(calendar(*events, head=head), window, zone)


def instances(*events: str, head: str = "", window: Window = WINDOW, zone: ZoneInfo = BERLIN) -> list[Instance]:
    reading = read(*events, head=head, window=window, zone=zone)
    assert not reading.refused
    assert reading.complete
    return reading.instances


def begins(*events: str, head: str = "", window: Window = WINDOW, zone: ZoneInfo = BERLIN) -> list[str]:
    found = instances(*events, head=head, window=window, zone=zone)
    return [f"{instance.begins:%Y-%m-%dT%H:%MZ}" for instance in found]


def days(count: int) -> Window:
    return Window.around(NOW, timedelta(days=1), timedelta(days=count))
