"""Looking documents up: the passages that a query is near to, in the scope that it comes from."""

from __future__ import annotations

from typing import Final

import numpy as np

from perdure.document_types import DocumentHit, DocumentScope
from perdure.resources import Resources, calibration_of
from perdure.store.database import DEFAULT_TIMEOUT_S, SpaceTransaction
from perdure.store.document_search import FoundPassage, any_in_reach, search_documents
from perdure.store.spaces import SpaceRow

MAX_HITS: Final = 6
"""Passages at most (mission)."""

DOCUMENT_SIMILARITY: Final = 0.5
"""Least similarity of a passage (mission), for a family that nobody has measured; others have their equivalent."""


async def any_in_scope(
    resources: Resources,
    space: SpaceRow,
    *,
    server_id: str | None = None,
    lineage: int = 0,
    channel_id: str | None = None,
    audience: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> bool:
    """Whether there is anything to look up; where there is not, no query has to be embedded for it."""
    scope = DocumentScope(server_id, lineage, audience)

    async def read(tx: SpaceTransaction) -> bool:
        return await any_in_reach(tx, scope, channel_id)

    return await resources.database.in_space(space.id, read, timeout_s=timeout_s)


async def search(
    resources: Resources,
    space: SpaceRow,
    vector: np.ndarray,
    *,
    server_id: str | None = None,
    lineage: int = 0,
    channel_id: str | None = None,
    audience: str | None = None,
    limit: int = MAX_HITS,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> tuple[DocumentHit, ...]:
    """The passages that are near enough to a query, nearest first, at most `limit`. Writes nothing.

    Seen are documents of the whole space and of this server, for every lineage and for this one, for everybody and for
    this audience; of those that name channels only the ones that name this one.

    Args:
        vector: the query, a unit vector of the embedder at hand.
        server_id, channel_id: where it was asked; None is outside of servers, or of channels.
        lineage: of the persona that answers; 0 for none.
    """
    scope = DocumentScope(server_id, lineage, audience)

    async def read(tx: SpaceTransaction) -> tuple[DocumentHit, ...]:
        calibration = await calibration_of(tx, resources, space)
        least = calibration.document_similarity if calibration else DOCUMENT_SIMILARITY
        found = await search_documents(
            tx, resources.family.id, vector, scope, channel_id=channel_id, least=least, limit=limit
        )
        return tuple(
            _hit(one, calibration.calibrated_similarity(one.cosine, of_query=True) if calibration else one.cosine)
            for one in found
        )

    return await resources.database.in_space(space.id, read, ranks=True, timeout_s=timeout_s)


def _hit(found: FoundPassage, similarity: float) -> DocumentHit:
    return DocumentHit(
        document_id=found.document_id,
        name=found.name,
        position=found.position,
        parts=found.parts,
        text=found.text,
        starts=found.starts,
        ends=found.ends,
        page=found.page,
        cosine=found.cosine,
        similarity=similarity,
    )
