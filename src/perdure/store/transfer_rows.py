"""The rows of a space as JSON, out of any table and into it. Which tables there are, `catalogue.py` says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from perdure.store.catalogue import Table
from perdure.store.database import SpaceTransaction, Transaction

READ_ROWS: Final = """
    SELECT to_jsonb(t) AS row
    FROM (SELECT {columns} FROM {table} r WHERE r.space_id = %(space_id)s ORDER BY {key}) t
"""

COUNT_ROWS: Final = """
    SELECT count(*) AS n FROM {table} r WHERE r.space_id = %(space_id)s
"""

WRITE_ROWS: Final = """
    INSERT INTO {table} (space_id, {columns})
    SELECT %(space_id)s, {chosen} FROM jsonb_populate_recordset(NULL::{table}, %(rows)s) AS r
"""

DELETE_ROWS: Final = """
    DELETE FROM {table} r WHERE r.space_id = %(space_id)s
"""

NEXT_ID: Final = "SELECT nextval(%(sequence)s::regclass) AS id"

SKIP_IDS: Final = """
    SELECT max(nextval(%(sequence)s::regclass)) AS id FROM generate_series(1, %(count)s::bigint)
"""

RENAME: Final = """
    UPDATE spaces SET name = %(name)s, time_zone = %(time_zone)s, created_at = %(created_at)s WHERE id = %(space_id)s
"""

DELETE_SPACE: Final = "DELETE FROM spaces WHERE id = %(space_id)s"

BARE_MEMORIES: Final = """
    SELECT m.id FROM memories m
    WHERE m.space_id = %(space_id)s AND m.id > %(after)s
      AND NOT EXISTS (
          SELECT FROM memory_vectors v
          WHERE v.space_id = %(space_id)s AND v.family_id = %(family_id)s AND v.memory_id = m.id)
    ORDER BY m.id
    LIMIT %(limit)s
"""

MEMORY_IDS: Final = """
    SELECT m.id FROM memories m WHERE m.space_id = %(space_id)s AND m.id > %(after)s ORDER BY m.id LIMIT %(limit)s
"""

SET_SKETCHES: Final = """
    UPDATE memory_state s SET sketch = t.sketch::bit(256)
    FROM unnest(%(ids)s::bigint[], %(sketches)s::text[]) AS t (id, sketch)
    WHERE s.space_id = %(space_id)s AND s.memory_id = t.id
"""

FETCHED: Final = 500
"""Rows that a cursor brings at a time."""


class RowsRefused(Exception):
    """The database refuses rows: `rule` is the constraint or column that they break. Their values are not told."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


async def count_rows(tx: SpaceTransaction, table: Table) -> int:
    row = await tx.fetch_one(sql.SQL(COUNT_ROWS).format(table=sql.Identifier(table.name)))
    assert row is not None
    return int(row["n"])


async def read_rows(tx: SpaceTransaction, table: Table) -> AsyncIterator[dict[str, Any]]:
    """All rows of a table in the order of its key, each as JSON, without the number of the space."""
    statement = sql.SQL(READ_ROWS).format(
        table=sql.Identifier(table.name),
        columns=_named(table.columns),
        key=_named(table.key or table.columns),
    )
    async for row in tx.stream(statement, size=FETCHED):
        yield row["row"]


async def write_rows(
    tx: SpaceTransaction, table: Table, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Adds rows as `read_rows` gave them; columns that are not named get what the table gives by itself.

    Raises RowsRefused.
    """
    statement = sql.SQL(WRITE_ROWS).format(
        table=sql.Identifier(table.name),
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
        chosen=_named(columns),
    )
    try:
        await tx.execute(statement, {"rows": Jsonb(list(rows))})
    except (psycopg.errors.IntegrityError, psycopg.errors.DataError) as error:
        rule = error.diag.constraint_name or error.diag.column_name or "a value of the wrong kind"
        raise RowsRefused(rule) from None


async def delete_rows(tx: SpaceTransaction, table: Table) -> int:
    """Removes all rows of the space from a table; how many there were."""
    return await tx.execute(sql.SQL(DELETE_ROWS).format(table=sql.Identifier(table.name)))


async def reach(tx: Transaction, sequence: str, highest: int, most: int) -> bool:
    """Moves a sequence past an id, so that the next ones are free; False where that were more than `most` steps."""
    row = await tx.fetch_one(NEXT_ID, {"sequence": sequence})
    assert row is not None
    missing = highest - int(row["id"])
    if missing > most:
        return False
    if missing > 0:
        await tx.fetch_one(SKIP_IDS, {"sequence": sequence, "count": missing})
    return True


async def rename_space(tx: SpaceTransaction, name: str, time_zone: str, created_at: object) -> None:
    """Gives the space its name. Raises RowsRefused where another one has it, or what is given is none."""
    try:
        await tx.execute(RENAME, {"name": name, "time_zone": time_zone, "created_at": created_at})
    except (psycopg.errors.IntegrityError, psycopg.errors.DataError) as error:
        raise RowsRefused(error.diag.constraint_name or "a value of the wrong kind") from None


async def delete_space(tx: SpaceTransaction) -> None:
    """Removes the space from the directory."""
    await tx.execute(DELETE_SPACE)


async def memory_ids(tx: SpaceTransaction, after: int, limit: int) -> list[int]:
    """Ids above `after`, the lowest first."""
    return [row["id"] for row in await tx.fetch_all(MEMORY_IDS, {"after": after, "limit": limit})]


async def bare_memories(tx: SpaceTransaction, family_id: int, after: int, limit: int) -> list[int]:
    """Ids above `after` of memories without a vector of this family, the lowest first."""
    params = {"family_id": family_id, "after": after, "limit": limit}
    return [row["id"] for row in await tx.fetch_all(BARE_MEMORIES, params)]


async def set_sketches(tx: SpaceTransaction, ids: Sequence[int], sketches: Sequence[str]) -> None:
    """Says where the vectors of these memories point."""
    await tx.execute(SET_SKETCHES, {"ids": list(ids), "sketches": list(sketches)})


def _named(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.SQL("r.{}").format(sql.Identifier(name)) for name in columns)
