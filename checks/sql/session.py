"""Rules 12, 21, 22, 23, g and h: no state that outlives a transaction, time from the Clock, nothing newer than 15."""

from __future__ import annotations

from collections.abc import Iterator

from checks.report import Violation
from checks.sql.parsing import Node, Statement, column, enum, function_name, walk
from checks.sql.schema import Schema
from checks.sql.volatility import is_now

_CURSOR_OPT_HOLD = 0x0020

_NEWER_THAN_15 = frozenset({
    "any_value", "array_sample", "array_shuffle", "array_sort", "array_reverse", "casefold", "uuidv4", "uuidv7",
    "random_normal", "erf", "erfc", "to_bin", "to_oct", "xmltext", "crc32", "crc32c",
})  # fmt: skip
_NOT_IN_EMBEDDED_SERVER = frozenset(
    {"unaccent", "similarity", "word_similarity", "strict_word_similarity", "show_trgm"}
)


def only_local_settings(statement: Statement, _: Schema) -> Iterator[Violation]:
    """23 and 12: SET LOCAL only, never plan_cache_mode, never set_config."""
    for node in walk(statement.node):
        if node["@"] == "VariableSetStmt":
            name = node.get("name", "")
            if not node["is_local"] and enum(node["kind"]) != "VAR_SET_MULTI":
                yield statement.violation("23", f"SET {name} outlives the transaction; fix by SET LOCAL.", node)
            if name == "plan_cache_mode":
                yield statement.violation("12", "this forces plans; fix by prepare=False for the statement.", node)
        elif node["@"] == "FuncCall" and function_name(node) == "set_config":
            yield statement.violation("23", "set_config() doesn't reach a cluster's workers; fix by SET LOCAL.", node)


def nothing_outlives_its_transaction(statement: Statement, _: Schema) -> Iterator[Violation]:
    """22 and 23: no LISTEN, no cursor WITH HOLD, no lasting temporary table, no prepared statement of its own."""
    node = statement.node
    match node["@"]:
        case "ListenStmt" | "UnlistenStmt" | "NotifyStmt":
            yield statement.violation("22", "LISTEN/NOTIFY needs a session; fix by polling.")
        case "DeclareCursorStmt" if node["options"] & _CURSOR_OPT_HOLD:
            yield statement.violation("23", "a cursor WITH HOLD outlives its transaction; fix by reading within it.")
        case "CreateStmt" if _lasting(node["relation"], node["oncommit"]):
            yield statement.violation("23", "a temporary table outlives its transaction; fix by ON COMMIT DROP.")
        case "CreateTableAsStmt" if _lasting(node["into"]["rel"], node["into"]["onCommit"]):
            yield statement.violation("23", "a temporary table outlives its transaction; fix by ON COMMIT DROP.")
        case "PrepareStmt" | "DeallocateStmt" | "DiscardStmt" | "LoadStmt":
            yield statement.violation("23", "this changes the session; fix by leaving it to the driver.")
        case _:
            pass


def _lasting(table: Node, on_commit: object) -> bool:
    return bool(table["relpersistence"] == "t") and enum(on_commit) != "ONCOMMIT_DROP"


def no_advisory_locks(statement: Statement, _: Schema) -> Iterator[Violation]:
    """21: mutual exclusion by a lease row or FOR UPDATE."""
    for node in walk(statement.node):
        if node["@"] == "FuncCall" and "advisory" in function_name(node):
            yield statement.violation(
                "21",
                f"{function_name(node)}() locks one node of many; fix by a lease row or SELECT .. FOR UPDATE.",
                node,
            )


def time_is_bound(statement: Statement, _: Schema) -> Iterator[Violation]:
    """g: `now` comes from the Clock; only a SELECT without a FROM may ask the server, to feed it."""
    root = statement.node
    if root["@"] == "SelectStmt" and "fromClause" not in root and "withClause" not in root:
        return
    for node in walk(root):
        if is_now(node):
            yield statement.violation(
                "g", "the statement asks the server for the time; fix by binding %(now)s or %(today)s.", node
            )


def nothing_newer_than_15(statement: Statement, _: Schema) -> Iterator[Violation]:
    """h: PostgreSQL 15 is supported, and the embedded server has no extension but vector."""
    for node in walk(statement.node):
        kind = node["@"]
        if kind == "FuncCall" and function_name(node) in _NEWER_THAN_15:
            yield statement.violation(
                "h", f"{function_name(node)}() doesn't exist in PostgreSQL 15; fix by computing it in Python.", node
            )
        elif kind == "FuncCall" and function_name(node) in _NOT_IN_EMBEDDED_SERVER:
            yield statement.violation(
                "h",
                f"{function_name(node)}() is not in the embedded server; fix by computing it in Python.",
                node,
            )
        elif kind.startswith("Json"):
            yield statement.violation(
                "h", "SQL/JSON syntax doesn't exist in PostgreSQL 15; fix by jsonb functions.", node
            )
        elif kind == "ReturningClause":
            for below in walk(node):
                if below["@"] == "ColumnRef" and column(below)[0] in {"old", "new"}:
                    yield statement.violation(
                        "h", "RETURNING old/new exists from PostgreSQL 18; fix by a CTE that reads the row.", below
                    )


RULES = (only_local_settings, nothing_outlives_its_transaction, no_advisory_locks, time_is_bound, nothing_newer_than_15)
