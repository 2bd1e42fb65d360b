"""Rules 7, 14 and 15: what a write may compute. On a cluster even a one-space write is refused otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from checks.report import Violation
from checks.sql.levels import Level, levels
from checks.sql.parsing import Node, Statement, children, walk
from checks.sql.schema import SPACE, Schema
from checks.sql.volatility import Expressions, contains_column

_BIND = "fix by binding the value, or by computing it in a WITH .. SELECT and writing from there"


def space_is_not_updated(statement: Statement, _: Schema) -> Iterator[Violation]:
    """7: a row never moves between spaces by UPDATE."""
    for level in levels(statement.node):
        conflict = level.node.get("onConflictClause", {})
        targets = [
            *(level.node.get("targetList", ()) if level.node["@"] == "UpdateStmt" else ()),
            *conflict.get("targetList", ()),
        ]
        for target in targets:
            if target.get("name") == SPACE:
                yield statement.violation(
                    "7", f"{SPACE} is updated; fix by insert and delete in one transaction.", target
                )


def only_immutable_in_writes(statement: Statement, schema: Schema) -> Iterator[Violation]:
    """14: in UPDATE, DELETE, ON CONFLICT and RETURNING only IMMUTABLE functions touch columns."""
    if statement.in_migration:
        return
    expressions = Expressions(statement, schema)
    for level in levels(statement.node):
        kind = level.node["@"]
        if kind in {"UpdateStmt", "DeleteStmt"}:
            verb = kind.removesuffix("Stmt").upper()
            for node in _written(level):
                yield from _judged(statement, expressions, node, verb, columns_only=True)
        conflict = level.node.get("onConflictClause")
        if conflict:
            for node in _below(conflict):
                yield from _judged(statement, expressions, node, "ON CONFLICT", columns_only=False)
        returning = level.node.get("returningClause")
        if returning:
            for node in _below(returning):
                yield from _judged(statement, expressions, node, "RETURNING", columns_only=False)


def _written(level: Level) -> Iterator[Node]:
    for target in level.node.get("targetList", ()):
        yield from walk(target)
    for condition in level.conditions:
        yield from walk(condition)


def _below(node: Node) -> Iterator[Node]:
    for child in children(node):
        yield from walk(child)


def _judged(
    statement: Statement, expressions: Expressions, node: Node, where: str, *, columns_only: bool
) -> Iterator[Violation]:
    if volatile := expressions.volatile(node):
        yield statement.violation("14", f"{volatile}() is VOLATILE and stands in {where}; {_BIND}.", node)
    elif (stable := expressions.stable(node)) and (not columns_only or contains_column(node)):
        what = "meets a column" if columns_only else "stands"
        yield statement.violation(
            "14",
            f"{stable} is not IMMUTABLE (as far as checks/sql/volatility.py knows) and {what} in {where}; {_BIND}.",
            node,
        )


def no_subselect_in_values(statement: Statement, _: Schema) -> Iterator[Violation]:
    """15: no sub-select in VALUES or in ON CONFLICT SET, no MERGE."""
    for level in levels(statement.node):
        if level.node["@"] == "MergeStmt":
            yield statement.violation("15", "MERGE; fix by INSERT .. ON CONFLICT.", level.node)
        if level.node["@"] != "InsertStmt":
            continue
        values = level.node.get("selectStmt", {}).get("valuesLists", ())
        conflict = level.node.get("onConflictClause", {})
        looked_at = [*(item for row in values for item in row), *conflict.get("targetList", ())]
        for node in looked_at:
            for below in walk(node):
                if below["@"] == "SubLink":
                    yield statement.violation(
                        "15", "a sub-select in VALUES or ON CONFLICT SET; fix by INSERT .. SELECT.", below
                    )


RULES = (space_is_not_updated, only_immutable_in_writes, no_subselect_in_values)
