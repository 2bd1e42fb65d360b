"""The tables as the migrations leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from checks.sql.parsing import Node, Statement, enum, strings, type_name

SPACE = "space_id"

GLOBAL_TABLES = frozenset({"spaces", "families", "workers", "perdure_migrations", "api_keys", "admin_log"})
"""Small tables that belong to no space: reference tables on a cluster, outside row-level security."""

SLOTS = frozenset({"slot_queue", "slot_facts", "slot_fact_vectors"})
"""What `{queue}`, `{facts}` and `{fact_vectors}` are filled with: each stands for tables of a space of one shape."""

CROSS_SPACE_MODULE = "src/perdure/store/crossing.py"
"""The one file whose statements may look across spaces (to find out where work is due)."""


@dataclass
class Table:
    """A table with its columns in order (name -> type) and the statement that made it."""

    name: str
    made_by: Statement
    columns: dict[str, str] = field(default_factory=dict)
    row_security: bool = False
    policies: list[Node] = field(default_factory=list)

    @property
    def space_owned(self) -> bool:
        return SPACE in self.columns


@dataclass
class Schema:
    """All tables of the migrations, by name."""

    tables: dict[str, Table] = field(default_factory=dict)

    @classmethod
    def of(cls, migrations: Iterable[Statement]) -> Schema:
        """Replays the statements that make and change tables."""
        schema = cls()
        for statement in migrations:
            schema._apply(statement)
        return schema

    def space_owned(self, name: str) -> bool:
        return name in SLOTS or (name in self.tables and self.tables[name].space_owned)

    def column_type(self, name: str) -> str | None:
        """The type of a column if every table that has a column of that name agrees on it."""
        types = {table.columns[name] for table in self.tables.values() if name in table.columns}
        return types.pop() if len(types) == 1 else None

    def _apply(self, statement: Statement) -> None:
        node = statement.node
        match node["@"]:
            case "CreateStmt" if node["relation"]["relpersistence"] != "t":
                table = Table(node["relation"]["relname"], statement)
                self.tables[table.name] = table
                for element in node.get("tableElts", ()):
                    if element["@"] == "ColumnDef":
                        table.columns[element["colname"]] = type_name(element["typeName"])
            case "AlterTableStmt" if node["relation"]["relname"] in self.tables:
                for command in node["cmds"]:
                    self._alter(self.tables[node["relation"]["relname"]], command)
            case "CreatePolicyStmt" if node["table"]["relname"] in self.tables:
                self.tables[node["table"]["relname"]].policies.append(node)
            case "DropStmt" if enum(node["removeType"]) == "OBJECT_TABLE":
                for name in node["objects"]:
                    self.tables.pop(strings(name)[-1], None)
            case _:
                pass

    @staticmethod
    def _alter(table: Table, command: Node) -> None:
        match enum(command["subtype"]):
            case "AT_AddColumn":
                table.columns[command["def_"]["colname"]] = type_name(command["def_"]["typeName"])
            case "AT_DropColumn":
                table.columns.pop(command["name"], None)
            case "AT_EnableRowSecurity":
                table.row_security = True
            case "AT_DisableRowSecurity":
                table.row_security = False
            case _:
                pass


def constraints(statement: Statement) -> Iterator[tuple[str, Node, str | None]]:
    """Every constraint that a CREATE or ALTER TABLE states: (table, constraint, the column it is written behind)."""
    node = statement.node
    if node["@"] == "CreateStmt":
        elements = node.get("tableElts", ())
    elif node["@"] == "AlterTableStmt":
        elements = [command["def_"] for command in node["cmds"] if "@" in command.get("def_", ())]
    else:
        return
    table = node["relation"]["relname"]
    for element in elements:
        if element["@"] == "Constraint":
            yield table, element, None
        elif element["@"] == "ColumnDef":
            for constraint in element.get("constraints", ()):
                yield table, constraint, element["colname"]
