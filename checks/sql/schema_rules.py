"""Rules 1 to 6 and row-level security: what tables, keys and indexes look like."""

from __future__ import annotations

from collections.abc import Iterator

from checks.report import Violation
from checks.sql.parsing import Node, Statement, enum, strings, type_name, walk
from checks.sql.schema import GLOBAL_TABLES, SPACE, Schema, constraints

_KEYS = frozenset({"CONSTR_PRIMARY", "CONSTR_UNIQUE"})
_NAMED = _KEYS | {"CONSTR_CHECK", "CONSTR_FOREIGN", "CONSTR_EXCLUSION"}
_SMALL_IDS = frozenset({"int2", "int4", "serial", "serial2", "serial4", "smallserial"})
_INDEXES_WITHOUT_SPACE = frozenset({"gin", "hnsw"})
"""Index methods that can't carry a bigint column without an extension; the planner combines them with the policy."""


def space_comes_first(statement: Statement, schema: Schema) -> Iterator[Violation]:
    """1 and 3: space_id bigint NOT NULL is the first column of a table, of its keys and of its indexes."""
    node = statement.node
    if node["@"] == "CreateStmt" and node["relation"]["relpersistence"] != "t":
        yield from _first_column(statement)
    for table, constraint, behind in constraints(statement):
        if enum(constraint["contype"]) in _KEYS and schema.space_owned(table):
            keys = strings(constraint["keys"]) if "keys" in constraint else [behind]
            if keys[0] != SPACE and "indexname" not in constraint:
                yield statement.violation(
                    "1", f"a key of {table} begins with {keys[0]}; fix by putting {SPACE} first.", constraint
                )
    if node["@"] == "IndexStmt" and schema.space_owned(node["relation"]["relname"]):
        first = node["indexParams"][0].get("name")
        if first != SPACE and (node["unique"] or node["accessMethod"] not in _INDEXES_WITHOUT_SPACE):
            yield statement.violation(
                "1",
                f"index {node.get('idxname', '')} doesn't begin with {SPACE}; fix by putting it first.",
                node["relation"],
            )


def _first_column(statement: Statement) -> Iterator[Violation]:
    name = statement.node["relation"]["relname"]
    columns = [element for element in statement.node.get("tableElts", ()) if element["@"] == "ColumnDef"]
    position = next((n for n, item in enumerate(columns) if item["colname"] == SPACE), None)
    if position is None:
        if name not in GLOBAL_TABLES:
            yield statement.violation(
                "1",
                f"table {name} has no {SPACE}; fix by adding it first, or by naming the table in GLOBAL_TABLES.",
            )
        return
    space = columns[position]
    not_null = any(enum(item["contype"]) == "CONSTR_NOTNULL" for item in space.get("constraints", ()))
    if position != 0 or type_name(space["typeName"]) != "int8" or not not_null:
        yield statement.violation(
            "1",
            f"{SPACE} of {name} must be `{SPACE} bigint NOT NULL` and the first column; fix by writing it so.",
            space,
        )


def ids_are_bigserial(statement: Statement, _: Schema) -> Iterator[Violation]:
    """2: ids are bigint from a sequence, or uuid; never IDENTITY, never int."""
    for _table, constraint, behind in constraints(statement):
        if enum(constraint["contype"]) == "CONSTR_IDENTITY":
            yield statement.violation("2", f"{behind} is an IDENTITY column; fix by bigserial.", constraint)
    for node in walk(statement.node):
        if node["@"] == "ColumnDef" and "typeName" in node:
            name, kind = node["colname"], type_name(node["typeName"])
            if kind in _SMALL_IDS and (name == "id" or name.endswith("_id") or "serial" in kind):
                yield statement.violation("2", f"{name} is {kind}; fix by bigint or bigserial.", node)


