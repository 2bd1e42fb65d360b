"""What cosines mean in each space, as it was measured on the space's own memories, and the memories to measure on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from perdure.rules.calibration import Unrelated
from perdure.store.database import SpaceTransaction

READ: Final = """
    SELECT c.memories, c.document_mean, c.document_spread, c.query_mean, c.query_spread, c.query_identical
    FROM space_calibrations c
    WHERE c.space_id = %(space_id)s AND c.family_id = %(family_id)s
"""

# Of two processes that measured at once, the one that saw more memories is right.
KEEP: Final = """
    INSERT INTO space_calibrations (space_id, family_id, memories, measured_at, document_mean, document_spread,
                                    query_mean, query_spread, query_identical)
    VALUES (%(space_id)s, %(family_id)s, %(memories)s, %(now)s, %(document_mean)s, %(document_spread)s,
            %(query_mean)s, %(query_spread)s, %(query_identical)s)
    ON CONFLICT (space_id, family_id) DO UPDATE
    SET memories = excluded.memories, measured_at = excluded.measured_at, document_mean = excluded.document_mean,
        document_spread = excluded.document_spread, query_mean = excluded.query_mean,
        query_spread = excluded.query_spread, query_identical = excluded.query_identical
    WHERE excluded.memories >= space_calibrations.memories
"""

# Every so many ids, so that old and new memories are among them.
SAMPLE: Final = """
    SELECT m.summary, v.embedding
    FROM memory_vectors v
    JOIN space_state s ON s.space_id = %(space_id)s
    JOIN memories m ON m.space_id = %(space_id)s AND m.id = v.memory_id
    WHERE v.space_id = %(space_id)s AND v.family_id = %(family_id)s
      AND v.memory_id %% greatest(1, s.memories / %(count)s) = 0
    ORDER BY v.memory_id
    LIMIT %(count)s
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Where unrelated texts lie in a space, told from so many of its memories."""

    memories: int
    unrelated: Unrelated


@dataclass(frozen=True, slots=True)
class SampledMemory:
    """A memory to measure on; `vector` is float32."""

    text: str
    vector: np.ndarray


async def read_measured(tx: SpaceTransaction, family_id: int) -> Measured | None:
    row = await tx.fetch_one(READ, {"family_id": family_id})
    if row is None:
        return None
    return Measured(row.pop("memories"), Unrelated(**row))


async def keep_measured(tx: SpaceTransaction, family_id: int, measured: Measured) -> None:
    """Keeps it, unless what is kept was told from more memories."""
    await tx.execute(KEEP, {"family_id": family_id, "memories": measured.memories, **asdict(measured.unrelated)})


async def sample_memories(tx: SpaceTransaction, family_id: int, count: int) -> Sequence[SampledMemory]:
    """Up to `count` memories with a vector of this family, spread evenly over the space."""
    rows = await tx.fetch_all(SAMPLE, {"family_id": family_id, "count": count})
    return [SampledMemory(row["summary"], np.asarray(row["embedding"].to_numpy(), np.float32)) for row in rows]
