"""Events and their instances: recurrences, zones, and the edges of daylight saving."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from perdure.connect.calendar_events import Window, read_instances
from perdure.errors import InvalidInput
from tests.doubles.calendars import BERLIN, NEW_YORK, NOW, VTIMEZONE, WINDOW, begins, calendar, days, instances, read


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


def test_an_event_counts_while_it_touches_the_window() -> None:
    running = "UID:a\nDTSTART:20260101T090000Z\nDTEND:20260215T090000Z"
    over = "UID:b\nDTSTART:20260101T090000Z\nDTEND:20260102T090000Z"
    later = "UID:c\nDTSTART:20270305T090000Z"
    assert [one.uid for one in instances(running, over, later)] == ["a"]


def test_several_calendars_in_one_file_are_read_as_one() -> None:
    raw = calendar("UID:a\nDTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=2", head="X-WR-CALNAME:Home\n")
    raw += calendar(
        "UID:a\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20260303T110000Z", "UID:b\nDTSTART:20260304T090000Z"
    )
    reading = read_instances(raw, WINDOW, BERLIN)
    assert reading.name == "Home"
    assert [one.begins.hour for one in reading.instances] == [9, 11, 9]


def test_now_has_to_have_a_zone_and_a_window_to_be_of_this_age() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        Window.around(NOW.replace(tzinfo=None), timedelta(days=1), timedelta(days=1))
    with pytest.raises(InvalidInput, match="not negative"):
        Window.around(NOW, timedelta(days=-1), timedelta(days=1))
    with pytest.raises(InvalidInput, match="100 years"):
        Window.around(NOW, timedelta(days=1), timedelta(days=99_999))
