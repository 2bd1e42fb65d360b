"""Filling: passages without a vector of the embedder at hand get one, a few at a time.

That is how a document arrives, and how documents are found again once another embedder is configured: until then they
are not found, and nothing of them is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.document_writing import count_unembedded, find_unembedded, insert_vectors
from perdure.store.spaces import SpaceRow

BATCH: Final = 16
"""Passages in one request to the embedder (mission)."""

PAGE: Final = 8 * BATCH
"""Passages that are looked for at a time: to find those without a vector, all are gone through."""

Unembedded = tuple[int, str]
"""Id and words of a passage."""

Progress = Callable[[int, int], None]
"""Gets how many passages are done, and of how many."""


async def embed_missing(
    resources: Resources,
    space: SpaceRow,
    *,
    document_id: int | None = None,
    total: int = 0,
    limit: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Embeds what has no vector of this family: of one document, or of all complete ones, latest first.

    No transaction is open while the embedder works. A passage that is gone by then takes no vector.

    Args:
        total: passages in all, for `progress`; those that are missing if it isn't known. limit: passages at most.

    Returns:
        How many passages took a vector.

    Raises:
        EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable: what is done stays.
    """
    family_id = resources.family.id
    filled = tried = 0

    async def look(tx: SpaceTransaction) -> tuple[list[Unembedded], int]:
        most = PAGE if limit is None else min(PAGE, limit - tried)
        missing = await count_unembedded(tx, family_id, document_id=document_id)
        return await find_unembedded(tx, family_id, most, document_id=document_id), missing

    def tell(missing: int) -> None:
        if progress is not None and total:
            progress(total - missing, total)

    while limit is None or tried < limit:
        found, missing = await resources.database.in_space(space.id, look)
        total = max(total, missing)
        if tried == 0:
            tell(missing)
        if not found:
            break
        for at in range(0, len(found), BATCH):
            batch = found[at : at + BATCH]
            vectors = await resources.embedder.embed([text for _, text in batch], "document")
            keep = partial(_keep, family_id=family_id, ids=[chunk_id for chunk_id, _ in batch], vectors=vectors)
            filled += await resources.database.in_space(space.id, keep)
            missing -= len(batch)
            tell(missing)
        tried += len(found)
    return filled


async def _keep(tx: SpaceTransaction, *, family_id: int, ids: Sequence[int], vectors: np.ndarray) -> int:
    return await insert_vectors(tx, family_id, ids, vectors)
