"""What a foreign file may hold, field by field."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.connect.values import checked_id, checked_name, checked_space, checked_time, from_epoch
from perdure.errors import InvalidInput, shown

BERLIN = ZoneInfo("Europe/Berlin")
EARLIEST, LATEST = datetime.fromisoformat("1900-01-02"), datetime.fromisoformat("2200-12-30")


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2023-05-08T13:56:00Z", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T13:56:00+02:00", datetime(2023, 5, 8, 11, 56, tzinfo=UTC)),
        ("2023-05-08 13:56", datetime(2023, 5, 8, 11, 56, tzinfo=UTC)),
        ("2023-01-08 13:56", datetime(2023, 1, 8, 12, 56, tzinfo=UTC)),
        ("2023-05-08", datetime(2023, 5, 7, 22, 0, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1683554160.5, datetime(2023, 5, 8, 13, 56, 0, 500_000, tzinfo=UTC)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_times_become_utc_and_those_without_a_zone_are_read_in_the_given_one(written: object, moment: datetime) -> None:
    read = checked_time("time", written, BERLIN)
    assert read == moment
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "written",
    [
        "0001-01-01T00:00:00+14:00",
        "1899-12-31",
        "9999-12-31T23:59:59-12:00",
        "2201-01-01",
        "2023-02-30",
        "yesterday",
        "",
        "1683554160",
        1683554160000,
        1e300,
        float("nan"),
        float("inf"),
        True,
        [],
    ],
)
def test_a_time_out_of_range_or_without_sense_is_refused_by_field_value_and_limit(written: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_time("time", written, UTC)
    assert caught.value.field == "time"
    assert caught.value.limit


@given(st.datetimes(EARLIEST, LATEST), st.integers(-14 * 60, 14 * 60))
def test_a_time_with_a_zone_keeps_its_moment(local: datetime, minutes: int) -> None:
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert checked_time("time", moment.isoformat(), BERLIN) == moment


def test_milliseconds_are_recognised_as_a_wrong_unit() -> None:
    with pytest.raises(InvalidInput, match="not milliseconds"):
        from_epoch("date_unixtime", "1683554160000")


@pytest.mark.parametrize(
    "value", [None, "", "  ", "\0", "\udfff", "a\nb", "\u200b", 1.5, True, ["a"], 10**5000], ids=shown
)
@pytest.mark.parametrize("check", [checked_id, checked_name, checked_space])
def test_what_names_nothing_is_refused(check: Callable[[str, object], str], value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        check("field", value)
    assert caught.value.field == "field"
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("check", "most"), [(checked_id, 1024), (checked_name, 200), (checked_space, 200)])
def test_a_name_from_a_file_has_the_limit_that_it_has_at_the_door(
    check: Callable[[str, object], str], most: int
) -> None:
    assert check("field", "é" * (most // 2)) == "é" * (most // 2)
    with pytest.raises(InvalidInput):
        check("field", "é" * (most // 2) + "x")


def test_names_that_are_only_shown_lose_what_misleads_and_ids_with_it_are_refused() -> None:
    assert checked_name("from", "\u2068Sara\u2069\0") == "Sara"
    for check in (checked_id, checked_space):
        with pytest.raises(InvalidInput):
            check("id", "\u2068Sara\u2069")


def test_numbers_serve_as_ids() -> None:
    assert checked_id("id", 42) == checked_id("id", " 42 ") == "42"
