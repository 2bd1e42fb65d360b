"""A digest of every table of a database, to see whether anything was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname = 'public' ORDER BY c.relname
"""
DIGEST = "SELECT count(*) || ':' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '') FROM {table} r"
SEQUENCES = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public' ORDER BY sequencename"


def digests(urls: ServerUrls) -> dict[str, str]:
    """By table, as the catalogue names them, how many rows it has and what they hold; sequences with their value.

    The owner reads, whom row-level security doesn't hold.
    """
    with psycopg.connect(urls.owner, autocommit=True) as connection:
        names = [row[0] for row in connection.execute(TABLES)]
        found = {}
        for name in names:
            query = sql.SQL(DIGEST).format(table=sql.Identifier(name))
            row = connection.execute(query).fetchone()
            assert row is not None
            found[name] = str(row[0])
        found.update({name: str(value) for name, value in connection.execute(SEQUENCES)})
    return found
