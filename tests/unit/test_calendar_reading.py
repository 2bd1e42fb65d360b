"""Events and their instances: recurrences, zones, edges of daylight saving, and files that are broken or hostile."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.clock import wall_clock
from perdure.connect.calendar_events import Instance, Reading, Window, read_instances
from perdure.connect.calendar_items import item
from perdure.connect.calendar_rules import Budget
from perdure.errors import InvalidInput

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WINDOW = Window.around(NOW, timedelta(days=30), timedelta(days=365))
BERLIN = ZoneInfo("Europe/Berlin")
SAMPLE = (Path(__file__).parents[1] / "samples" / "team.ics").read_bytes()
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


def test_a_single_event_is_named_by_its_uid_so_that_it_may_be_moved() -> None:
    starts = ("20260305T130000Z", "20260306T150000Z")
    first, moved = (instances(f"UID:a\nDTSTART:{start}\nSUMMARY:x")[0] for start in starts)
    assert first.series == moved.series == "a"
    assert first.begins != moved.begins


def test_a_rule_is_expanded_inside_the_window_only() -> None:
    found = begins("UID:a\nDTSTART;TZID=Europe/Berlin:20200101T090000\nRRULE:FREQ=DAILY", window=days(2))
    assert found == ["2026-03-01T08:00Z", "2026-03-02T08:00Z", "2026-03-03T08:00Z"]


def test_an_endless_rule_ends_with_the_window() -> None:
    assert len(instances("UID:a\nDTSTART:19700101T090000Z\nRRULE:FREQ=DAILY")) == 395


def test_the_instances_of_a_rule_are_told_apart_by_their_starts() -> None:
    found = instances("UID:a/b\nDTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=DAILY;COUNT=2")
    assert [instance.series for instance in found] == ["a/b/20260302T080000Z", "a/b/20260303T080000Z"]
    whole = instances("UID:a\nDTSTART;VALUE=DATE:20260302\nRRULE:FREQ=DAILY;COUNT=2")
    assert [instance.series for instance in whole] == ["a/20260302", "a/20260303"]


def test_the_local_time_of_a_series_stays_when_the_clocks_change() -> None:
    found = begins("UID:a\nDTSTART;TZID=Europe/Berlin:20260328T090000\nRRULE:FREQ=DAILY;COUNT=3")
    assert found == ["2026-03-28T08:00Z", "2026-03-29T07:00Z", "2026-03-30T07:00Z"]


def test_a_local_time_that_is_skipped_is_read_with_the_offset_before_the_change() -> None:
    found = instances("UID:a\nDTSTART;TZID=Europe/Berlin:20260329T023000\nDURATION:PT1H")
    assert found[0].begins == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)  # 03:30 on the clocks


def test_a_local_time_that_comes_twice_means_its_first() -> None:
    found = instances("UID:a\nDTSTART;TZID=Europe/Berlin:20261025T023000\nDURATION:PT1H")
    assert found[0].begins == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_a_rule_in_utc_stays_in_utc() -> None:
    found = begins("UID:a\nDTSTART:20260328T090000Z\nRRULE:FREQ=DAILY;COUNT=3")
    assert {moment[11:] for moment in found} == {"09:00Z"}


@pytest.mark.parametrize("until", ["20260303T090000Z", "20260303T100000", "20260303"])
def test_the_last_instance_is_included_however_until_is_written(until: str) -> None:
    rule = f"UID:a\nDTSTART;TZID=Europe/Berlin:20260302T100000\nRRULE:FREQ=DAILY;UNTIL={until}"
    assert begins(rule) == ["2026-03-02T09:00Z", "2026-03-03T09:00Z"]


def test_the_local_until_of_a_zone_west_of_greenwich_keeps_its_last_instance() -> None:
    rule = "UID:a\nDTSTART;TZID=America/New_York:20260302T200000\nRRULE:FREQ=DAILY;UNTIL=20260303T200000"
    assert begins(rule) == ["2026-03-03T01:00Z", "2026-03-04T01:00Z"]


def test_an_end_in_the_year_9999_is_no_end() -> None:
    assert len(instances("UID:a\nDTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;UNTIL=99991231T235959Z")) == 395


def test_whole_days_end_with_a_date_or_a_time() -> None:
    for until in ("20260303", "20260303T000000Z", "20260303T235959"):
        rule = f"UID:a\nDTSTART;VALUE=DATE:20260302\nRRULE:FREQ=DAILY;UNTIL={until}"
        assert len(instances(rule)) == 2


@pytest.mark.parametrize(
    "exdate",
    [
        "EXDATE;TZID=Europe/Berlin:20260303T090000",
        "EXDATE:20260303T080000Z",
        "EXDATE;TZID=America/New_York:20260303T030000",
        "EXDATE;VALUE=DATE:20260303",
        "EXDATE;TZID=Europe/Berlin:20260310T090000,20260303T090000",
        "EXDATE:20260310T080000Z\nEXDATE;TZID=Europe/Berlin:20260303T090000",
    ],
)
def test_an_excluded_instance_is_left_out_however_it_is_written(exdate: str) -> None:
    rule = f"UID:a\nDTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=DAILY;COUNT=3\n{exdate}"
    assert begins(rule) == ["2026-03-02T08:00Z", "2026-03-04T08:00Z"]


def test_additional_dates_count_as_instances() -> None:
    found = begins(
        "UID:a\nDTSTART;TZID=Europe/Berlin:20260302T090000\nDURATION:PT1H\n"
        "RDATE;TZID=Europe/Berlin:20260305T100000,20260306T100000"
    )
    assert found == ["2026-03-02T08:00Z", "2026-03-05T09:00Z", "2026-03-06T09:00Z"]


def test_an_additional_period_has_a_length_of_its_own() -> None:
    found = instances("UID:a\nDTSTART:20260302T090000Z\nDURATION:PT1H\nRDATE;VALUE=PERIOD:20260305T100000Z/PT3H")
    assert [instance.ends - instance.begins for instance in found] == [timedelta(hours=1), timedelta(hours=3)]


def test_a_moved_instance_keeps_its_series() -> None:
    found = instances(
        "UID:a\nDTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:Stand-up",
        "UID:a\nRECURRENCE-ID:20260303T080000Z\nDTSTART;TZID=America/New_York:20260310T090000\nSUMMARY:Later",
    )
    assert [one.series for one in found] == ["a/20260302T080000Z", "a/20260303T080000Z"]
    assert str(found[1].event["SUMMARY"]) == "Later"
    assert found[1].begins == datetime(2026, 3, 10, 13, tzinfo=UTC)


def test_an_instance_that_was_moved_into_the_window_from_far_away_is_found() -> None:
    found = begins(
        "UID:a\nDTSTART:20200101T090000Z\nRRULE:FREQ=YEARLY;COUNT=3",
        "UID:a\nRECURRENCE-ID:20210101T090000Z\nDTSTART:20260310T090000Z",
    )
    assert found == ["2026-03-10T09:00Z"]


def test_one_that_was_moved_out_of_the_window_is_not() -> None:
    found = begins(
        "UID:a\nDTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=2",
        "UID:a\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20290310T090000Z",
    )
    assert found == ["2026-03-02T09:00Z"]


def test_a_change_of_this_and_all_later_instances_keeps_each_series() -> None:
    found = instances(
        "UID:a\nDTSTART:20260302T090000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=4\nSUMMARY:Old",
        "UID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260304T090000Z\nDTSTART:20260304T110000Z\n"
        "DURATION:PT30M\nSUMMARY:New",
    )
    assert [(one.series[2:10], f"{one.begins:%dT%H}", str(one.event["SUMMARY"])) for one in found] == [
        ("20260302", "02T09", "Old"),
        ("20260303", "03T09", "Old"),
        ("20260304", "04T11", "New"),
        ("20260305", "05T11", "New"),
    ]
    assert len({one.series for one in found}) == 4


def test_an_invitation_to_a_single_instance_stands_alone() -> None:
    found = instances("UID:a\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20260303T100000Z")
    assert [one.series for one in found] == ["a/20260303T090000Z"]


def test_the_newest_version_of_an_event_counts() -> None:
    older = "UID:a\nDTSTART:20260302T090000Z\nSEQUENCE:1\nSUMMARY:Old"
    newer = "UID:a\nDTSTART:20260303T090000Z\nSEQUENCE:2\nSUMMARY:New"
    assert begins(older, newer) == begins(newer, older) == ["2026-03-03T09:00Z"]
    stamped = "UID:a\nDTSTART:20260304T090000Z\nSEQUENCE:1\nLAST-MODIFIED:20260228T090000Z"
    assert begins(stamped, older) == ["2026-03-04T09:00Z"]


def test_two_events_of_one_uid_are_reported() -> None:
    reading = read("UID:a\nDTSTART:20260302T090000Z", "UID:a\nDTSTART:20260303T090000Z\nSUMMARY:Second")
    assert len(reading.instances) == 1
    assert "same UID" in str(reading.refused[0])


def test_cancelled_events_and_instances_are_marked() -> None:
    found = instances(
        "UID:a\nDTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=2",
        "UID:a\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20260303T090000Z\nSTATUS:CANCELLED",
        "UID:b\nDTSTART:20260304T090000Z\nSTATUS:cancelled",
    )
    assert [one.cancelled for one in found] == [False, True, True]
    assert instances("UID:a\nDTSTART:20260302T090000Z", head="METHOD:CANCEL\n")[0].cancelled


def test_an_answer_to_an_invitation_is_no_event() -> None:
    reading = read("UID:a\nDTSTART:20260302T090000Z\nSUMMARY:Lunch", head="METHOD:REPLY\n")
    assert not reading.instances
    assert "METHOD:REPLY" in str(reading.refused[0])


@pytest.mark.parametrize(
    ("tzid", "hour"),
    [
        ("America/New_York", 14),
        ("Eastern Standard Time", 14),
        ('"Eastern Standard Time"', 14),
        ("US/Eastern", 14),
        ("/freeassociation.sourceforge.net/America/New_York", 14),
        ("/mozilla.org/20070129_1/America/Argentina/Ushuaia", 12),
        ('"(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi"', 3.5),
        ("GMT-0300", 12),
        ("UTC", 9),
        ("W. Europe Standard Time", 8),
        ("China Standard Time", 1),
    ],
)
def test_a_zone_is_known_by_its_names(tzid: str, hour: float) -> None:
    found = instances(f"UID:a\nDTSTART;TZID={tzid}:20260302T090000")
    assert found[0].begins == datetime(2026, 3, 2, tzinfo=UTC) + timedelta(hours=hour)


def test_a_calendars_own_zone_is_used_with_its_changes_of_clocks() -> None:
    found = begins(
        "UID:a\nDTSTART;TZID=Customized Time Zone:20260328T090000\nRRULE:FREQ=DAILY;COUNT=3",
        head=VTIMEZONE.format(name="Customized Time Zone"),
    )
    assert found == ["2026-03-28T04:00Z", "2026-03-29T03:00Z", "2026-03-30T03:00Z"]


def test_two_calendars_may_mean_different_zones_by_one_name() -> None:
    event = "UID:{uid}\nDTSTART;TZID=Ours:20260302T090000"
    other = VTIMEZONE.format(name="Ours").replace("+0500", "-0500").replace("+0600", "-0400")
    both = calendar(event.format(uid="a"), head=VTIMEZONE.format(name="Ours"))
    both += calendar(event.format(uid="b"), head=other)
    found = read_instances(both, WINDOW, BERLIN).instances
    assert {one.uid: one.begins.hour for one in found} == {"a": 4, "b": 14}


def test_an_unknown_zone_is_read_as_the_own_one_and_noted() -> None:
    reading = read("UID:a\nDTSTART;TZID=Middle Earth:20260302T090000", "UID:b\nDTSTART;TZID=../../x:20260302T090000")
    assert [one.begins.hour for one in reading.instances] == [8, 8]
    assert len(reading.notes) == 2
    assert "'Middle Earth' is unknown and was read as Europe/Berlin" in reading.notes[0]


def test_a_zone_that_changes_every_second_is_not_followed() -> None:
    evil = VTIMEZONE.format(name="Evil").replace("YEARLY;BYMONTH=10;BYDAY=-1SU", "SECONDLY")
    reading = read("UID:a\nDTSTART;TZID=Evil:20260302T090000", head=evil)
    assert reading.instances[0].begins.hour == 8
    assert "'Evil' is unknown" in reading.notes[0]


def test_times_without_a_zone_are_those_of_the_calendar_or_else_of_the_caller() -> None:
    event = "UID:a\nDTSTART:20260302T090000"
    assert begins(event, zone=NEW_YORK) == ["2026-03-02T14:00Z"]
    assert begins(event, zone=NEW_YORK, head="X-WR-TIMEZONE:Europe/Berlin\n") == ["2026-03-02T08:00Z"]
    assert begins(event, zone=NEW_YORK, head="X-WR-TIMEZONE:Nowhere\n") == ["2026-03-02T14:00Z"]


def test_a_whole_day_stays_a_date_and_belongs_to_the_day_of_its_zone() -> None:
    found = instances("UID:a\nDTSTART;VALUE=DATE:20260305\nDTEND;VALUE=DATE:20260307", zone=NEW_YORK)
    assert (found[0].start, found[0].end) == (date(2026, 3, 5), date(2026, 3, 7))
    assert found[0].begins == datetime(2026, 3, 5, 5, tzinfo=UTC)
    assert instances("UID:a\nDTSTART;VALUE=DATE;TZID=Asia/Tokyo:20260305")[0].start == date(2026, 3, 5)


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


def test_an_event_counts_while_it_touches_the_window() -> None:
    running = "UID:a\nDTSTART:20260101T090000Z\nDTEND:20260215T090000Z"
    over = "UID:b\nDTSTART:20260101T090000Z\nDTEND:20260102T090000Z"
    later = "UID:c\nDTSTART:20270305T090000Z"
    assert [one.uid for one in instances(running, over, later)] == ["a"]


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


def test_several_calendars_in_one_file_are_read_as_one() -> None:
    raw = calendar("UID:a\nDTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=2", head="X-WR-CALNAME:Home\n")
    raw += calendar(
        "UID:a\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20260303T110000Z", "UID:b\nDTSTART:20260304T090000Z"
    )
    reading = read_instances(raw, WINDOW, BERLIN)
    assert reading.name == "Home"
    assert [one.begins.hour for one in reading.instances] == [9, 11, 9]


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


def test_now_has_to_have_a_zone_and_a_window_to_be_of_this_age() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        Window.around(NOW.replace(tzinfo=None), timedelta(days=1), timedelta(days=1))
    with pytest.raises(InvalidInput, match="not negative"):
        Window.around(NOW, timedelta(days=-1), timedelta(days=1))
    with pytest.raises(InvalidInput, match="100 years"):
        Window.around(NOW, timedelta(days=1), timedelta(days=99_999))


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
