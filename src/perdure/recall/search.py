"""Search: what a person or a model asks for by name, with filters, each hit explained."""

from __future__ import annotations

from perdure.errors import EmbeddingFailed, EmbeddingUnavailable
from perdure.recall.retrieval import configured_profile, question, retrieve
from perdure.resources import Resources
from perdure.rules.ranking import RankingProfile
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow, read_state
from perdure.types import Filters, SearchResult


async def search(
    resources: Resources,
    space: SpaceRow,
    query: str,
    *,
    audience: str | None,
    filters: Filters,
    limit: int,
    profile: RankingProfile | None = None,
    exact: bool = False,
) -> SearchResult:
    """The best `limit` memories for a query, best first. Without an embedder it still answers by words, and says so.

    Raises:
        DatabaseUnavailable: the database did not answer.
        FamilyMismatch: the space belongs to another embedding model.
    """
    clock = resources.database.clock
    start = clock.monotonic()
    degraded: list[str] = []
    vector = None
    try:
        vector = (await resources.embedder.embed([query], "query"))[0]
    except (EmbeddingUnavailable, EmbeddingFailed) as error:
        degraded.append(f"embedding: {error.message} Found by words alone.")
    embedded = clock.monotonic()

    async def read(tx: SpaceTransaction) -> SearchResult:
        resources.require_family(space, await read_state(tx))
        hits, ranked = await retrieve(
            tx,
            resources,
            space,
            question(query, vector),
            audience=audience,
            filters=filters,
            limit=limit,
            profile=profile or configured_profile(resources),
            exact=exact,
        )
        done = clock.monotonic()
        timings = {
            "embedding": round((embedded - start) * 1000, 2),
            "database": round((done - embedded) * 1000, 2),
            "total": round((done - start) * 1000, 2),
        }
        return SearchResult(query, tuple(hits), tuple(degraded), timings, ranked.path)

    return await resources.database.in_space(space.id, read)
