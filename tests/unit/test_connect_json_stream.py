"""The pull reader sees what json.loads sees, in any slices, and names the place where a file is broken."""

from __future__ import annotations

import io
import json
import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.connect.json_stream import JsonCursor
from perdure.errors import InvalidInput

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


def cursor_over(data: bytes, slice_size: int = 1 << 16, limit: int = 1 << 20) -> JsonCursor:
    stream = io.BytesIO(data)
    return JsonCursor(lambda _size: stream.read(slice_size), limit=limit)


def decode_all(cursor: JsonCursor) -> list[object]:
    return [cursor.value().decode() for _ in cursor.elements()]


@settings(deadline=None)
@given(st.lists(VALUES, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans())
def test_elements_are_the_same_in_whatever_slices_the_file_arrives(
    values: list[object], slice_size: int, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    cursor = cursor_over(data, slice_size)
    assert decode_all(cursor) == values
    assert cursor.peek() == b""


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=5), st.integers(1, 9))
def test_members_not_taken_are_passed_over(fields: dict[str, object], slice_size: int) -> None:
    cursor = cursor_over(json.dumps([fields, "after"]).encode(), slice_size)
    elements = cursor.elements()
    next(elements)
    assert list(cursor.members()) == list(fields)
    next(elements)
    assert cursor.value().decode() == "after"


def test_an_element_broken_inside_is_refused_and_the_next_one_read() -> None:
    cursor = cursor_over(b'[{"a":1},\n{"a":},\n{"a":3}]')
    seen: list[object] = []
    for _ in cursor.elements():
        raw = cursor.value()
        try:
            seen.append(raw.decode())
        except InvalidInput as error:
            seen.append(str(error))
    assert seen[0] == {"a": 1}
    assert "line 2" in str(seen[1])
    assert "byte 15" in str(seen[1])
    assert seen[2] == {"a": 3}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"a":1} {"a":2}]', "expected ',' or ']' at byte 9"),
        (b'[1,\n\n {"a":', "what opens at byte 6 (line 3)"),
        (b'[1, "abc', "a closed string at byte 4"),
        (b"[1,]", "expected a value at byte 3"),
        (b"[1", "expected ',' or ']' at byte 2"),
        (b"{}", "expected '[' at byte 0"),
        (b"", "expected '[' at byte 0"),
    ],
)
def test_damaged_structure_is_named_by_its_byte(data: bytes, message: str) -> None:
    cursor = cursor_over(data)
    with pytest.raises(InvalidInput) as caught:
        decode_all(cursor)
    assert message in str(caught.value)
    assert caught.value.line is not None


def test_lone_surrogates_arrive_as_they_are_instead_of_turning_into_question_marks() -> None:
    cursor = cursor_over(rb'["\ud800"]')
    assert decode_all(cursor) == ["\ud800"]


def test_a_million_opening_brackets_are_refused_without_recursion() -> None:
    cursor = cursor_over(b"[" * 1_000_000)
    with pytest.raises(InvalidInput, match="nested too deeply"):
        decode_all(cursor)


@pytest.mark.parametrize("levels", [200, 201])
def test_two_hundred_levels_are_read_and_no_more(levels: int) -> None:
    deep = b'{"a":[' * (levels // 2) + b"[" * (levels % 2)
    closing = deep[::-1].translate(bytes.maketrans(b"[{", b"]}"), b'"a:')
    cursor = cursor_over(b"[" + deep + closing + b",7]")
    seen = [cursor.value() for _ in cursor.elements()]
    assert seen[1].decode() == 7
    if levels == 200:
        assert isinstance(seen[0].decode(), dict)
    else:
        with pytest.raises(InvalidInput, match=r"nested too deeply \(at most 200 levels\)"):
            seen[0].decode()


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a": '])
def test_brackets_that_never_close_keep_neither_memory_nor_time_of_their_own(opening: bytes) -> None:
    def scanned(count: int) -> tuple[int, int]:
        """Bytes that the longest buffer held, and the steps of the scan."""
        stream = io.BytesIO(b"[" + opening * count)
        cursor = JsonCursor(stream.read)
        longest = steps = 0

        def watch(frame: FrameType, event: str, _argument: object) -> object:
            nonlocal longest, steps
            if event == "line" and frame.f_code.co_name == "_scan_container":
                steps += 1
                longest = max(longest, len(cursor._buffer))
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            with pytest.raises(InvalidInput, match="nested too deeply"):
                decode_all(cursor)
        finally:
            sys.settrace(before)
        return longest, steps

    small, large = scanned(20_000), scanned(80_000)
    assert large[0] <= 1 << 18
    assert large[1] <= 4.5 * small[1] + 1000


def test_closed_deep_nesting_is_refused_and_the_next_element_read() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    cursor = cursor_over(b"[" + deep + b",7]")
    elements = cursor.elements()
    next(elements)
    with pytest.raises(InvalidInput, match="nested too deeply"):
        cursor.value().decode()
    next(elements)
    assert cursor.value().decode() == 7


def test_an_object_above_the_limit_is_refused_and_the_next_one_read() -> None:
    big = json.dumps({"words": ["x" * 50] * 100}).encode()
    cursor = cursor_over(b"[" + big + b',{"a":1}]', limit=1000)
    elements = cursor.elements()
    next(elements)
    with pytest.raises(InvalidInput, match="at most 1000 bytes"):
        cursor.value().decode()
    next(elements)
    assert cursor.value().decode() == {"a": 1}


def test_a_string_without_end_is_given_up_at_the_limit() -> None:
    served = 0

    def endless(_size: int) -> bytes:
        nonlocal served
        served += 1
        return b'["' + b"x" * 998 if served == 1 else b"x" * 1000

    cursor = JsonCursor(endless, limit=10_000)
    with pytest.raises(InvalidInput, match="within 10000 bytes a closed string"):
        decode_all(cursor)
    assert served < 20


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    cursor = cursor_over(b"[" + b"9" * 5000 + b"]")
    next(cursor.elements())
    with pytest.raises(InvalidInput, match="it must be JSON"):
        cursor.value().decode()
