"""Spaces: the global directory of names, and each space's own counters and write lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction, Transaction

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
    SELECT id, name, time_zone, created_at FROM spaces ORDER BY name
"""

# The row lock serialises the writers of a space; capture never takes it, so a turn never waits for a drain.
LOCK_SPACE: Final = """
    INSERT INTO space_state (space_id)
    VALUES (%(space_id)s)
    ON CONFLICT (space_id) DO UPDATE SET memories = space_state.memories
    RETURNING family_id, memories, terms
"""

READ_STATE: Final = """
    SELECT family_id, memories, terms FROM space_state WHERE space_id = %(space_id)s
"""

COUNT_UP: Final = """
    UPDATE space_state
    SET memories = memories + %(memories)s, terms = terms + %(terms)s
    WHERE space_id = %(space_id)s
"""

SET_FAMILY: Final = """
    UPDATE space_state SET family_id = %(family_id)s WHERE space_id = %(space_id)s
"""


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """A space in the directory."""

    id: int
    name: str
    time_zone: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SpaceState:
    """Stored counts of a space; `family_id` is None until its first vector."""

    family_id: int | None
    memories: int
    terms: int


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
    return [SpaceRow(**row) for row in await tx.fetch_all(LIST_SPACES)]


async def lock_space(tx: SpaceTransaction) -> SpaceState:
    """Locks the space's row until the transaction ends; every writer of memories calls this first."""
    row = await tx.fetch_one(LOCK_SPACE)
    assert row is not None
    return SpaceState(**row)


async def read_state(tx: SpaceTransaction) -> SpaceState | None:
    row = await tx.fetch_one(READ_STATE)
    return SpaceState(**row) if row else None


async def count_up(tx: SpaceTransaction, *, memories: int, terms: int) -> None:
    await tx.execute(COUNT_UP, {"memories": memories, "terms": terms})


async def set_family(tx: SpaceTransaction, family_id: int) -> None:
    await tx.execute(SET_FAMILY, {"family_id": family_id})
