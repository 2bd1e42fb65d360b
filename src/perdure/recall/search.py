"""Search: what a person or a model asks for by name, with filters, each hit explained.

One deadline covers all of it. Rewriting, embedding and re-ranking may each fail or be late: the search goes on without
them and names them in `degraded`. Only the database can't be done without.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

import numpy as np

from perdure.errors import DatabaseUnavailable, EmbeddingFailed, EmbeddingUnavailable, PerdureError, without_words
from perdure.llm import Ledger
from perdure.recall.deadline import within
from perdure.recall.gathering import Found, best_first, without_repeats
from perdure.recall.hop import hop
from perdure.recall.past import Past, embed_past, rank_past, read_past
from perdure.recall.reranking import can_rerank, reranked
from perdure.recall.retrieval import Question, configured_profile, family_as_measured, question, retrieve
from perdure.recall.rewriting import rewrites
from perdure.resources import Resources
from perdure.rules.ranking import RankingProfile
from perdure.store.as_of import MOST_VERSIONS
from perdure.store.database import SpaceTransaction
from perdure.store.ranking import MAX_LIMIT
from perdure.store.spaces import SpaceRow, read_state
from perdure.store.usage import record_usage
from perdure.types import Filters, Hit, SearchResult

OF_REWRITE: Final = 5
"""Memories that each rewrite brings (mission); the caller's own query brings as many as are asked for."""

SPARE: Final = 5
"""Memories beyond the limit, in place of those that repeat others."""

REWRITE_SHARE: Final = 0.4
"""Of the deadline: by then the rewrites have to be there; by EMBEDDING_SHARE the vectors."""

EMBEDDING_SHARE: Final = 0.7
RECORDING_S: Final = 1.0

