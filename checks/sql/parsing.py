"""From text to syntax tree: placeholders and slots are filled in, then PostgreSQL's own grammar decides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pglast
from pglast.parser import ParseError

from checks.report import Violation

Node = Mapping[str, Any]
"""A node of PostgreSQL's syntax tree; `node["@"]` is its type."""

_FRAMES = (
    "SELECT {}",
    "SELECT 1 {}",
    "SELECT 1 WHERE true {}",
    "SELECT 1 FROM a {}",
    "WITH {} SELECT 1",
    "WITH {} z AS (SELECT 1) SELECT 1",
)
_PLACEHOLDER = re.compile(r"%(?:\((?P<name>\w+)\))?[sbt]")
_SLOT = re.compile(r"(?<!\{)\{(?P<name>\w*)\}(?!\})")
# What psycopg.sql may put into a slot, likeliest first: an identifier or expression, a number, a string, one more
# condition, summand or column, a query, a member of WITH, nothing.
_FILLINGS = (
    "slot_{name}",
    "1",
    "'{name}'",
    "AND true",
    "+ 1",
    ", slot_{name}",
    "SELECT 1",
    "slot_{name} AS (SELECT 1)",
    "",
)

_VERB = re.compile(
    r"\s*(?P<verb>WITH|SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|COPY|TRUNCATE|VALUES|CREATE|ALTER|DROP|"
    r"GRANT|REVOKE|SET|RESET|SHOW|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|LOCK|LISTEN|NOTIFY|EXPLAIN|VACUUM|ANALYZE|DO)\b",
    re.IGNORECASE,
)
_LOWERCASE_SQL = re.compile(r"\b(from|into|set|values|table|index|where|local|returning)\b|[(*;=]")


@dataclass(frozen=True)
class Statement:
    """One parsed statement and where it stands. `params[n]` is the name of the placeholder that became `$n`."""

    path: str
    line: int
    text: str
    node: Node
    params: Mapping[int, str] = field(default_factory=dict)
    start: int = 0
    in_migration: bool = False

    def violation(self, rule: str, message: str, node: Node | None = None) -> Violation:
        """A violation at that node, or at the first node inside the statement."""
        offset = _first_location(node if node is not None else self.node, self.start)
        return Violation(self.path, self.line + self.text.count("\n", 0, offset), f"rule {rule}", message)


class Unparsable(Exception):
    """The text is not SQL that PostgreSQL would accept."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


def looks_like_sql(text: str) -> bool:
    """Whether a string is a statement: it starts with a SQL verb and PostgreSQL's own grammar accepts it.

    An English sentence may parse ("Select a space"), so a verb with a single capital is taken for prose, and so is a
    lower-case one without any further sign of SQL.
    """
    found = _VERB.match(text)
    if found is None:
        return False
    verb = found["verb"]
    bare = len(text.split()) == 1
    if not verb.isupper() and (bare or not verb.islower() or not _LOWERCASE_SQL.search(text[found.end() :])):
        return False
    return parses(text)


def parses(text: str) -> bool:
    """Whether the text, placeholders and slots filled in, is one or more statements."""
    try:
        return bool(parse(text, path="", line=1))
    except Unparsable:
        return False


def parse(text: str, *, path: str, line: int, in_migration: bool = False) -> list[Statement]:
    """The statements of a text that starts on that line; raises Unparsable."""
    params: dict[int, str] = {}
    filled = text if in_migration else _numbered(text, params)
    filled, roots = _fill_and_parse(filled, line)
    return [Statement(path, line, filled, root, params, start, in_migration) for start, root in roots]


def parse_expression(text: str, *, path: str, line: int) -> Statement:
    """A fragment that composition puts into a slot: an expression, a list, a clause, members of WITH.

    It is parsed within the first frame that takes it; raises Unparsable if none does.
    """
    stripped = re.sub(r"^(\s*)(?:AND|OR|WHERE|,|ORDER BY)\b", r"\1", text, flags=re.IGNORECASE)
    for frame in _FRAMES:
        for body in (stripped, text):
            try:
                return parse(frame.replace("{}", body), path=path, line=line)[0]
            except Unparsable:
                continue
    raise Unparsable("not an expression", line)


def _numbered(text: str, params: dict[int, str]) -> str:
    """`%(name)s` becomes `$n`, as the driver sends it, and `%%` becomes `%`; `params` learns which name is which n."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match["name"] or f"positional {len(params) + 1}"
        n = numbers.setdefault(name, len(numbers) + 1)
        params[n] = name
        return f"${n}"

    return _PLACEHOLDER.sub(number, text).replace("%%", "%")


