"""What an event says as an item, and what a calendar brings when it is read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from perdure.connect.calendar_events import read_instances
from perdure.connect.calendar_known import BATCH_ITEMS, CalendarOptions, Checkpoint, news
from perdure.door import require_metadata
from perdure.types import SourceBatch, SourceItem

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OPTIONS = CalendarOptions(zone=ZoneInfo("Europe/Berlin"))
DENTIST = "UID:d\nDTSTART;TZID=Europe/Berlin:20260305T150000\nDURATION:PT30M\nSUMMARY:Dentist"
DAILY = "UID:r\nDTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:Run"


def calendar(*events: str, head: str = "") -> bytes:
    blocks = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{head}{blocks}END:VCALENDAR\n".encode()


def sync(
    raw: bytes,
    checkpoint: Mapping[str, object] | None = None,
    now: datetime = NOW,
    options: CalendarOptions = OPTIONS,
) -> tuple[list[SourceItem], Mapping[str, object], list[SourceBatch]]:
    """One reading, with its checkpoints passed through JSON as a database would."""
    stored = None if checkpoint is None else json.loads(json.dumps(checkpoint))
    reading = read_instances(raw, options.window(now), options.zone)
    batches = list(news(reading, Checkpoint(stored, options), now, options, {}))
    last = batches[-1].checkpoint
    assert last is not None
    return [item for batch in batches for item in batch.items], last, batches


def only(event: str, head: str = "", options: CalendarOptions = OPTIONS) -> SourceItem:
    items, _, _ = sync(calendar(event, head=head), options=options)
    assert len(items) == 1
    return items[0]


def test_an_item_tells_what_when_where_and_with_whom() -> None:
    item = only(
        f"{DENTIST}\\, Dr. Sommer\nLOCATION:Lindenstraße 4\nORGANIZER;CN=Nadia Petrova:mailto:nadia@example.org\n"
        'ATTENDEE;CN="Lee, Bo":mailto:bo@example.org\nATTENDEE:mailto:cem@example.org\nDESCRIPTION:Bring:\\nthe X-ray'
    )
    assert item.text == (
        "Dentist, Dr. Sommer\nWhen: Thursday, 5 March 2026, 15:00–15:30 (Europe/Berlin)\nWhere: Lindenstraße 4\n"
        "Organizer: Nadia Petrova <nadia@example.org>\nWith: Lee, Bo <bo@example.org>, cem@example.org\n\n"
        "Bring:\nthe X-ray"
    )
    assert (item.kind, item.series, item.title, item.cancelled) == ("calendar", "d", "Dentist, Dr. Sommer", False)
    assert item.external_id.startswith("d#")
    assert item.speaker == "Nadia Petrova"
    assert item.occurred_at == datetime(2026, 3, 5, 14, tzinfo=UTC)
    assert require_metadata(item.metadata) == {
        "start": "2026-03-05T15:00:00+01:00",
        "end": "2026-03-05T15:30:00+01:00",
        "all_day": False,
        "location": "Lindenstraße 4",
        "uid": "d",
    }


@pytest.mark.parametrize(
    ("lines", "when"),
    [
        ("DTSTART;VALUE=DATE:20260305", "Thursday, 5 March 2026 (all day)"),
        (
            "DTSTART;VALUE=DATE:20260305\nDTEND;VALUE=DATE:20260308",
            "Thursday, 5 March 2026 – Saturday, 7 March 2026 (all day)",
        ),
        ("DTSTART:20260305T140000Z", "Thursday, 5 March 2026, 15:00 (Europe/Berlin)"),
        (
            "DTSTART;TZID=Asia/Tokyo:20260305T220000\nDURATION:PT3H",
            "Thursday, 5 March 2026, 22:00 – Friday, 6 March 2026, 01:00 (Asia/Tokyo)",
        ),
        ("DTSTART;TZID=Europe/Berlin:20260329T023000", "Sunday, 29 March 2026, 03:30 (Europe/Berlin)"),
        ("DTSTART;TZID=GMT-0330:20260305T090000", "Thursday, 5 March 2026, 09:00 (UTC-03:30)"),
    ],
)
def test_the_time_is_that_of_the_events_zone(lines: str, when: str) -> None:
    assert only(f"UID:a\n{lines}").text.splitlines()[1] == f"When: {when}"


def test_a_description_in_html_becomes_text() -> None:
    for name in ("DESCRIPTION", "X-ALT-DESC;FMTTYPE=text/html"):
        text = only(f"{DENTIST}\n{name}:<p>Bring <b>both</b> X-rays &amp\\; the letter.</p><script>x()</script>").text
        assert text.endswith("\n\nBring both X-rays & the letter.")


def test_long_and_crowded_events_are_bounded() -> None:
    people = "\n".join(f"ATTENDEE;CN=Guest {number}:mailto:{number}@example.org" for number in range(3000))
    texts = f"SUMMARY:{'t' * 5000}\nLOCATION:{'p' * 5000}\nDESCRIPTION:{'d' * 9000}"
    item = only(f"UID:a\nDTSTART:20260305T140000Z\n{texts}\n{people}")
    assert "and 2980 more" in item.text
    assert len(item.text) < 4500
    assert len(item.title) == 300
    assert "d" * 2000 in item.text
    assert "d" * 2001 not in item.text


def test_control_characters_dont_reach_title_or_speaker() -> None:
    item = only(
        "UID:a\nDTSTART:20260305T140000Z\nSUMMARY:Lu\x00n\x08ch\nORGANIZER;CN=\u202eEve\x07:mailto:e@example.org"
    )
    assert (item.title, item.speaker) == ("Lunch", "Eve")


def test_the_status_is_told() -> None:
    assert "Status: tentative" in only(f"{DENTIST}\nSTATUS:TENTATIVE").text
    cancelled = only(f"{DENTIST}\nSTATUS:CANCELLED")
    assert cancelled.cancelled
    assert cancelled.text.startswith("Cancelled:\nDentist")


@pytest.mark.parametrize(
    "change",
    [
        ("150000", "160000"),
        ("PT30M", "PT45M"),
        ("Dentist", "Dentist and shopping"),
        ("Dentist", "Dentist\nLOCATION:Elsewhere"),
        ("Dentist", "Dentist\nDESCRIPTION:Bring it"),
        ("Dentist", "Dentist\nATTENDEE:mailto:bo@example.org"),
        ("Dentist", "Dentist\nSTATUS:TENTATIVE"),
        ("Dentist", "Dentist\nSTATUS:CANCELLED"),
        ("Dentist", "Dentist\nSEQUENCE:1"),
    ],
)
def test_what_matters_makes_a_new_revision_of_the_same_series(change: tuple[str, str]) -> None:
    first, second = only(DENTIST), only(DENTIST.replace(*change))
    assert first.series == second.series
    assert first.external_id != second.external_id


@pytest.mark.parametrize(
    "addition",
    [
        "DTSTAMP:20260301T000000Z\nLAST-MODIFIED:20260301T000000Z",
        "X-MOZ-LASTACK:20260301T000000Z",
        "BEGIN:VALARM\nTRIGGER:-PT5M\nEND:VALARM",
        "TRANSP:OPAQUE\nCLASS:PRIVATE",
    ],
)
def test_what_doesnt_matter_makes_none(addition: str) -> None:
    assert only(DENTIST).external_id == only(f"{DENTIST}\n{addition}").external_id


def test_the_same_time_in_another_zone_is_the_same_revision() -> None:
    assert (
        only(DENTIST).external_id
        == only(DENTIST.replace("TZID=Europe/Berlin:20260305T15", "TZID=Europe/London:20260305T14")).external_id
    )


def test_an_unchanged_calendar_brings_nothing_the_second_time() -> None:
    items, checkpoint, _ = sync(calendar(DENTIST, DAILY))
    assert len(items) == 4
    again, same, batches = sync(calendar(DAILY, DENTIST), checkpoint)
    assert not again
    assert len(batches) == 1
    assert same == checkpoint


def test_a_changed_instance_comes_again_and_the_others_dont() -> None:
    _, checkpoint, _ = sync(calendar(DENTIST, DAILY))
    moved = "UID:r\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20260303T170000Z\nSUMMARY:Run"
    items, _, _ = sync(calendar(DENTIST, DAILY, moved), checkpoint)
    assert [(item.series, item.occurred_at.hour) for item in items] == [("r/20260303T090000Z", 17)]


def test_an_event_that_is_moved_there_and_back_is_news_each_time() -> None:
    later = DENTIST.replace("150000", "160000")
    first, checkpoint, _ = sync(calendar(DENTIST))
    second, checkpoint, _ = sync(calendar(later), checkpoint)
    third, _, _ = sync(calendar(DENTIST), checkpoint)
    assert first[0].text == third[0].text
    assert len({item.external_id for item in (*first, *second, *third)}) == 3
    assert {item.series for item in (*first, *second, *third)} == {"d"}


def test_an_event_that_vanished_is_closed_once_and_may_come_back() -> None:
    first, checkpoint, _ = sync(calendar(DENTIST, DAILY))
    gone, checkpoint, _ = sync(calendar(DAILY), checkpoint)
    assert [(item.series, item.cancelled) for item in gone] == [("d", True)]
    assert "Thursday, 5 March 2026" in gone[0].text
    nothing, checkpoint, _ = sync(calendar(DAILY), checkpoint)
    assert not nothing
    back, _, _ = sync(calendar(DENTIST, DAILY), checkpoint)
    assert [(item.series, item.cancelled) for item in back] == [("d", False)]
    assert len({found[0].external_id for found in (first[-1:], gone, back)}) == 3


def test_an_excluded_instance_of_a_known_series_is_closed() -> None:
    _, checkpoint, _ = sync(calendar(DAILY))
    gone, _, _ = sync(calendar(f"{DAILY}\nEXDATE:20260303T090000Z"), checkpoint)
    assert [(item.series, item.cancelled) for item in gone] == [("r/20260303T090000Z", True)]


def test_a_cancelled_event_that_is_deleted_later_isnt_closed_twice() -> None:
    _, checkpoint, _ = sync(calendar(f"{DENTIST}\nSTATUS:CANCELLED"))
    assert not sync(calendar(), checkpoint)[0]


def test_what_has_passed_out_of_the_window_isnt_gone_and_is_forgotten() -> None:
    _, checkpoint, _ = sync(calendar(DENTIST))
    items, later, _ = sync(calendar(), checkpoint, now=NOW + timedelta(days=60))
    assert not items
    assert later["known"] == {}


def test_an_event_that_can_not_be_read_any_more_isnt_gone() -> None:
    _, checkpoint, _ = sync(calendar(DENTIST, DAILY))
    broken = (DENTIST.replace("20260305", "20269999"), DAILY.replace("DAILY", "SECONDLY").replace(";COUNT=3", ""))
    items, after, batches = sync(calendar(*broken), checkpoint)
    assert not items
    assert len(batches[0].refused) == 2
    assert after["known"] == checkpoint["known"]


def test_nothing_is_gone_when_the_file_was_cut_off() -> None:
    _, checkpoint, _ = sync(calendar(DENTIST, DAILY))
    raw = calendar(DAILY, DENTIST)
    assert not sync(raw[: raw.index(b"UID:d")], checkpoint)[0]


def test_instances_enter_as_the_window_moves_on() -> None:
    endless = "UID:r\nDTSTART:20260101T090000Z\nRRULE:FREQ=WEEKLY"
    options = CalendarOptions(past=timedelta(days=1), ahead=timedelta(days=14))
    _, checkpoint, _ = sync(calendar(endless), options=options)
    items, _, _ = sync(calendar(endless), checkpoint, now=NOW + timedelta(days=7), options=options)
    assert [item.cancelled for item in items] == [False]


def test_a_long_calendar_comes_in_batches_and_an_interrupted_one_goes_on() -> None:
    many = [f"UID:{number}\nDTSTART:20260305T090000Z\nSUMMARY:{number}" for number in range(BATCH_ITEMS + 50)]
    items, _, batches = sync(calendar(*many))
    assert [len(batch.items) for batch in batches] == [BATCH_ITEMS, 50]
    assert batches[0].checkpoint is not None
    assert batches[0].checkpoint["read_at"] is None
    rest, _, _ = sync(calendar(*many), batches[0].checkpoint)
    assert rest == items[BATCH_ITEMS:]


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"version": 99},
        {"version": 1, "known": [1]},
        {"version": 1, "known": {"d": ["x", 1], "e": ["x", 10**30, 0, 1, True]}},
    ],
)
def test_a_damaged_checkpoint_is_none(damaged: dict[str, object]) -> None:
    items, _, _ = sync(calendar(DENTIST), damaged)
    assert [item.series for item in items] == ["d"]
