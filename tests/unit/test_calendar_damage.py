"""Calendars that are broken, hostile, or written by programs that know better."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.clock import wall_clock
from perdure.connect.calendar_events import read_instances
from perdure.connect.calendar_items import item
from perdure.connect.calendar_rules import Budget
from perdure.errors import InvalidInput
from tests.doubles.calendars import BERLIN, WINDOW, calendar, instances, read

SAMPLE = (Path(__file__).parents[1] / "samples" / "team.ics").read_bytes()


@pytest.mark.parametrize(
    ("lines", "length"),
    [
        ("DTSTART:20260302T090000Z", timedelta(0)),
        ("DTSTART:20260302T090000Z\nDURATION:P1DT1H", timedelta(hours=25)),
        ("DTSTART:20260302T090000Z\nDTEND:20260302T080000Z", timedelta(0)),
        ("DTSTART:20260302T090000Z\nDTEND;VALUE=DATE:20260303", timedelta(0)),
        ("DTSTART:20260302T090000Z\nDURATION:-PT1H", timedelta(0)),
        ("DTSTART:20260302T090000Z\nDURATION:soon", timedelta(0)),
        ("DTSTART;VALUE=DATE:20260302", timedelta(days=1)),
        ("DTSTART;VALUE=DATE:20260302\nDTEND;VALUE=DATE:20260302", timedelta(0)),
        ("DTSTART;TZID=Europe/Berlin:20260328T120000\nDTEND;TZID=America/New_York:20260328T120000", timedelta(hours=5)),
    ],
)
def test_an_event_lasts_as_long_as_it_says_and_never_ends_before_it_begins(lines: str, length: timedelta) -> None:
    found = instances(f"UID:a\n{lines}")[0]
    assert found.ends - found.begins == length


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("FREQ=SECONDLY", "repeats too often"),
        ("FREQ=MINUTELY", "repeats too often"),
        ("FREQ=HOURLY", "repeats too often"),
        ("FREQ=DAILY;BYHOUR=1,2,3,4,5,6;BYMINUTE=1,2,3,4", "repeats too often"),
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "never comes true"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "never comes true"),
        ("FREQ=DAILY;INTERVAL=7;BYDAY=TU", "never comes true"),
        ("FREQ=FORTNIGHTLY", "can't be understood"),
        ("FREQ=DAILY;UNTIL=soon", "can't be understood"),
        ("FREQ=DAILY;COUNT=0", "COUNT has to be a whole number above 0"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL has to be a whole number above 0"),
        ("COUNT=3", "has to have one FREQ"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20260303", "not with both"),
        ("FREQ=DAILY;BYDAY=MO;BYSETPOS=999", "bysetpos must be between"),
        ("RSCALE=CHINESE;FREQ=YEARLY", "Gregorian"),
    ],
)
def test_a_rule_that_is_hostile_or_wrong_is_refused_at_once(rule: str, why: str) -> None:
    started = wall_clock()
    reading = read(f"UID:a\nDTSTART:19700101T090000Z\nSUMMARY:Tick\nRRULE:{rule}", "UID:b\nDTSTART:20260302T090000Z")
    assert wall_clock() - started < timedelta(seconds=10)
    assert [one.uid for one in reading.instances] == ["b"]
    assert why in str(reading.refused[0])
    assert reading.refused[0].line == 3
    assert reading.unread == {"a"}


def test_a_dense_rule_that_is_short_is_followed_and_one_with_too_many_instances_isnt() -> None:
    assert len(instances("UID:a\nDTSTART:20260302T090000Z\nRRULE:FREQ=SECONDLY;COUNT=10")) == 10
    reading = read("UID:a\nDTSTART:20260302T090000Z\nSUMMARY:Tick\nRRULE:FREQ=MINUTELY;INTERVAL=10")
    assert not reading.instances
    assert "more than 1,000 instances" in str(reading.refused[0])


@pytest.mark.parametrize("rule", ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;BYDAY=TU"])
def test_a_rare_rule_isnt_taken_for_one_that_never_comes_true(rule: str) -> None:
    for start in ("19990105T090000Z", "18000107T090000Z"):
        reading = read(f"UID:a\nDTSTART:{start}\nRRULE:{rule}")
        assert not reading.refused


def test_the_work_for_all_rules_of_a_file_is_bounded() -> None:
    many = [f"UID:{number}\nDTSTART:20260101T090000Z\nRRULE:FREQ=DAILY" for number in range(5)]
    reading = read_instances(calendar(*many), WINDOW, BERLIN, Budget(2000))
    assert {one.uid for one in reading.instances} == {"0", "1"}
    assert "too many rules" in str(reading.refused[-1])


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("UID:a\nSUMMARY:No start", "has to have a date or time"),
        ("UID:a\nDTSTART:20261399T000000", "valid dates"),
        ("UID:a\nDTSTART:", "valid dates"),
        ("UID:a\nDTSTART:20260302T090000Z\nRRULE:FREQ=DAILY\nEXDATE:never", "valid dates"),
        ("UID:a\nDTSTART:PT1H", "has to have a date or time"),
        ("UID:a\nDTSTART:090000Z", "has to have a date or time"),
        ("UID:a\nDTSTART:20260302T090000Z\nRECURRENCE-ID:yesterday", "valid dates"),
    ],
)
def test_a_broken_event_is_refused_and_the_others_are_read(event: str, why: str) -> None:
    reading = read("UID:x\nDTSTART:20260302T090000Z", event, "UID:y\nDTSTART:20260303T090000Z")
    assert [one.uid for one in reading.instances] == ["x", "y"]
    assert why in str(reading.refused[0])
    assert reading.refused[0].line == 7
    assert reading.complete


def test_badly_written_things_that_dont_matter_dont_spoil_an_event() -> None:
    event = (
        "UID:a\nDTSTART:20260302T090000Z\nSUMMARY:Fine\nX-ODD;=:\nATTACH;ENCODING=BASE64;VALUE=BINARY:%%%\n"
        'GEO:here\nATTENDEE;CN="x:y\nPRIORITY:very\nnonsense\nBEGIN:VALARM\nTRIGGER:whenever\nDTSTART:1\nEND:VALARM'
    )
    assert [str(one.event["SUMMARY"]) for one in instances(event)] == ["Fine"]


def test_folded_lines_even_inside_a_character_are_joined() -> None:
    raw = calendar("UID:a\nDTSTART:20260302T090000Z\nSUMMARY:Grüße").replace("ü".encode(), b"\xc3\r\n \xbc")
    found = read_instances(raw, WINDOW, BERLIN).instances
    assert str(found[0].event["SUMMARY"]) == "Grüße"


@pytest.mark.parametrize("ends", ["\n", "\r", "\r\n", "\r\n\r\n"])
def test_line_ends_of_every_system_and_a_byte_order_mark_are_fine(ends: str) -> None:
    raw = b"\xef\xbb\xbf" + calendar("UID:a\nDTSTART:20260302T090000Z").replace(b"\r\n", ends.encode())
    assert len(read_instances(raw, WINDOW, BERLIN).instances) == 1


def test_an_event_in_another_encoding_is_refused_with_the_remedy() -> None:
    raw = calendar("UID:a\nDTSTART:20260302T090000Z\nSUMMARY:Grüße", "UID:b\nDTSTART:20260302T090000Z")
    reading = read_instances(raw.replace("ü".encode(), b"\xfc"), WINDOW, BERLIN)
    assert [one.uid for one in reading.instances] == ["b"]
    assert "iconv" in str(reading.refused[0])


@pytest.mark.parametrize(
    "cut", [b"END:VCALENDAR", b"END:VEVENT\r\nEND:VCALENDAR", b"SUMMARY:Last\r\nEND:VEVENT\r\nEND:VCALENDAR"]
)
def test_a_file_that_was_cut_off_is_read_and_known_to_be_incomplete(cut: bytes) -> None:
    raw = calendar("UID:a\nDTSTART:20260302T090000Z", "UID:b\nDTSTART:20260302T090000Z\nSUMMARY:Last")
    reading = read_instances(raw[: raw.rindex(cut)], WINDOW, BERLIN)
    assert "a" in {one.uid for one in reading.instances}
    assert not reading.complete


def test_an_event_that_never_ends_is_refused_and_the_next_is_read() -> None:
    raw = calendar("UID:a\nDTSTART:20260302T090000Z\nSUMMARY:Open\nBEGIN:VEVENT\nUID:b\nDTSTART:20260302T090000Z")
    reading = read_instances(raw, WINDOW, BERLIN)
    assert [one.uid for one in reading.instances] == ["b"]
    assert "END:VEVENT is missing" in str(reading.refused[0])
    assert not reading.complete


def test_parts_nested_without_end_take_no_time() -> None:
    raw = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n" + b"BEGIN:VALARM\r\n" * 20_000 + b"END:X\r\n" * 20_000
    started = wall_clock()
    assert not read_instances(raw, WINDOW, BERLIN).complete
    assert wall_clock() - started < timedelta(seconds=5)


@pytest.mark.parametrize(
    "raw", [b"", b"hello", b"<!DOCTYPE html><html>Sign in</html>", b"BEGIN:VCARD\r\nEND:VCARD\r\n"]
)
def test_what_is_no_calendar_is_an_error(raw: bytes) -> None:
    with pytest.raises(InvalidInput, match="BEGIN:VCALENDAR"):
        read_instances(raw, WINDOW, BERLIN)


def test_an_empty_calendar_is_one() -> None:
    reading = read()
    assert not reading.instances
    assert reading.complete


def test_an_event_without_a_uid_or_with_an_unusable_one_gets_one_that_stays() -> None:
    for uid in ("", f"UID:{'x' * 2000}\n", "UID:a\u202eb\n"):
        first, again = (instances(f"{uid}DTSTART:20260302T090000Z\nSUMMARY:Lunch")[0].series for _ in range(2))
        assert first == again
        assert first.startswith("perdure-")
        assert len(first) < 50


def test_other_components_are_left_alone() -> None:
    raw = calendar("UID:a\nDTSTART:20260302T090000Z")
    todo = b"BEGIN:VTODO\r\nUID:t\r\nDTSTART:20260302T090000Z\r\nEND:VTODO\r\nBEGIN:X-OWN\r\nUID:o\r\nEND:X-OWN\r\n"
    reading = read_instances(raw.replace(b"END:VCALENDAR", todo + b"END:VCALENDAR"), WINDOW, BERLIN)
    assert [one.uid for one in reading.instances] == ["a"]
    assert reading.complete


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_file_damaged_anywhere_never_ends_in_anything_but_a_refusal(data: st.DataObject) -> None:
    raw = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 6))):
        where = data.draw(st.integers(0, len(raw) - 1))
        how_much = data.draw(st.integers(0, 12))
        raw[where : where + how_much] = data.draw(st.binary(max_size=6) | st.sampled_from([b":", b";", b"\r\n", b"99"]))
    try:
        reading = read_instances(bytes(raw), WINDOW, BERLIN)
    except InvalidInput:
        return
    for one in reading.instances:
        assert item(one).text