def _fill_and_parse(text: str, line: int) -> tuple[str, list[tuple[int, Node]]]:
    """The text with its slots filled in, and (offset, tree) of each statement in it."""
    slots = list(_SLOT.finditer(text))
    chosen = [0] * len(slots)
    attempt = _attempt(text, slots, chosen)
    while isinstance(attempt, _Failed):
        culprit = attempt.last_slot
        if culprit is None:
            raise Unparsable(attempt.reason, line + attempt.lines_before)
        others = [[*chosen[:culprit], n, *chosen[culprit + 1 :]] for n in range(1, len(_FILLINGS))]
        attempts = [(_attempt(text, slots, other), other) for other in others]
        better, chosen = min(attempts, key=lambda pair: pair[0].left if isinstance(pair[0], _Failed) else -1)
        if isinstance(better, _Failed) and better.left >= attempt.left:
            raise Unparsable(attempt.reason, line + attempt.lines_before)
        attempt = better
    return attempt


@dataclass(frozen=True, slots=True)
class _Failed:
    """A parse that failed: how much text was left, and the last slot before the error, which may be filled wrongly."""

    reason: str
    left: int
    lines_before: int
    last_slot: int | None


def _attempt(text: str, slots: list[re.Match[str]], chosen: list[int]) -> tuple[str, list[tuple[int, Node]]] | _Failed:
    pieces: list[str] = []
    starts: list[int] = []
    end = length = 0
    for slot, filling in zip(slots, chosen, strict=True):
        pieces += [text[end : slot.start()], _FILLINGS[filling].format(name=slot["name"])]
        starts.append(length + len(pieces[-2]))
        length += len(pieces[-2]) + len(pieces[-1])
        end = slot.end()
    filled = "".join([*pieces, text[end:]])
    try:
        return filled, [(raw.stmt_location or 0, _tree(raw.stmt)) for raw in pglast.parse_sql(filled)]
    except ParseError as error:
        where = error.args[1] if len(error.args) > 1 and error.args[1] is not None else len(filled)
        last = max((n for n, start in enumerate(starts) if start <= where), default=None)
        return _Failed(str(error.args[0]), len(filled) - where, filled.count("\n", 0, where), last)


def _tree(statement: Any) -> Node:
    tree: Node = statement(skip_none=True)
    return tree


def _first_location(node: Node, default: int) -> int:
    """Offset of a node; one that carries none takes the smallest of its children's."""
    location = node.get("location", -1)
    if isinstance(location, int) and location >= 0:
        return location
    return min((place for child in children(node) if (place := _first_location(child, -1)) >= 0), default=default)


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of their fields; lists are looked through."""
    for value in node.values():
        yield from _nodes_in(value)


def _nodes_in(value: object) -> Iterator[Node]:
    if isinstance(value, Mapping):
        if "@" in value:
            yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _nodes_in(item)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def strings(value: object) -> list[str]:
    """The names in a list of String nodes: the parts of a column, function or type name."""
    assert isinstance(value, (tuple, list))
    return [item["sval"] for item in value if item["@"] == "String"]


def enum(value: object) -> str:
    """The name of an enumeration's value."""
    return str(value["name"]) if isinstance(value, Mapping) else ""


def function_name(node: Node) -> str:
    """The function's name without its schema, in lower case."""
    return strings(node["funcname"])[-1].lower()


def column(node: Node) -> tuple[str | None, str]:
    """(table or alias, column) of a ColumnRef; the column of a star is `*`."""
    fields = node["fields"]
    names = ["*" if field_["@"] == "A_Star" else str(field_["sval"]) for field_ in fields]
    return (names[-2] if len(names) > 1 else None), names[-1]


def type_name(node: Node) -> str:
    """The type's name as PostgreSQL keeps it (`int8`, `timestamptz`), without schema and modifiers."""
    name = strings(node["names"])[-1].lower()
    return {"bigint": "int8", "integer": "int4", "int": "int4", "smallint": "int2"}.get(name, name)
