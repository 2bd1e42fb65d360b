"""Items without a vector of the embedder at hand get one: another was configured, or their space has moved here."""

from __future__ import annotations

from functools import partial
from typing import Final

from perdure.embedding import Matrix
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.items import find_unembedded, insert_vectors
from perdure.store.spaces import SpaceRow

BATCH: Final = 16
"""Passages in one request to the embedder (mission, of documents)."""


async def embed_items(resources: Resources, space: SpaceRow, *, limit: int | None = None) -> int:
    """Embeds passages of items, latest change first; returns how many took a vector.

    No transaction is open while the embedder works. A passage that is gone by then takes no vector.

    Raises:
        EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable: what is done stays.
    """
    family_id, database = resources.family.id, resources.database
    filled = tried = 0
    while limit is None or tried < limit:
        look = partial(_look, family_id=family_id, limit=BATCH if limit is None else min(BATCH, limit - tried))
        found = await database.in_space(space.id, look)
        if not found:
            break
        vectors = await resources.embedder.embed([words for *_, words in found], "document")
        places = [(item_id, position) for item_id, position, _ in found]

        async def keep(tx: SpaceTransaction, places: list[tuple[int, int]] = places, vectors: Matrix = vectors) -> int:
            return await insert_vectors(tx, family_id, places, vectors)

        filled += await database.in_space(space.id, keep)
        tried += len(found)
    return filled


async def _look(tx: SpaceTransaction, *, family_id: int, limit: int) -> list[tuple[int, int, str]]:
    return await find_unembedded(tx, family_id, limit)
