"""Query levels: every SELECT, UPDATE, DELETE and INSERT inside a statement, with the tables it names itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.sql.parsing import Node, children, enum

_QUERIES = frozenset({"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"})


@dataclass(frozen=True, slots=True)
class Level:
    """One query level: its node, its tables as (name, alias, node), common table expressions left out, and the
    conditions that all must hold (WHERE, ON), split at AND."""

    node: Node
    tables: tuple[tuple[str, str, Node], ...]
    conditions: tuple[Node, ...]


def levels(node: Node, ctes: frozenset[str] = frozenset()) -> Iterator[Level]:
    """Every level of a statement, common table expressions and sub-selects included."""
    if node["@"] not in _QUERIES:
        for child in children(node):
            yield from levels(child, ctes)
        return
    with_clause = node.get("withClause")
    if with_clause:
        for member in with_clause["ctes"]:
            own = {member["ctename"]} if with_clause["recursive"] else set()
            yield from levels(member["ctequery"], ctes | own)
            ctes |= {member["ctename"]}
    tables: list[tuple[str, str, Node]] = []
    conditions: list[Node] = []
    if node["@"] in {"UpdateStmt", "DeleteStmt"}:
        _add_from(node["relation"], ctes, tables, conditions)
    for clause in ("fromClause", "usingClause"):
        for item in node.get(clause, ()):
            _add_from(item, ctes, tables, conditions)
    conditions += conjuncts(node.get("whereClause"))
    yield Level(node, tuple(tables), tuple(conditions))
    for child in children(node):
        if child is not with_clause:
            yield from levels(child, ctes)


def conjuncts(condition: Node | None) -> list[Node]:
    """The conditions that must all hold for this one to hold."""
    if condition is None:
        return []
    if condition["@"] == "BoolExpr" and enum(condition["boolop"]) == "AND_EXPR":
        return [part for argument in condition["args"] for part in conjuncts(argument)]
    return [condition]


def _add_from(item: Node, ctes: frozenset[str], tables: list[tuple[str, str, Node]], conditions: list[Node]) -> None:
    if item["@"] == "RangeVar":
        name = item["relname"]
        if name not in ctes or "schemaname" in item:
            alias = item["alias"]["aliasname"] if "alias" in item else name
            tables.append((name, alias, item))
    elif item["@"] == "JoinExpr":
        _add_from(item["larg"], ctes, tables, conditions)
        _add_from(item["rarg"], ctes, tables, conditions)
        conditions += conjuncts(item.get("quals"))
