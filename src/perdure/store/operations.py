"""What was asked for under which operation id and what came of it, so that asking again does nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction

REMEMBER_OPERATION: Final = """
    INSERT INTO operations (space_id, operation_id, fingerprint, outcome, created_at)
    VALUES (%(space_id)s, %(operation_id)s, %(fingerprint)s, %(outcome)s, %(now)s)
    ON CONFLICT (space_id, operation_id) DO NOTHING
"""

FIND_OPERATION: Final = """
    SELECT fingerprint, outcome FROM operations WHERE space_id = %(space_id)s AND operation_id = %(operation_id)s
"""

SET_OUTCOME: Final = """
    UPDATE operations SET outcome = %(outcome)s
    WHERE space_id = %(space_id)s AND operation_id = %(operation_id)s
"""


async def remember_operation(
    tx: SpaceTransaction, operation_id: str, fingerprint: bytes, outcome: Mapping[str, object]
) -> bool:
    """True if this operation is new; False if it was there already (see `find_operation`)."""
    params = {"operation_id": operation_id, "fingerprint": fingerprint, "outcome": Jsonb(outcome)}
    return await tx.execute(REMEMBER_OPERATION, params) == 1


async def find_operation(tx: SpaceTransaction, operation_id: str) -> tuple[bytes, Mapping[str, Any]] | None:
    """Fingerprint of the first request and its outcome."""
    row = await tx.fetch_one(FIND_OPERATION, {"operation_id": operation_id})
    return (bytes(row["fingerprint"]), row["outcome"]) if row else None


async def set_outcome(tx: SpaceTransaction, operation_id: str, outcome: Mapping[str, object]) -> None:
    await tx.execute(SET_OUTCOME, {"operation_id": operation_id, "outcome": Jsonb(outcome)})
