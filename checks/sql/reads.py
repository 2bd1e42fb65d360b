"""Rules 9, 12 and 13: every table is asked for its space, every column by name, nothing about physical storage."""

from __future__ import annotations

from collections.abc import Iterator

from checks.report import Violation
from checks.sql.levels import levels
from checks.sql.parsing import Node, Statement, column, enum, function_name, strings, walk
from checks.sql.schema import CROSS_SPACE_MODULE, SPACE, Schema

_PHYSICAL_COLUMNS = frozenset({"ctid", "tableoid", "reltuples", "relpages"})
_PHYSICAL_FUNCTIONS = frozenset(
    {
        "pg_relation_size",
        "pg_total_relation_size",
        "pg_table_size",
        "pg_indexes_size",
        "pg_database_size",
        "pg_relation_filepath",
    }
)


def every_table_is_scoped(statement: Statement, schema: Schema) -> Iterator[Violation]:
    """9: `space_id = %(space_id)s` (or `= ANY`) for every space-owned table, in every level and CTE member."""
    if statement.in_migration or statement.path == CROSS_SPACE_MODULE:
        return
    for level in levels(statement.node):
        if level.node["@"] == "InsertStmt":
            yield from _insert_names_space(statement, schema, level.node)
        for name, alias, node in level.tables:
            if schema.space_owned(name) and not any(_scopes(c, alias, statement) for c in level.conditions):
                yield statement.violation(
                    "9",
                    f"{alias} has no predicate of its own; fix by `{alias}.{SPACE} = %({SPACE})s` in WHERE or ON.",
                    node,
                )


def whole_tables_are_scoped(statement: Statement, schema: Schema) -> Iterator[Violation]:
    """9: COPY names space_id among its columns, and nothing empties a table for all spaces."""
    node = statement.node
    if node["@"] == "CopyStmt" and node["is_from"] and schema.space_owned(node["relation"]["relname"]):
        if SPACE not in strings(node.get("attlist", ())):
            yield statement.violation("9", f"COPY doesn't name {SPACE} among its columns; fix by naming the columns.")
    elif node["@"] == "TruncateStmt" and any(schema.space_owned(table["relname"]) for table in node["relations"]):
        yield statement.violation("9", f"TRUNCATE empties a table for all spaces; fix by DELETE with {SPACE}.")


def _insert_names_space(statement: Statement, schema: Schema, node: Node) -> Iterator[Violation]:
    table = node["relation"]["relname"]
    if schema.space_owned(table) and SPACE not in {target["name"] for target in node.get("cols", ())}:
        yield statement.violation(
            "9",
            f"INSERT INTO {table} doesn't name {SPACE}; fix by naming the columns, {SPACE} first.",
            node["relation"],
        )


def _scopes(condition: Node, alias: str, statement: Statement) -> bool:
    """Whether a condition is `alias.space_id = %(space_id…)s`, in either order, or `= ANY (%(space_id…)s)`."""
    if condition["@"] != "A_Expr" or enum(condition["kind"]) not in {"AEXPR_OP", "AEXPR_OP_ANY"}:
        return False
    if strings(condition["name"]) != ["="]:
        return False
    left, right = condition["lexpr"], condition["rexpr"]
    return (_is_space(left, alias) and _is_bound_space(right, statement)) or (
        enum(condition["kind"]) == "AEXPR_OP" and _is_space(right, alias) and _is_bound_space(left, statement)
    )


def _is_space(node: Node, alias: str) -> bool:
    # Without a qualifier the name would be ambiguous beside a second table, unless a USING merged both.
    return node["@"] == "ColumnRef" and column(node) in {(alias, SPACE), (None, SPACE)}


def _is_bound_space(node: Node, statement: Statement) -> bool:
    while node["@"] == "TypeCast":
        node = node["arg"]
    return node["@"] == "ParamRef" and statement.params.get(node["number"], "").startswith(SPACE)


def named_placeholders(statement: Statement, _: Schema) -> Iterator[Violation]:
    """Values are bound by name, so that a reader and rule 9 see what each one is."""
    if any(name.startswith("positional") for name in statement.params.values()):
        yield statement.violation("9", "a positional %s; fix by writing %(name)s.")


def columns_are_named(statement: Statement, _: Schema) -> Iterator[Violation]:
    """12: no `SELECT *`, no `RETURNING *`."""
    for node in walk(statement.node):
        if node["@"] == "ColumnRef" and column(node)[1] == "*":
            yield statement.violation(
                "12", "a star stands for columns that a migration may change; fix by naming them.", node
            )


def nothing_physical(statement: Statement, _: Schema) -> Iterator[Violation]:
    """13: no reltuples, relation sizes, tableoid, ctid: on a cluster they speak of an empty shell."""
    for node in walk(statement.node):
        if node["@"] == "ColumnRef" and column(node)[1] in _PHYSICAL_COLUMNS:
            yield statement.violation(
                "13", f"{column(node)[1]} says nothing on a cluster; fix by a key or a stored count.", node
            )
        elif node["@"] == "FuncCall" and function_name(node) in _PHYSICAL_FUNCTIONS:
            yield statement.violation(
                "13", f"{function_name(node)}() says nothing on a cluster; fix by a stored count.", node
            )


RULES = (every_table_is_scoped, whole_tables_are_scoped, named_placeholders, columns_are_named, nothing_physical)
