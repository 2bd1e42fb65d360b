"""Filling: facts that have no vector of the embedder's family get one, so that the next turn can score them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from perdure.embedding import Matrix
from perdure.fact_types import Fact, FactId
from perdure.resources import Resources
from perdure.rules.tokens import sampled_tokens
from perdure.store.database import SpaceTransaction
from perdure.store.fact_vectors import fill_vectors, without_vector
from perdure.store.spaces import SpaceRow

BATCH: Final = 16
"""Facts in one request."""
MOST: Final = 64
"""Facts that one turn fills, the newest."""


@dataclass(slots=True)
class Filled:
    """How many vectors were stored, and the tokens that were embedded for it."""

    count: int = 0
    tokens: int = 0


async def fill(resources: Resources, space: SpaceRow, facts: Sequence[Fact], filled: Filled) -> None:
    """Embeds what these facts say, newest first, and stores each vector if the fact still says it.

    Placeholders are embedded as they stand. `filled` counts along, so that what was done before a failure is known.

    Raises:
        EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable.
    """
    family = resources.family.id
    newest = sorted(facts, key=lambda fact: (fact.created_at, fact.id), reverse=True)[:MOST]

    async def look(tx: SpaceTransaction) -> frozenset[FactId]:
        return await without_vector(tx, family, [fact.id for fact in newest])

    missing = await resources.database.in_space(space.id, look)
    left = iter([fact for fact in newest if fact.id in missing])
    while batch := list(islice(left, BATCH)):
        texts = [fact.content for fact in batch]
        vectors = await resources.embedder.embed(texts, "document")
        filled.tokens += sum(sampled_tokens(len(text)) for text in texts)

        async def store(tx: SpaceTransaction, batch: list[Fact] = batch, vectors: Matrix = vectors) -> int:
            return await fill_vectors(tx, family, batch, list(vectors))

        filled.count += await resources.database.in_space(space.id, store)
