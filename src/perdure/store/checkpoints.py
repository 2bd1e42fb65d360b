"""How far each source of a space was read, for each audience."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction

READ_CHECKPOINT: Final = """
    SELECT checkpoint FROM source_checkpoints
    WHERE space_id = %(space_id)s AND audience = %(audience)s AND source = %(source)s
"""

WRITE_CHECKPOINT: Final = """
    INSERT INTO source_checkpoints (space_id, audience, source, checkpoint, updated_at)
    VALUES (%(space_id)s, %(audience)s, %(source)s, %(checkpoint)s, %(now)s)
    ON CONFLICT (space_id, audience, source)
    DO UPDATE SET checkpoint = excluded.checkpoint, updated_at = excluded.updated_at
"""

FORGET_CHECKPOINT: Final = """
    DELETE FROM source_checkpoints WHERE space_id = %(space_id)s AND source = %(source)s
"""


async def read_checkpoint(tx: SpaceTransaction, source: str, audience: str | None) -> Mapping[str, Any] | None:
    """What `write_checkpoint` kept last; None for a source that was never read for this audience."""
    row = await tx.fetch_one(READ_CHECKPOINT, {"source": source, "audience": audience or ""})
    return row["checkpoint"] if row else None


async def write_checkpoint(
    tx: SpaceTransaction, source: str, audience: str | None, checkpoint: Mapping[str, object]
) -> None:
    """Keeps how far a source was read for an audience; called in the transaction that enqueues what was read."""
    params = {"source": source, "audience": audience or "", "checkpoint": Jsonb(checkpoint)}
    await tx.execute(WRITE_CHECKPOINT, params)


async def forget_checkpoint(tx: SpaceTransaction, source: str) -> None:
    """Lets a source begin anew, for every audience."""
    await tx.execute(FORGET_CHECKPOINT, {"source": source})
