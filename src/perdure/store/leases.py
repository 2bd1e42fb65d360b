"""A lease per space and kind of work: one runner at a time, and none for long once its process is gone."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Any, Final

from psycopg import sql

from perdure.store.database import SpaceTransaction
from perdure.store.statements import kept

LONGEST: Final = timedelta(days=1)
"""A lease that ends later than that was taken before the clock was set back, and holds nobody up."""

TAKE: Final = """
    INSERT INTO {table} (space_id, lease_holder, lease_until)
    VALUES (%(space_id)s, %(holder)s, %(until)s)
    ON CONFLICT (space_id) DO UPDATE SET lease_holder = excluded.lease_holder, lease_until = excluded.lease_until
    WHERE {table}.lease_until IS NULL OR {table}.lease_until < %(now)s OR {table}.lease_until > %(latest)s
       OR {table}.lease_holder = excluded.lease_holder
    RETURNING {table}.space_id
"""

HELD: Final = """
    SELECT t.lease_holder = %(holder)s AS held FROM {table} t WHERE t.space_id = %(space_id)s FOR UPDATE
"""

END: Final = """
    UPDATE {table} SET lease_holder = NULL, lease_until = NULL
    WHERE space_id = %(space_id)s AND lease_holder = %(holder)s
"""


class Leased(StrEnum):
    """What is done by one runner at a time in a space; the table that holds its state and the lease."""

    UPKEEP = "upkeep_state"
    COGNITION = "cognition_state"


async def take(tx: SpaceTransaction, work: Leased, holder: str, seconds: float) -> bool:
    """Takes or renews the lease of this space; False while somebody else has it."""
    until = tx.now + timedelta(seconds=seconds)
    params = {"holder": holder, "until": until, "latest": tx.now + LONGEST}
    return await tx.fetch_one(_statement(TAKE, work), params) is not None


async def held(tx: SpaceTransaction, work: Leased, holder: str) -> bool:
    """Whether `holder` has the lease, which stays so until the transaction ends."""
    row: dict[str, Any] | None = await tx.fetch_one(_statement(HELD, work), {"holder": holder})
    return bool(row and row["held"])


async def end(tx: SpaceTransaction, work: Leased, holder: str) -> None:
    """Gives the lease back."""
    await tx.execute(_statement(END, work), {"holder": holder})


@cache
def _statement(text: str, work: Leased) -> sql.SQL:
    return kept(sql.SQL(text).format(table=sql.Identifier(work.value)))
