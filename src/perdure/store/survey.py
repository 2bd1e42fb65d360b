"""Every memory of a space at once, with its vector and what it rests on: for measuring, never for answering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from perdure.store.database import SpaceTransaction

READ_SPACE: Final = """
    SELECT m.id, coalesce(m.chunk_of, m.id) AS root, m.summary, m.speaker, v.embedding
    FROM memories m
    LEFT JOIN memory_vectors v
        ON v.space_id = %(space_id)s AND v.memory_id = m.id AND v.family_id = %(family_id)s
    WHERE m.space_id = %(space_id)s
    ORDER BY m.id
"""

READ_EXTERNAL_IDS: Final = """
    SELECT DISTINCT coalesce(m.chunk_of, m.id) AS root, e.external_id
    FROM memory_evidence e
    JOIN memories m ON m.space_id = %(space_id)s AND m.id = e.memory_id
    WHERE e.space_id = %(space_id)s AND e.external_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class SurveyedMemory:
    """One memory. `root` is the first chunk of its text, or itself; `vector` is of the family asked for."""

    id: int
    root: int
    text: str
    speaker: str | None
    vector: npt.NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Survey:
    """All memories of a space by id, and the root that each external id's text is stored under."""

    memories: tuple[SurveyedMemory, ...]
    roots: dict[str, int]


async def survey_space(tx: SpaceTransaction, family_id: int) -> Survey:
    """Everything in the transaction's space, whoever may see it. Its size is that of the space."""
    rows = await tx.fetch_all(READ_SPACE, {"family_id": family_id})
    ids = await tx.fetch_all(READ_EXTERNAL_IDS)
    return Survey(
        tuple(
            SurveyedMemory(
                row["id"],
                row["root"],
                row["summary"],
                row["speaker"],
                None if row["embedding"] is None else np.asarray(row["embedding"].to_numpy(), np.float32),
            )
            for row in rows
        ),
        {row["external_id"]: row["root"] for row in ids},
    )
