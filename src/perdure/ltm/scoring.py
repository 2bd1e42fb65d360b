"""Scoring: how near the candidates of a turn are to its query, and which three at most have won, within a budget."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import psutil

from perdure.errors import without_words
from perdure.fact_types import Fact, FactId
from perdure.ltm.query import EmbedQuery
from perdure.recall import within
from perdure.resources import Resources, calibration_of
from perdure.rules.dormancy import MIN_COSINE, pick_winners
from perdure.settings import Settings
from perdure.store.database import SpaceTransaction
from perdure.store.fact_vectors import score_facts
from perdure.store.spaces import SpaceRow

_log = logging.getLogger(__name__)


class RecallOutcome(StrEnum):
    """How far a turn's scoring came, in the order in which it is looked at (mission)."""

    DISABLED = "disabled"
    RAG_UNAVAILABLE = "rag_unavailable"
    MEMORY_CRITICAL = "memory_critical"
    NO_MODEL = "no_model"
    NO_QUERY = "no_query"
    NO_CANDIDATES = "no_candidates"
    TIMEOUT = "timeout"
    PROVIDER_ERROR = "provider_error"
    SCORED = "scored"


WITHOUT_STAGES: Final = frozenset({RecallOutcome.DISABLED, RecallOutcome.RAG_UNAVAILABLE, RecallOutcome.NO_MODEL})
"""Where nothing can bring a fact back, none is dormant."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What scoring found: cosines of the candidates that have a vector, and the winners, best first."""

    cosines: dict[FactId, float]
    winners: tuple[FactId, ...]
    embedding_ms: float


async def score(
    resources: Resources, space: SpaceRow, candidates: Iterable[Fact], embed: EmbedQuery
) -> Scores | RecallOutcome:
    """Scores the candidates within the budget, the query's embedding included; or says what came in between."""
    seconds = resources.settings.fact_recall_s
    try:
        return await within(seconds, _score(resources, space, [fact.id for fact in candidates], embed))
    except TimeoutError:
        _log.warning("Facts were not scored: no answer within %g s. The reply goes on without them.", seconds)
        return RecallOutcome.TIMEOUT
    except Exception as error:
        _log.warning("Facts were not scored: %s. The reply goes on without them.", without_words(error))
        return RecallOutcome.PROVIDER_ERROR


def memory_critical(settings: Settings) -> bool:
    """Whether this process holds more memory than it may."""
    limit = settings.process_memory_limit_mb
    return limit is not None and psutil.Process().memory_info().rss > limit * 1024 * 1024


async def _score(resources: Resources, space: SpaceRow, facts: list[FactId], embed: EmbedQuery) -> Scores:
    clock = resources.database.clock
    began = clock.monotonic()
    vector: np.ndarray = await embed()
    embedding_ms = (clock.monotonic() - began) * 1000

    async def read(tx: SpaceTransaction) -> tuple[dict[FactId, float], float]:
        calibration = await calibration_of(tx, resources, space)
        least = calibration.fact_similarity if calibration else MIN_COSINE
        return await score_facts(tx, resources.family.id, vector, facts), least

    cosines, least = await resources.database.in_space(space.id, read)
    return Scores(cosines, pick_winners(cosines.items(), least), embedding_ms)
