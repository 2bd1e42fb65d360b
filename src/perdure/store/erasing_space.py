"""Erasing a space: it loses its name first, so that nobody finds it any more, then its rows, then its place."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from psycopg import sql

from perdure.store.catalogue import Table
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.spaces import ERASING, SpaceRow

TAKE_NAME: Final = """
    UPDATE spaces SET name = %(mark)s || id WHERE id = %(space_id)s AND name = %(name)s
"""

UNFINISHED: Final = """
    SELECT id, name, time_zone, created_at FROM spaces WHERE left(name, 1) = %(mark)s ORDER BY id
"""

DELETE_SPACE: Final = "DELETE FROM spaces WHERE id = %(space_id)s"

# Highest keys first: a chunk goes before the text that it belongs to. What lies above one key is found by its index;
# joined by its keys, a table that nobody has analysed yet is compared with itself row by row.
DELETE_SOME: Final = """
    DELETE FROM {table} r
    WHERE r.space_id = %(space_id)s AND ({key}) >= (
        SELECT {key} FROM (
            SELECT {key} FROM {table} t WHERE t.space_id = %(space_id)s ORDER BY {downwards} LIMIT %(limit)s) highest
        ORDER BY {key} LIMIT 1)
"""

DELETE_ALL: Final = "DELETE FROM {table} r WHERE r.space_id = %(space_id)s"

SERVER_TIME: Final = "SELECT clock_timestamp() AS at"

COUNT_ROWS: Final = "SELECT count(*) AS n FROM {table} t WHERE t.space_id = %(space_id)s"

# A space is found at the beginning of a transaction: whoever began before may write for as long as that one lasts.
STILL_OPEN: Final = """
    SELECT count(*) AS n FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
      AND a.state <> 'idle' AND a.xact_start < %(at)s::timestamptz
"""


async def take_name(tx: SpaceTransaction, space: SpaceRow) -> None:
    """Takes a space its name; if somebody else has done so, it stays as it is."""
    await tx.execute(TAKE_NAME, {"mark": ERASING, "name": space.name})


async def server_time(tx: Transaction) -> datetime:
    """What the server's own clock says, by which it knows its transactions."""
    row = await tx.fetch_one(SERVER_TIME)
    assert row is not None
    at: datetime = row["at"]
    return at


async def unfinished(tx: Transaction) -> list[SpaceRow]:
    """Spaces that have lost their name, and not all of their rows."""
    return [SpaceRow(**row) for row in await tx.fetch_all(UNFINISHED, {"mark": ERASING})]


async def still_open(tx: Transaction, at: datetime) -> bool:
    """Whether a transaction of the application is open that began before."""
    row = await tx.fetch_one(STILL_OPEN, {"at": at})
    assert row is not None
    return bool(row["n"])


async def delete_some(tx: SpaceTransaction, table: Table, limit: int) -> int:
    """Removes up to so many rows of a table, or all of one that holds a single row per space; returns how many."""
    name = sql.Identifier(table.name)
    if not table.key:
        return await tx.execute(sql.SQL(DELETE_ALL).format(table=name))
    key = sql.SQL(", ").join(map(sql.Identifier, table.key))
    downwards = sql.SQL(", ").join(sql.SQL("{} DESC").format(sql.Identifier(each)) for each in table.key)
    statement = sql.SQL(DELETE_SOME).format(table=name, key=key, downwards=downwards)
    return await tx.execute(statement, {"limit": limit})


async def count_rows(tx: SpaceTransaction, table: Table) -> int:
    """How many rows of a table belong to the space."""
    row = await tx.fetch_one(sql.SQL(COUNT_ROWS).format(table=sql.Identifier(table.name)))
    assert row is not None
    return int(row["n"])


async def delete_space(tx: SpaceTransaction) -> int:
    """Removes the place of a space, which is empty; 0 if somebody else has."""
    return await tx.execute(DELETE_SPACE)
