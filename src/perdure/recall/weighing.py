"""What the gate sees of the memories that a turn would get without it: for measuring, never for answering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perdure.recall.gating import bar_of, read_gates
from perdure.recall.prefetch import Turn
from perdure.recall.retrieval import configured_profile, question, retrieve
from perdure.resources import Resources
from perdure.rules.trajectory import trajectory
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow
from perdure.text import truncate_chars
from perdure.types import GateReading, Hit


@dataclass(frozen=True, slots=True)
class Weighed:
    """One of the first memories by the formula, and what the gate sees of it."""

    hit: Hit
    gate: GateReading


async def weigh(resources: Resources, space: SpaceRow, turn: Turn) -> list[Weighed]:
    """The first `turn.limit` memories, best first. Raises as a search does."""
    meant = trajectory(turn.history, turn.message, cut=truncate_chars)
    vectors: np.ndarray = await resources.embedder.embed([meant, turn.message], "query")

    async def read(tx: SpaceTransaction) -> list[Weighed]:
        asked = question(turn.message, vectors[0], tx.now)
        found = await retrieve(
            tx,
            resources,
            space,
            asked,
            audience=turn.audience,
            filters=turn.filters,
            limit=turn.limit,
            profile=configured_profile(resources),
        )
        frequencies, memories = found.ranked.document_frequencies, found.ranked.memories
        bar = await bar_of(
            tx, resources, space, message=turn.message, history=turn.history, vectors=vectors, memories=memories
        )
        readings = read_gates(bar, found.ranked.rows, asked.terms, frequencies, memories)
        return list(map(Weighed, found.hits, readings))

    return await resources.database.in_space(space.id, read)