def foreign_keys_stay_in_a_space(statement: Statement, schema: Schema) -> Iterator[Violation]:
    """4: composite, NO ACTION or CASCADE, never to `spaces`."""
    for table, constraint, behind in constraints(statement):
        if enum(constraint["contype"]) != "CONSTR_FOREIGN":
            continue
        target = constraint["pktable"]["relname"]
        own = strings(constraint["fk_attrs"]) if "fk_attrs" in constraint else [str(behind)]
        there = strings(constraint.get("pk_attrs", ()))
        if {constraint["fk_del_action"], constraint["fk_upd_action"]} & {"n", "d"}:
            yield statement.violation(
                "4",
                f"the foreign key of {table} sets columns when {target} changes; fix by clearing them explicitly.",
                constraint,
            )
        if schema.space_owned(table) and (own[0] != SPACE or there[:1] != [SPACE]):
            yield statement.violation(
                "4",
                f"the foreign key {table} -> {target} must be ({SPACE}, ..) on both sides; fix so, or drop it.",
                constraint,
            )


def no_triggers(statement: Statement, _: Schema) -> Iterator[Violation]:
    """5: no triggers, rules, procedural blocks; functions only if they are IMMUTABLE; no sub-select in a policy."""
    node = statement.node
    match node["@"]:
        case "CreateTrigStmt" | "CreateEventTrigStmt":
            yield statement.violation("5", "a trigger; fix by a generated column or in the store's code.")
        case "RuleStmt":
            yield statement.violation("5", "a rule; fix in the store's code.")
        case "DoStmt":
            yield statement.violation(
                "5", "a DO block hides its statements from these checks; fix by plain statements."
            )
        case "CreateFunctionStmt" if not _is_immutable(node):
            yield statement.violation("5", "a function that isn't IMMUTABLE; fix in the store's code.")
        case "CreatePolicyStmt" if any(below["@"] == "SubLink" for below in walk(node)):
            yield statement.violation(
                "5", "a policy with a sub-select runs once per row; fix by comparing with the setting."
            )
        case _:
            pass


def _is_immutable(node: Node) -> bool:
    return any(
        option["defname"] == "volatility" and option["arg"]["sval"] == "immutable" for option in node.get("options", ())
    )


def constraints_are_named(statement: Statement, _: Schema) -> Iterator[Violation]:
    """6: every constraint has a name; column, constraint and storage settings are stated apart."""
    node = statement.node
    if node["@"] == "CreateStmt" and node["relation"]["relpersistence"] == "t":
        return
    for table, constraint, behind in constraints(statement):
        if enum(constraint["contype"]) not in _NAMED:
            continue
        if "conname" not in constraint:
            yield statement.violation(
                "6", f"a constraint of {table} has no name; fix by CONSTRAINT {table}_.. before it.", constraint
            )
        if node["@"] == "AlterTableStmt" and behind is not None:
            yield statement.violation(
                "6", f"{behind} is added together with a constraint; fix by two statements.", constraint
            )
    if node["@"] == "AlterTableStmt":
        for command in node["cmds"]:
            if enum(command["subtype"]) in {"AT_SetRelOptions", "AT_SetStorage", "AT_SetStatistics", "AT_SetOptions"}:
                yield statement.violation(
                    "6", "storage settings are changed afterwards; fix by stating them in CREATE TABLE."
                )


def tables_come_from_migrations(statement: Statement, _: Schema) -> Iterator[Violation]:
    """6: a lasting table is made by a migration, where the schema is read from."""
    node = statement.node
    if statement.in_migration or node["@"] != "CreateStmt" or node["relation"]["relpersistence"] == "t":
        return
    if node["relation"]["relname"] not in GLOBAL_TABLES:
        yield statement.violation(
            "6",
            f"{node['relation']['relname']} is made outside a migration; fix by a file in store/migrations.",
        )


def whole_schema(schema: Schema) -> Iterator[Violation]:
    """Row-level security is on, with a policy that compares space_id, for every table of a space."""
    for table in schema.tables.values():
        if not table.space_owned:
            continue
        if not table.row_security:
            yield table.made_by.violation(
                "b",
                f"{table.name} has no row-level security; fix by ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY.",
            )
        if not any(_compares_space(policy) for policy in table.policies):
            yield table.made_by.violation(
                "b", f"{table.name} has no policy that compares {SPACE} with the setting; fix by CREATE POLICY."
            )


def _compares_space(policy: Node) -> bool:
    names = [strings(node["fields"]) for node in walk(policy.get("qual", policy)) if node["@"] == "ColumnRef"]
    return [SPACE] in names


RULES = (
    space_comes_first,
    ids_are_bigserial,
    foreign_keys_stay_in_a_space,
    no_triggers,
    constraints_are_named,
    tables_come_from_migrations,
)
