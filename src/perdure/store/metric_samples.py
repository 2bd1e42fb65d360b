"""Samples of what turns did: numbers alone, never content, names, ids, keys, names of models or vectors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction

INSERT_SAMPLE: Final = """
    INSERT INTO metric_samples (space_id, metric, sampled_at, outcome, numbers)
    VALUES (%(space_id)s, %(metric)s, %(now)s, %(outcome)s, %(numbers)s)
"""

RETIRE_SAMPLES: Final = """
    DELETE FROM metric_samples WHERE space_id = %(space_id)s AND sampled_at < %(before)s
"""


async def record_sample(tx: SpaceTransaction, metric: str, outcome: str, numbers: Mapping[str, float]) -> None:
    """Keeps one sample."""
    await tx.execute(INSERT_SAMPLE, {"metric": metric, "outcome": outcome, "numbers": Jsonb(numbers)})


async def retire_samples(tx: SpaceTransaction, before: datetime) -> int:
    """Drops samples that were taken before; returns how many."""
    return await tx.execute(RETIRE_SAMPLES, {"before": before})
