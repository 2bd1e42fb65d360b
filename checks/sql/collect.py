"""Finding every statement of the store, so that none escapes the rules.

In a module of the store a statement is a module-level constant with an upper-case name: written out as one string,
with `%(name)s` placeholders and `{slots}` for psycopg.sql (a tuple or dictionary of such strings will do). A fragment
that fills a slot is such a constant, too, or stands in `sql.SQL("…")`, where it is read as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from checks.report import Violation
from checks.sources import Literal, Source, literals
from checks.sql.parsing import Statement, Unparsable, looks_like_sql, parse, parse_expression

_STARTS_LIKE_SQL = re.compile(
    r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE|MERGE|COPY|TRUNCATE|VALUES|CREATE|ALTER|DROP|GRANT|REVOKE|SET|RESET|BEGIN|"
    r"COMMIT|ROLLBACK|SAVEPOINT|LOCK|LISTEN|NOTIFY|EXPLAIN|VACUUM|ANALYZE|DO|DECLARE|FETCH|MOVE|CLOSE|COMMENT|REINDEX|PREPARE|EXECUTE|DEALLOCATE|DISCARD|LOAD|CALL|SHOW|CLUSTER|REFRESH)\b"
)
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
_COMPOSERS = frozenset({"SQL", "sql.SQL", "psycopg.sql.SQL"})
_GLUE = re.compile(r"[\s,();]*|\s*(AND|OR|UNION ALL|[-+*/]|\|\|)\s*")


def collect_module(source: Source) -> tuple[list[Statement], list[Violation]]:
    """The statements of a module of the store, and the SQL in it that no rule could see."""
    statements: list[Statement] = []
    found: list[Violation] = []
    constants = _constants(source.tree)
    for name, nodes in constants.items():
        for node in nodes:
            if not _STARTS_LIKE_SQL.match(_text(node)):
                continue
            try:
                statements += parse(_text(node), path=source.path, line=node.lineno)
            except Unparsable as error:
                what = f"{name} is no SQL ({error}); fix the statement, or don't begin other text with a SQL verb."
                found.append(Violation(source.path, error.line, "unparsable", what))
    known = {id(node) for nodes in constants.values() for node in nodes}
    for literal in literals(source.tree):
        if id(literal.node) not in known and _is_hidden_statement(literal):
            kind = "an f-string" if literal.is_fstring else "a string inside code"
            found.append(
                Violation(
                    source.path,
                    literal.line,
                    "hidden-sql",
                    f"this statement is {kind}; fix by making it a module-level constant in capitals.",
                )
            )
    fragments, wrong = _fragments(source, constants)
    return [*statements, *fragments], [*found, *wrong]


def collect_migration(source: Source) -> tuple[list[Statement], list[Violation]]:
    """The statements of a migration file."""
    try:
        return parse(source.text, path=source.path, line=1, in_migration=True), []
    except Unparsable as error:
        return [], [
            Violation(
                source.path, error.line, "unparsable", f"PostgreSQL doesn't accept this ({error}); fix the statement."
            )
        ]


def _is_hidden_statement(literal: Literal) -> bool:
    text = literal.text
    if literal.is_fstring:
        # What is filled in at run time can't be parsed, so the first word decides.
        return bool(_STARTS_LIKE_SQL.match(text)) and len(text.split()) > 1
    return looks_like_sql(text)


def _constants(tree: ast.Module) -> dict[str, list[ast.Constant]]:
    """Name -> the strings of each module-level constant: one, or several in a tuple, list or dictionary."""
    found: dict[str, list[ast.Constant]] = {}
    for node in tree.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and _CONSTANT.fullmatch(target.id):
                found[target.id] = list(_written_out(node.value))
    return found


def _written_out(node: ast.expr) -> Iterator[ast.Constant]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    elif isinstance(node, (ast.Tuple, ast.List)):
        for item in node.elts:
            yield from _written_out(item)
    elif isinstance(node, ast.Dict):
        for item in node.values:
            yield from _written_out(item)


def _text(node: ast.Constant) -> str:
    return str(node.value)


def _fragments(source: Source, constants: dict[str, list[ast.Constant]]) -> tuple[list[Statement], list[Violation]]:
    """What is handed to `sql.SQL(...)`: fragments, by name or as they stand, and glue such as `", "`."""
    statements: list[Statement] = []
    found: list[Violation] = []
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) in _COMPOSERS and node.args):
            continue
        argument = node.args[0]
        if isinstance(argument, ast.JoinedStr):
            what = "sql.SQL is given an f-string; fix by a constant with slots and .format(slot=...)."
            found.append(Violation(source.path, node.lineno, "hidden-sql", what))
        named = constants.get(argument.id, []) if isinstance(argument, ast.Name) else []
        for constant in [argument] if isinstance(argument, ast.Constant) else named:
            try:
                statements += _fragment(source, constant)
            except Unparsable:
                what = f"{ast.unparse(argument)} is neither statement nor expression; fix by making it one."
                found.append(Violation(source.path, constant.lineno, "unparsable", what))
    return statements, found


def _fragment(source: Source, constant: ast.Constant) -> list[Statement]:
    if _STARTS_LIKE_SQL.match(_text(constant)) or _GLUE.fullmatch(_text(constant)):
        return []  # a whole statement was collected (or refused) already; glue says nothing
    return [parse_expression(_text(constant), path=source.path, line=constant.lineno)]
