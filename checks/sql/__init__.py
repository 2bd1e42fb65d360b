"""The rules of SQL that run alike on plain PostgreSQL, behind PgBouncer and on Citus, checked statement by statement.

Numbers in messages are those of the rules in CONTRIBUTING.md, "SQL". Every statement of the store is parsed with
PostgreSQL's own grammar (pglast); a plain PostgreSQL can't notice most of these violations by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from checks.report import Violation
from checks.sources import Source
from checks.sql import reads, schema_rules, session, writes
from checks.sql.collect import collect_migration, collect_module
from checks.sql.parsing import Statement
from checks.sql.schema import Schema

StatementRule = Callable[[Statement, Schema], Iterable[Violation]]

RULES: tuple[StatementRule, ...] = (*reads.RULES, *writes.RULES, *session.RULES, *schema_rules.RULES)


def check_sql(modules: Iterable[Source], migrations: Iterable[Source]) -> list[Violation]:
    """All violations in the store's modules and migrations (given in the order in which they run)."""
    found: list[Violation] = []
    statements: list[Statement] = []
    for source in modules:
        of_module, wrong = collect_module(source)
        statements += of_module
        found += wrong
    in_migrations: list[Statement] = []
    for source in migrations:
        of_file, wrong = collect_migration(source)
        in_migrations += of_file
        found += wrong
    schema = Schema.of(in_migrations)
    for statement in [*statements, *in_migrations]:
        for rule in RULES:
            found += rule(statement, schema)
    found += schema_rules.whole_schema(schema)
    return sorted(set(found))
