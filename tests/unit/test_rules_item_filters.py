"""What a filter asks, and which namespaces are meant."""

from __future__ import annotations

import re

import pytest

from perdure.rules.item_filters import Condition, namespace_pattern, read_filter


def test_every_part_of_a_filter_is_a_condition() -> None:
    assert read_filter({"a": 1, "b": {"c": None, "d": {"$gt": 2, "$lte": 5}}, "e": ["x", {"f": True}]}) == [
        Condition(("a",), "eq", 1),
        Condition(("b",), "type", "object"),
        Condition(("b", "c"), "eq", None),
        Condition(("b", "d"), "gt", 2),
        Condition(("b", "d"), "lte", 5),
        Condition(("e",), "length", 2),
        Condition(("e", "0"), "eq", "x"),
        Condition(("e", "1"), "type", "object"),
        Condition(("e", "1", "f"), "eq", True),
    ]


def test_an_unknown_operator_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"\$near is no operator: \$eq, \$ne"):
        read_filter({"a": {"$near": 1}})


@pytest.mark.parametrize(
    ("path", "at_end", "fits", "others"),
    [
        (("a", "b"), False, ["a.b", "a.b.c"], ["a", "a.bc", "aa.b", "x.a.b"]),
        (("a", "*", "c"), False, ["a.b.c", "a.ü.c.d"], ["a.c", "a.b.b.c"]),
        (("b",), True, ["b", "a.b"], ["ab", "b.c", "a.xb"]),
        (("*", "b"), True, ["a.b", "x.a.b"], ["b"]),
        (("a+", "(b|c)"), False, ["a+.(b|c)"], ["aa.b", "a+.b"]),
        (("user_1 x", "日本"), False, ["user_1 x.日本"], ["user_1x.日本"]),
    ],
)
def test_labels_mean_themselves_and_a_star_any_one(
    path: tuple[str, ...], at_end: bool, fits: list[str], others: list[str]
) -> None:
    pattern = re.compile(namespace_pattern(path, at_end=at_end))
    assert [name for name in [*fits, *others] if pattern.search(name)] == fits