log = logging.getLogger("perdure.recall")


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for, whatever the words: who asks, what may be returned, and how it is ranked.

    `plain` asks no language model. `as_of` asks for what was live at that time. `asked_at` is what dates such as
    "yesterday" are counted from; None for `as_of`, or for now.
    """

    audience: str | None
    filters: Filters
    limit: int
    profile: RankingProfile | None = None
    exact: bool = False
    plain: bool = False
    as_of: datetime | None = None
    asked_at: datetime | None = None


async def search(
    resources: Resources, space: SpaceRow, query: str, sought: Sought, *, deadline_s: float
) -> SearchResult:
    """The best `sought.limit` memories for a query, best first.

    Raises:
        DatabaseUnavailable: the database did not answer in time.
        FamilyMismatch: the space belongs to another embedding model.
    """
    ledger = Ledger()
    try:
        return await _Search(resources, space, query, sought, deadline_s=deadline_s, ledger=ledger).answer()
    finally:
        await _record(resources, space, ledger)


class _Search:
    """One search on its way: the clock it runs against, and what it had to do without."""

    def __init__(
        self,
        resources: Resources,
        space: SpaceRow,
        query: str,
        sought: Sought,
        *,
        deadline_s: float,
        ledger: Ledger,
    ) -> None:
        self._resources, self._space, self._query, self._sought = resources, space, query, sought
        self._profile = sought.profile or configured_profile(resources)
        self._deadline_s, self._ledger = deadline_s, ledger
        self._clock = resources.database.clock
        self._start = self._clock.monotonic()
        self._degraded: list[str] = []
        self._timings: dict[str, float] = {}

    async def answer(self) -> SearchResult:
        queries = await self._queries()
        vectors = await self._vectors(queries)
        found, path = await self._looked_up(queries, vectors)
        hits, by_model = await self._put_in_order(found)
        self._timings["total"] = self._since(self._start)
        return SearchResult(
            self._query,
            tuple(hits[: self._sought.limit]),
            tuple(self._degraded),
            self._timings,
            path,
            tuple(queries),
            by_model,
            self._sought.as_of,
        )

    async def _queries(self) -> list[str]:
        """The caller's query, then the rewrites."""
        models = self._resources.models
        if self._sought.plain or not models.can("rewrite"):
            return [self._query]
        since = self._clock.monotonic()
        seconds = self._left(REWRITE_SHARE)
        others, problem = await rewrites(models, self._query, self._ledger, seconds=seconds)
        if problem:
            self._degraded.append(f"rewrite: {problem}")
        self._timings["rewrite"] = self._since(since)
        return [self._query, *others]

    async def _vectors(self, queries: list[str]) -> list[np.ndarray | None]:
        """One vector per query, all in one request; None for each where there is no embedder that answers."""
        since = self._clock.monotonic()
        seconds = self._left(EMBEDDING_SHARE)
        try:
            return list(await within(seconds, self._resources.embedder.embed(queries, "query")))
        except TimeoutError:
            self._degraded.append(f"embedding: no answer within {seconds:.3g} s. Found by words alone.")
        except (EmbeddingUnavailable, EmbeddingFailed) as error:
            self._degraded.append(f"embedding: {error.message} Found by words alone.")
        finally:
            self._timings["embedding"] = self._since(since)
        return [None] * len(queries)

    async def _looked_up(
        self, queries: list[str], vectors: list[np.ndarray | None]
    ) -> tuple[list[Found], Literal["exact", "index"]]:
        """What all queries found, best first and without repeats, with what the best of it led to."""
        since = self._clock.monotonic()
        sought = self._sought

        async def read(
            tx: SpaceTransaction,
        ) -> tuple[list[Question], list[Found], Literal["exact", "index"], Past | None]:
            self._resources.require_family(self._space, await read_state(tx))
            asked_at = sought.asked_at or sought.as_of or tx.now
            asked = [question(text, vector, asked_at) for text, vector in zip(queries, vectors, strict=True)]
            found, path, memories = await self._retrieved(tx, asked)
            if sought.as_of is None:
                return asked, found + await self._hop(tx, asked[0], found, memories), path, None
            measured = await family_as_measured(tx, self._resources, self._space)
            past = await read_past(
                tx, self._space, asked, sought.as_of, measured, audience=sought.audience, filters=sought.filters
            )
            return asked, found, path, past

        seconds = self._left(1)
        try:
            asked, found, path, past = await within(
                seconds, self._resources.database.in_space(self._space.id, read, ranks=True, timeout_s=seconds)
            )
        except TimeoutError:
            raise DatabaseUnavailable(
                f"The database did not answer within {seconds:.3g} s.", hint="Ask again, or allow more time."
            ) from None
        self._timings["database"] = self._since(since)
        if past is not None:
            found += await self._from_history(past, asked)
        return without_repeats(best_first(found)), path

    async def _retrieved(
        self, tx: SpaceTransaction, asked: list[Question]
    ) -> tuple[list[Found], Literal["exact", "index"], int]:
        """What each query finds by the formula, one after the other in one transaction; and the size of the space."""
        sought = self._sought
        found: list[Found] = []
        path: Literal["exact", "index"] = "exact"
        memories = 0
        for number, one in enumerate(asked):
            retrieved = await retrieve(
                tx,
                self._resources,
                self._space,
                one,
                audience=sought.audience,
                filters=sought.filters,
                limit=OF_REWRITE if number else min(MAX_LIMIT, sought.limit + SPARE),
                needed=OF_REWRITE if number else sought.limit,
                profile=self._profile,
                exact=sought.exact,
                as_of=sought.as_of,
            )
            found += map(Found, retrieved.hits, retrieved.ranked.rows)
            path, memories = retrieved.ranked.path, retrieved.ranked.memories
        return found, path, memories

    async def _hop(self, tx: SpaceTransaction, asked: Question, found: list[Found], memories: int) -> list[Found]:
        best = without_repeats(best_first(found))
        seen = [one.hit.memory.id for one in found]
        return await hop(
            tx,
            self._resources,
            self._space,
            asked,
            best,
            seen=seen,
            memories=memories,
            audience=self._sought.audience,
            filters=self._sought.filters,
            profile=self._profile,
        )

    async def _from_history(self, past: Past, asked: list[Question]) -> list[Found]:
        """The memories that have changed since; those whose vectors are gone by words alone, where no model answers."""
        if past.cut:
            self._degraded.append(
                f"history: more than {MOST_VERSIONS:,} memories have changed since; the rest is unseen."
            )
        vectors: Mapping[int, np.ndarray] = {}
        if asked[0].vector is not None:
            seconds = self._left(EMBEDDING_SHARE)
            try:
                vectors = await within(seconds, embed_past(self._resources, past, asked))
            except TimeoutError:
                self._degraded.append(f"embedding: no answer within {seconds:.3g} s. Old texts found by words alone.")
            except (EmbeddingUnavailable, EmbeddingFailed) as error:
                self._degraded.append(f"embedding: {error.message} Old texts found by words alone.")
        return rank_past(past, asked, vectors, self._profile)

    async def _put_in_order(self, found: list[Found]) -> tuple[list[Hit], bool]:
        """The hits as the model that is asked last puts them, or by score; and which of the two."""
        hits = [one.hit for one in found]
        models = self._resources.models
        if self._sought.plain or len(hits) < 2 or not can_rerank(models):  # noqa: PLR2004 - one is in order
            return hits, False
        since = self._clock.monotonic()
        ordered, problem = await reranked(models, self._query, hits, self._ledger, seconds=self._left(1))
        if problem:
            self._degraded.append(f"rerank: {problem}")
        self._timings["rerank"] = self._since(since)
        return ordered, not problem

    def _left(self, share: float) -> float:
        """Seconds until this share of the deadline is over; a moment where it is over already."""
        return max(0.001, self._deadline_s * share - (self._clock.monotonic() - self._start))

    def _since(self, moment: float) -> float:
        return round((self._clock.monotonic() - moment) * 1000, 2)


async def _record(resources: Resources, space: SpaceRow, ledger: Ledger) -> None:
    """What models were asked is counted, whatever became of the search; an answer doesn't fail for that."""
    if not ledger.uses:
        return

    async def write(tx: SpaceTransaction) -> None:
        await record_usage(tx, ledger.uses)

    try:
        await within(RECORDING_S, resources.database.in_space(space.id, write, timeout_s=RECORDING_S))
    except (PerdureError, TimeoutError) as error:
        log.warning("the usage of models in a search was not recorded: %s", without_words(error))
