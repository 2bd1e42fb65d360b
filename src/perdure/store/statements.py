"""Statements that are put together from pieces, whatever they ask."""

from __future__ import annotations

from psycopg import sql


def kept(statement: sql.Composed) -> sql.SQL:
    """A statement as one text, for those that are put together once and run often: its pieces are not walked again."""
    return sql.SQL(statement.as_string(None))
