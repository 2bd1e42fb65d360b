"""Layouts are data: what may stand where, and what is said of one that can't be."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.context import LAYOUTS, BlockName, require_layout
from perdure.errors import InvalidInput


def as_data(name: str = "native") -> dict[str, Any]:
    layout = LAYOUTS[name]
    slots = [{"name": slot.name, "role": slot.role, "blocks": list(slot.blocks)} for slot in layout.slots]
    return {"name": layout.name, "slots": slots}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_read_from_json_as_it_was_written(name: str) -> None:
    assert require_layout(json.dumps(as_data(name))) == require_layout(as_data(name)) == LAYOUTS[name]
    assert require_layout(LAYOUTS[name]) is LAYOUTS[name]


Change = Callable[[list[dict[str, Any]], list[Any], list[Any]], object]
"""Changes the slots of the native layout: all of them, the blocks of the first, those of the second."""

BROKEN: list[tuple[str, Change, str]] = [
    ("no such block", lambda _, stable, tail: tail.insert(0, "secrets"), "the blocks are instructions, identity"),
    ("a block is missing", lambda _, stable, tail: tail.remove("clock"), "exactly one slot; this one stands in 0"),
    ("a block twice", lambda _, stable, tail: stable.append("traits"), "exactly one slot; this one stands in 2"),
    ("documents first", lambda _, stable, tail: tail.insert(1, tail.pop(0)), "right behind KNOWLEDGE_RECALLED"),
    ("something between", lambda _, stable, tail: tail.insert(1, tail.pop()), "right behind KNOWLEDGE_RECALLED"),
    ("mixed", lambda _, stable, tail: stable.append(tail.pop()), "either stable blocks or such as change"),
    ("tail first", lambda slots, stable, tail: slots.reverse(), "stable blocks have to stand before"),
    ("tail as system", lambda slots, stable, tail: slots[1].update(role="system"), "role user"),
    ("no such role", lambda slots, stable, tail: slots[0].update(role="developer"), "system or user"),
    ("a name twice", lambda slots, stable, tail: slots[1].update(name="system"), "once only"),
    ("no name", lambda slots, stable, tail: slots[1].update(name=7), "1 to 64 characters"),
    ("another key", lambda slots, stable, tail: slots[1].update(depth=4), "exactly these names: blocks, name, role"),
    ("no slots", lambda slots, stable, tail: slots.clear(), "1 to 32 slots"),
    ("no list", lambda slots, stable, tail: slots[0].update(blocks="instructions"), "have to be a list"),
]


@pytest.mark.parametrize(("change", "says"), [pytest.param(*case[1:], id=case[0]) for case in BROKEN])
def test_a_layout_that_breaks_a_rule_is_refused_by_name(change: Change, says: str) -> None:
    data = as_data()
    slots = data["slots"]
    change(slots, slots[0]["blocks"], slots[1]["blocks"])
    with pytest.raises(InvalidInput, match=says) as refused:
        require_layout(data)
    assert refused.value.field == "layout"


@pytest.mark.parametrize("wrong", ["fancy", 7, None, "{", "{}", "[]", {"name": "x"}])
def test_what_is_no_layout_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        require_layout(wrong)


def test_empty_slots_may_stand_anywhere() -> None:
    data = as_data()
    data["slots"].append({"name": "author_note", "role": "system", "blocks": []})
    assert require_layout(data).slots[-1].name == "author_note"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*BlockName, "name", "slots", "system", "user", "x"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "slots", "role", "blocks", "x"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_whatever_stands_there_is_a_layout_or_refused_by_name(data: object) -> None:
    for given_data in (
        data,
        {"name": "x", "slots": data},
        {"name": "x", "slots": [{"name": "y", "role": "user", "blocks": data}]},
    ):
        # Anything but InvalidInput fails the test.
        with suppress(InvalidInput):
            assert require_layout(given_data).slots
