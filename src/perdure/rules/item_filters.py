"""What a filter asks of a JSON value, as single conditions that a database can test; and which namespaces are meant.

A filter names what a value must hold: `{"color": "red", "size": {"$gte": 3}, "owner": {"name": "Ada"}}`. A text,
number, true, false or null has to be equal (what is missing counts as null), an object has to hold at least what it
names, a list has to fit element by element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Test = Literal["eq", "ne", "gt", "gte", "lt", "lte", "type", "length"]

OPERATORS: Final[Mapping[str, Test]] = {
    "$eq": "eq",
    "$ne": "ne",
    "$gt": "gt",
    "$gte": "gte",
    "$lt": "lt",
    "$lte": "lte",
}

ANY_LABEL: Final = "*"
_LABEL: Final = "[^.]+"


@dataclass(frozen=True, slots=True)
class Condition:
    """What stands at `path` has to pass a test.

    `gt` to `lte` compare numbers with numbers and texts with texts; `type` is of JSON, `length` of an array.
    """

    path: tuple[str, ...]
    test: Test
    operand: object


def read_filter(wanted: Mapping[str, object]) -> list[Condition]:
    """All conditions of a filter.

    >>> [(one.path, one.test, one.operand) for one in read_filter({"size": {"$gte": 3}, "color": "red"})]
    [(('size',), 'gte', 3), (('color',), 'eq', 'red')]

    Raises:
        ValueError: an operator that is not one of `OPERATORS`.
    """
    return [condition for name, asked in wanted.items() for condition in _conditions((name,), asked)]


def _conditions(path: tuple[str, ...], asked: object) -> Iterator[Condition]:
    if isinstance(asked, Mapping):
        if any(name.startswith("$") for name in asked):
            yield from (Condition(path, _operator(name), operand) for name, operand in asked.items())
            return
        yield Condition(path, "type", "object")
        for name, inner in asked.items():
            yield from _conditions((*path, name), inner)
    elif isinstance(asked, list | tuple):
        yield Condition(path, "length", len(asked))
        for position, inner in enumerate(asked):
            yield from _conditions((*path, str(position)), inner)
    else:
        yield Condition(path, "eq", asked)


def _operator(name: str) -> Test:
    if name not in OPERATORS:
        raise ValueError(f"{name} is no operator: {', '.join(OPERATORS)} are")
    return OPERATORS[name]


def namespace_pattern(path: Sequence[str], *, at_end: bool = False) -> str:
    r"""A regular expression for namespaces (labels joined by dots) that begin, or end, with these labels.

    `*` is any label. The expression means the same in Python and in PostgreSQL.

    >>> namespace_pattern(["users", "*"]), namespace_pattern(["v1"], at_end=True)
    ('^users\\.[^.]+(\\.|$)', '(^|\\.)v1$')
    """
    labels = r"\.".join(_LABEL if label == ANY_LABEL else _escaped(label) for label in path)
    return rf"(^|\.){labels}$" if at_end else rf"^{labels}(\.|$)"


def _escaped(label: str) -> str:
    return re.sub(r"[^\w\s]", lambda found: f"\\{found[0]}" if found[0].isascii() else found[0], label)
