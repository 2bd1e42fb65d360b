"""Spaces: the global directory of names, and each space's own counters and write lock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.statements import Part, write_together
from perdure.types import Id

FIND_SPACE: Final = """
    SELECT id, name, time_zone, created_at FROM spaces WHERE name = %(name)s
"""

READ_SPACE: Final = """
    SELECT id, name, time_zone, created_at FROM spaces WHERE id = %(id)s
"""

CREATE_SPACE: Final = """
    INSERT INTO spaces (name, time_zone, created_at)
    VALUES (%(name)s, %(time_zone)s, %(now)s)
    ON CONFLICT (name) DO NOTHING
"""

LIST_SPACES: Final = """
    SELECT id, name, time_zone, created_at FROM spaces WHERE left(name, 1) <> %(erasing)s ORDER BY name
"""

ERASING: Final = "\x1f"
"""What the name of a space begins with that is being erased; no other name can: see `door.require_key`."""

# The row lock serialises the writers of a space; capture never takes it, so a turn never waits for a drain.
LOCK_SPACE: Final = """
    SELECT family_id, memories, terms, arrivals FROM space_state WHERE space_id = %(space_id)s FOR UPDATE
"""

MAKE_STATE: Final = """
    INSERT INTO space_state (space_id) VALUES (%(space_id)s) ON CONFLICT (space_id) DO NOTHING
"""

# With the counts whether exchanges wait: what is drained in between is found twice rather than not at all.
READ_STATE: Final = """
    SELECT s.family_id, s.memories, s.terms, s.arrivals,
        EXISTS (SELECT FROM pending_triage q WHERE q.space_id = %(space_id)s AND q.kind = 'conversation') AS waiting
    FROM space_state s WHERE s.space_id = %(space_id)s
"""

COUNT_UP: Final = """
    UPDATE space_state
    SET memories = memories + %(memories)s, terms = terms + %(terms)s, arrivals = arrivals + 1
    WHERE space_id = %(space_id)s
"""

SET_FAMILY: Final = """
    UPDATE space_state SET family_id = %(family_id)s WHERE space_id = %(space_id)s
"""


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """A space in the directory."""

    id: Id
    name: str
    time_zone: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SpaceState:
    """Stored counts of a space; `family_id` is None until its first vector.

    While `arrivals` stays the same, no memory has come that a text could be near to, or come back, or changed.
    """

    family_id: int | None
    memories: int
    terms: int
    arrivals: int
    waiting: bool = False
    """Whether exchanges wait to be drained; told by `read_state` alone."""


async def find_space(tx: Transaction, name: str) -> SpaceRow | None:
    row = await tx.fetch_one(FIND_SPACE, {"name": name})
    return SpaceRow(**row) if row else None


async def read_space(tx: Transaction, space_id: int) -> SpaceRow | None:
    row = await tx.fetch_one(READ_SPACE, {"id": space_id})
    return SpaceRow(**row) if row else None


async def create_space(tx: Transaction, name: str, time_zone: str = "UTC") -> SpaceRow:
    """The space of this name, made if it is not there; two processes may do this at once."""
    await tx.execute(CREATE_SPACE, {"name": name, "time_zone": time_zone})
    row = await tx.fetch_one(FIND_SPACE, {"name": name})
    assert row is not None
    return SpaceRow(**row)


async def list_spaces(tx: Transaction) -> list[SpaceRow]:
    return [SpaceRow(**row) for row in await tx.fetch_all(LIST_SPACES, {"erasing": ERASING})]


async def lock_space(tx: SpaceTransaction) -> SpaceState:
    """Locks the space's row until the transaction ends; every writer of memories calls this first.

    Asked again in one transaction it says what it found, and what the transaction itself has changed since.
    """
    if tx.locked is None:
        row = await tx.fetch_one(LOCK_SPACE)
        if row is None:
            await tx.execute(MAKE_STATE)
            row = await tx.fetch_one(LOCK_SPACE)
            assert row is not None
        tx.locked = SpaceState(**row)
    return tx.locked


async def read_state(tx: SpaceTransaction) -> SpaceState | None:
    """The counts of the space as they are; a transaction that ranks asks once."""
    if tx.state is None:
        row = await tx.fetch_one(READ_STATE)
        found = SpaceState(**row) if row else None
        if not tx.ranks:
            return found
        tx.state = found
    return tx.state


async def count_up(tx: SpaceTransaction, *, memories: int = 0, terms: int = 0) -> None:
    """Counts memories and their terms, and in any case that something has come: see `SpaceState.arrivals`."""
    await write_together(tx, [counted(tx, memories=memories, terms=terms)])


def counted(tx: SpaceTransaction, *, memories: int = 0, terms: int = 0) -> Part:
    """What `count_up` writes, to be written together with what is counted."""
    if tx.locked is not None:
        now = tx.locked
        tx.locked = replace(now, memories=now.memories + memories, terms=now.terms + terms, arrivals=now.arrivals + 1)
    return COUNT_UP, {"memories": memories, "terms": terms}


async def set_family(tx: SpaceTransaction, family_id: int) -> None:
    await tx.execute(SET_FAMILY, {"family_id": family_id})
    if tx.locked is not None:
        tx.locked = replace(tx.locked, family_id=family_id)
