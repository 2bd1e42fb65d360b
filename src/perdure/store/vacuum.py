"""What is left of erased rows below the tables: dead rows until a vacuum, the write-ahead log, copies elsewhere.

A vacuum needs the owner of the tables, waits for nobody and lets nobody wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import psycopg
from psycopg import sql

from perdure.errors import DatabaseUnavailable
from perdure.store.database import Connection, Database, Transaction

# TRUNCATE would lock the table for a moment, SKIP_LOCKED passes over one that somebody alters or vacuums now, and
# without INDEX_CLEANUP few dead rows would stay in the indexes.
VACUUM: Final = "VACUUM (SKIP_LOCKED, TRUNCATE FALSE, INDEX_CLEANUP ON, PARALLEL 0) {table}"
TABLE_TIMEOUT_S: Final = 60.0
"""Seconds that the vacuum of one table may take: that of a large vector index is better left to a quiet hour."""
SERVER_TIME: Final = "SELECT clock_timestamp() AS at"
# Statistics are written when a transaction ends; the next statement of the same connection sees them.
FLUSH: Final = "SELECT pg_stat_force_next_flush()"

# A vacuum leaves what a transaction that began before the erasure may still read, and counts that as dead.
VACUUMED_SINCE: Final = """
    SELECT c.relname, pg_stat_get_dead_tuples(c.oid) AS dead FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%(tables)s::text[])
      AND pg_stat_get_last_vacuum_time(c.oid) >= %(at)s::timestamptz
"""

SERVER: Final = """
    SELECT current_setting('archive_mode') AS archive_mode,
        extract(epoch FROM current_setting('checkpoint_timeout')::interval)::double precision AS checkpoint_s,
        current_setting('max_wal_size') AS max_wal_size,
        current_setting('wal_keep_size') AS wal_keep_size,
        current_setting('autovacuum') AS autovacuum,
        (SELECT count(*) FROM pg_replication_slots) AS slots,
        clock_timestamp() AS at
"""


@dataclass(frozen=True, slots=True)
class Remains:
    """What may still be on disks after an erasure, and until when.

    Attributes:
        at: when the last of it was erased, by the clock of the server.
        vacuumed: tables whose dead rows are gone. unvacuumed: those whose dead rows wait for a vacuum.
        dead_rows, pages, wal, replicas, backups: what may remain there, in words.
        run: what somebody has to run, if anything.
        wal_until: when the server will have begun to overwrite its log at the earliest, if nothing else keeps it.
    """

    at: datetime
    vacuumed: tuple[str, ...]
    unvacuumed: tuple[str, ...]
    dead_rows: str
    pages: str
    wal: str
    wal_until: datetime
    replicas: str
    backups: str
    run: str | None = None


async def clean_up(database: Database, tables: Collection[str]) -> Remains:
    """Vacuums these tables, if there is an owner's connection, and says what may remain.

    Never raises for what could not be cleaned: the erasure is committed, and what is left is said.
    """
    server = await database.across(_read_server)
    names = sorted(tables)
    dead: dict[str, int] = {}
    if database.has_owner and names:
        with suppress(psycopg.Error, DatabaseUnavailable):
            async with database.owner() as owner:
                dead = await _vacuum(owner, names)
    return _told(server, names, dead, owner=database.has_owner)


async def _read_server(tx: Transaction) -> dict[str, object]:
    row = await tx.fetch_one(SERVER)
    assert row is not None
    return row


async def _vacuum(owner: Connection, tables: list[str]) -> dict[str, int]:
    """The tables that were vacuumed, with how many dead rows had to stay.

    One that takes too long, or that somebody has locked, isn't among them.
    """
    row = await (await owner.execute(SERVER_TIME)).fetchone()
    assert row is not None
    with suppress(TimeoutError):
        for table in tables:
            async with asyncio.timeout(TABLE_TIMEOUT_S):
                await owner.execute(sql.SQL(VACUUM).format(table=sql.Identifier(table)))
    await owner.execute(FLUSH)
    found = await (await owner.execute(VACUUMED_SINCE, {"tables": tables, "at": row["at"]})).fetchall()
    return {each["relname"]: int(each["dead"]) for each in found}


def _told(server: dict[str, object], tables: list[str], dead: dict[str, int], *, owner: bool) -> Remains:
    at, checkpoint_s = server["at"], server["checkpoint_s"]
    assert isinstance(at, datetime)
    assert isinstance(checkpoint_s, float)
    pause = timedelta(seconds=checkpoint_s)
    done = [name for name in tables if dead.get(name) == 0]
    left = [name for name in tables if name not in done]
    held = sum(dead.values())
    run = None
    if left:
        who = "In a quiet hour" if owner else "As the tables' owner"
        run = f"{who}: VACUUM {', '.join(left)}; autovacuum ({server['autovacuum']}) does it by itself in time."
    if not left:
        said = "None: the vacuum has removed them."
    elif held:
        said = f"{held:,} that a transaction which is still open may read, until the next vacuum after its end."
    else:
        said = f"In {len(left)} tables, until somebody vacuums them; no statement can read them."
    kept = " An archive or a replication slot keeps it for longer." if server["slots"] or _archives(server) else ""
    return Remains(
        at,
        tuple(done),
        tuple(left),
        said,
        "Bytes may stay in the free space of the server's files until new rows take it; no statement and no dump reads"
        " them. VACUUM FULL rewrites a table at once, and locks it meanwhile.",
        f"The write-ahead log holds the erased words until the server writes over it, after two checkpoints at the"
        f" earliest (one every {pause} while anything is written; max_wal_size {server['max_wal_size']}, wal_keep_size"
        f" {server['wal_keep_size']})." + kept,
        at + 2 * pause,
        f"{server['slots']} replication slots: a replica follows, and has a log of its own."
        if server["slots"]
        else "None that the server knows of.",
        "Every backup and export from before, until you delete it"
        + (", and the archived log (archive_mode is on), until your retention ends." if _archives(server) else "."),
        run,
    )


def _archives(server: dict[str, object]) -> bool:
    return server["archive_mode"] != "off"
