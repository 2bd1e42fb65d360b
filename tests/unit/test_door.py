"""Every value is accepted as it will be stored, or refused by field, value and limit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import door
from perdure.errors import InvalidInput, shown
from perdure.types import MemoryType

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


def nested(levels: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for _ in range(levels - 1):
        found = {"a": found}
    return found


def endless() -> list[object]:
    found: list[object] = []
    for _ in range(14):
        found = [found] * 1000
    return found


def ring() -> dict[str, object]:
    found: dict[str, object] = {}
    found["again"] = found
    return found


REFUSED: dict[str, tuple[Callable[[object], object], list[object]]] = {
    "name": (
        lambda value: door.require_name(value, "name"),
        [
            None,
            7,
            b"ada",
            "",
            " \t\n",
            "\u3000",
            "\0",
            "\ud800",
            "\u200b",
            "\u202e",
            "a\nb",
            "a\u2028b",
            "a\tb",
            "x" * 201,
            "é" * 101,
            "x" * 1_000_000,
        ],
    ),
    "key": (
        lambda value: door.require_key(value, "key"),
        ["", "a\0b", "a\ud800", "\x9bada", "ada\u202e", "\u200fada", "\ud83d\ude00", 7, None],
    ),
    "memory_type": (
        lambda value: door.require_choice(value, "memory_type", MemoryType),
        ["rumour", "", "FACT", 5, None, ["fact"], b"fact"],
    ),
    "salience": (door.require_salience, [0, 10.5, 101, -1, float("nan"), float("inf"), True, "8", Decimal(8), None]),
    "tags": (
        lambda value: door.require_labels(value, "tags"),
        [7, [7], [None], [""], ["\u200b"], ["\0"], ["x" * 101], [f"t{n}" for n in range(33)], "x" * 1_000_000, b"ab"],
    ),
    "metadata": (
        door.require_metadata,
        [
            "x",
            [1],
            {1: 2},
            {"a": {1: 2}},
            {"a": float("nan")},
            {"a": {1, 2}},
            {"a": "x" * 16_400},
            {"a": 10**5000},
            {"k" * 201: 1},
            {"": 1},
            {"a": {"\0": 1}},
            nested(17),
            nested(3000),
            ring(),
            {"a": endless()},
        ],
    ),
    "since": (
        lambda value: door.require_time(value, "since"),
        [
            "",
            "yesterday",
            "0001-01-01",
            "9999-12-31",
            "1899-12-31",
            "2026-02-30",
            7,
            None,
            "x" * 1_000_000,
            "2026-01-31T\ud800",
            datetime(1, 1, 1),  # noqa: DTZ001
            datetime(9999, 12, 31, tzinfo=UTC),
            date(1, 1, 1),
        ],
    ),
    "limit": (lambda value: door.require_number(value, "limit", 1, 20), [0, 21, 1.0, True, "3", None, float("nan")]),
    "deadline_s": (
        lambda value: door.require_seconds(value, "deadline_s", 60),
        [0, -1, 60.1, float("nan"), float("inf"), "x", "1", None, True, 10**400, Decimal(1)],
    ),
    "id": (
        door.require_id,
        [0, -1, 2**63, 1.0, True, "", "first", "-1", "9" * 30, "9" * 5000, "९", 10**5000, None, "1\0"],
    ),
    "pinned": (lambda value: door.require_flag(value, "pinned"), ["no", 1, 0, None, "true"]),
    "tools": (lambda value: door.require_list(value, "tools"), ["abc", b"abc", {"name": "x"}, 7, {1}]),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, (_, values) in REFUSED.items() for value in values], ids=shown
)
def test_a_bad_value_is_refused_by_field_value_and_limit(field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        REFUSED[field][0](value)
    assert caught.value.field == field
    assert caught.value.limit
    assert len(str(caught.value)) < 400


@given(ANY_TEXT)
def test_a_name_is_one_visible_line_that_can_be_stored_or_is_refused(text: str) -> None:
    try:
        name = door.require_name(text, "name")
    except InvalidInput:
        return
    assert 1 <= len(name.encode()) <= door.MAX_NAME_BYTES
    assert len(name.splitlines()) == 1
    assert "\0" not in name
    assert door.require_name(name, "name") == name


@given(ANY_TEXT)
def test_two_keys_never_become_one_except_by_the_spaces_around_them(text: str) -> None:
    try:
        key = door.require_key(text, "key")
    except InvalidInput:
        return
    assert key == text.strip()


@pytest.mark.parametrize(
    "name", ["Ada", "Наташа", "李小龍", "สมหญิง", "שרה", "Zoë 👩‍👩‍👧", "x" * 200, "李" * 66, "O'Brien-Łukasz"]
)
def test_a_name_in_any_script_stays_as_it_is(name: str) -> None:
    assert door.require_name(f" {name} ", "name") == name == door.require_key(name, "name")


def test_what_misleads_the_eye_is_dropped_from_names_that_are_only_shown() -> None:
    assert door.require_name("\u2068Sara\u2069", "speaker") == "Sara"
    assert door.require_name("a\0b\ud800\x9bc", "speaker") == "abc"


def test_values_at_their_limits_are_accepted() -> None:
    assert door.require_id(str(2**63 - 1)) == 2**63 - 1
    assert door.require_seconds(60, "deadline_s", 60) == 60.0
    assert door.require_metadata({"k" * 200: "v" * 16_000})
    assert door.require_metadata(nested(16)) == nested(16)
    assert len(door.require_labels([f"t{n % 32}" for n in range(320)], "tags")) == 32
    assert door.require_time("1900-01-01T00:00+14:00", "since") < door.require_time("2200-12-31", "since")


def test_a_filter_reaches_what_an_import_under_the_longest_name_stored() -> None:
    assert door.require_filters(source="import:" + "x" * 200, conversation_id="import:" + "x" * 200).source


def test_filters_are_folded_as_stored_values_are() -> None:
    filters = door.require_filters(tags=["Ｈealth", "HEALTH"], speaker="ZOË")
    assert (filters.tags, filters.speaker) == (("health",), "zoe")


def test_a_filter_of_nested_metadata_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        door.require_filters(metadata={"place": {"city": "Lisbon"}})
    assert caught.value.field == "metadata.place"


def test_a_range_of_time_that_ends_before_it_begins_is_refused() -> None:
    assert door.require_filters(since="2026-05-01", until="2026-05-01").until
    with pytest.raises(InvalidInput, match="before until") as caught:
        door.require_filters(since="2026-05-02", until="2026-05-01")
    assert caught.value.field == "since"


@pytest.mark.parametrize("written", ["2026-02-30", "2026-13-01", "2026-02-28T25:00", "2026-02-28T12:61:00Z"])
def test_a_day_that_does_not_exist_is_told_from_what_is_no_date(written: str) -> None:
    with pytest.raises(InvalidInput, match="no such day"):
        door.require_time(written, "since")
    with pytest.raises(InvalidInput, match="ISO 8601"):
        door.require_time(f"on {written}", "since")
