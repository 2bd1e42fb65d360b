"""How far each source of a space was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction

READ_CHECKPOINT: Final = """
    SELECT checkpoint FROM source_checkpoints WHERE space_id = %(space_id)s AND source = %(source)s
"""

WRITE_CHECKPOINT: Final = """
    INSERT INTO source_checkpoints (space_id, source, checkpoint, updated_at)
    VALUES (%(space_id)s, %(source)s, %(checkpoint)s, %(now)s)
    ON CONFLICT (space_id, source) DO UPDATE SET checkpoint = excluded.checkpoint, updated_at = excluded.updated_at
"""


async def read_checkpoint(tx: SpaceTransaction, source: str) -> Mapping[str, Any] | None:
    """What `write_checkpoint` kept last; None for a source that was never read."""
    row = await tx.fetch_one(READ_CHECKPOINT, {"source": source})
    return row["checkpoint"] if row else None


async def write_checkpoint(tx: SpaceTransaction, source: str, checkpoint: Mapping[str, object]) -> None:
    """Keeps how far a source was read; called in the transaction that enqueues what was read."""
    await tx.execute(WRITE_CHECKPOINT, {"source": source, "checkpoint": Jsonb(checkpoint)})
