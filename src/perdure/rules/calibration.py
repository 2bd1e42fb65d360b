"""What a cosine means: similarity on a scale that every embedding family shares, and thresholds on that scale.

The mission's thresholds are literal numbers for its reference model. Families differ so much (two unrelated sentences
have cosine 0.8 in one model and 0.05 in another) that a literal number is only right for the family it was found for.
A `Calibration` holds where unrelated texts lie in one family, and the equivalents of the mission's thresholds there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import NormalDist, median

MIN_PAIRS = 50
"""Fewest random pairs that `calibrate` accepts: the median of 50 is good to about a fifth of the spread."""

MIN_MEMORIES = 50
"""Fewest memories that a space is measured with: fewer say more about their few topics than about the family."""

LEAST_SPREAD = 1e-3
"""Where hardly two memories differ, the spread is nothing to divide by."""

EPISODE_DEDUP_THRESHOLD = 0.12
"""Cosine distance in the mission's family within which two episodes tell the same (mission: 0.12)."""

_MAD_TO_SPREAD = 1 / NormalDist().inv_cdf(0.75)
"""A normal distribution's standard deviation is 1.4826 times its median absolute deviation."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Where a threshold lies between unrelated (0) and identical (1), for families without measured thresholds."""

    contradiction: float
    cluster: float
    episode: float
    fact: float
    document: float
    transition: float


@dataclass(frozen=True, slots=True)
class Unrelated:
    """Where the cosines of texts that have nothing to do with each other lie in one space: typical one, and spread.

    `query_identical` is the cosine of one text as a query and as a memory: 1 where the family has no prefixes.
    """

    document_mean: float
    document_spread: float
    query_mean: float
    query_spread: float
    query_identical: float

    @property
    def noise(self) -> float:
        """Cosine of a query and a memory that unrelated ones hardly reach."""
        return min(self.query_mean + NOISE_SPREADS * self.query_spread, 1.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where unrelated texts lie in one embedding family, and the mission's thresholds there.

    All similarities are cosines (-1..1), all distances 1 - cosine (0..2). A pair is a candidate when it is *strictly*
    nearer than a distance, or at least as similar as a similarity, as the mission says for each.
    """

    unrelated_mean: float
    """Typical cosine of two unrelated documents."""
    unrelated_spread: float
    """Standard deviation of the same."""
    query_mean: float
    """Typical cosine of a query and an unrelated document."""
    query_spread: float
    """Standard deviation of the same."""
    query_identical: float
    """Cosine of one text embedded as a query and as a document: 1 where the family has no prefixes."""
    contradiction_distance: float
    """Memories nearer than this are candidates for a contradiction verdict (mission 0.3)."""
    cluster_similarity: float
    """Memories at least this similar belong to one episode (mission 0.7)."""
    episode_distance: float
    """An episode nearer than this to a new one is superseded by it (mission 0.12, EPISODE_DEDUP_THRESHOLD)."""
    fact_similarity: float
    """A self-taught fact at least this similar to the query is recalled (mission 0.5)."""
    document_similarity: float
    """A document chunk at least this similar to the query is recalled (mission 0.5)."""
    transition_distance: float
    """Memories nearer than this are related to a paradigm shift (ours 0.4)."""

    @property
    def unrelated(self) -> Unrelated:
        """Where unrelated texts lie, as long as the space has too few memories to tell."""
        return Unrelated(
            self.unrelated_mean, self.unrelated_spread, self.query_mean, self.query_spread, self.query_identical
        )

    def calibrated_similarity(self, cosine: float, *, of_query: bool = False) -> float:
        """`cosine` on the shared scale: 0 for unrelated texts, 1 for identical ones, in -1..1.

        Below 0 means less alike than two random texts; those are kept apart so that an order stays an order.
        `of_query` says that the cosine compares a query with a document, not two documents.
        """
        zero, one = (self.query_mean, self.query_identical) if of_query else (self.unrelated_mean, 1.0)
        return max(-1.0, min(1.0, (cosine - zero) / (one - zero)))

    def cosine_at(self, similarity: float, *, of_query: bool = False) -> float:
        """The cosine that `calibrated_similarity` maps to `similarity`: its inverse inside the clip."""
        zero, one = (self.query_mean, self.query_identical) if of_query else (self.unrelated_mean, 1.0)
        return zero + similarity * (one - zero)


POSITIONS = Positions(contradiction=0.35, cluster=0.45, episode=0.74, fact=0.32, document=0.32, transition=0.28)
"""Between what was measured on the two families that were at hand: e5 0.28, 0.40, 0.70, 0.36, 0.36, 0.22 and
USE 0.43, 0.49, 0.77, 0.28, 0.28, 0.34."""

NOISE_SPREADS = 2.5
"""Noise above the mean of unrelated pairs, in spreads (a query meets many memories)."""


def measure(
    document_pairs: Sequence[float], query_pairs: Sequence[float] = (), own_pairs: Sequence[float] = ()
) -> Unrelated:
    """Where unrelated texts lie, from cosines of random pairs of a space's own memories.

    Args:
        document_pairs: of two random memories.
        query_pairs: of a random memory as a query and another one; without them queries lie where memories do, as they
            do in a family without prefixes.
        own_pairs: of a memory as a query and itself.

    Medians are used because a space's own memories also hold duplicates. Raises ValueError with fewer than `MIN_PAIRS`
    pairs or with a cosine that is not in -1..1.
    """
    mean, spread = _centre(document_pairs)
    query_mean, query_spread = _centre(query_pairs) if query_pairs else (mean, spread)
    identical = median(own_pairs) if own_pairs else 1.0
    return Unrelated(mean, spread, query_mean, query_spread, max(identical, query_mean + LEAST_SPREAD))


def is_due(memories: int, measured: int | None) -> bool:
    """Whether a space of so many memories is to be measured (again), of which `measured` were there the last time."""
    return memories >= MIN_MEMORIES and (measured is None or memories >= 2 * measured)


def calibrate(unrelated: Unrelated) -> Calibration:
    """A calibration for a family that nobody measured, from where unrelated texts lie in a space."""
    mean = unrelated.document_mean
    query_mean = unrelated.query_mean

    def document_cosine(position: float) -> float:
        return mean + position * (1 - mean)

    def query_cosine(position: float) -> float:
        return max(query_mean + position * (unrelated.query_identical - query_mean), unrelated.noise)

    return Calibration(
        unrelated_mean=mean,
        unrelated_spread=unrelated.document_spread,
        query_mean=query_mean,
        query_spread=unrelated.query_spread,
        query_identical=unrelated.query_identical,
        contradiction_distance=1 - document_cosine(POSITIONS.contradiction),
        cluster_similarity=document_cosine(POSITIONS.cluster),
        episode_distance=1 - document_cosine(POSITIONS.episode),
        fact_similarity=query_cosine(POSITIONS.fact),
        document_similarity=query_cosine(POSITIONS.document),
        transition_distance=1 - document_cosine(POSITIONS.transition),
    )


def _centre(cosines: Sequence[float]) -> tuple[float, float]:
    if len(cosines) < MIN_PAIRS:
        raise ValueError(f"{len(cosines)} pairs are too few to calibrate a family; {MIN_PAIRS} are needed")
    if not all(isfinite(cosine) and abs(cosine) <= 1 + 1e-4 for cosine in cosines):
        raise ValueError("a cosine lies between -1 and 1")
    middle = min(median(cosines), 0.999)
    return middle, max(median(abs(cosine - middle) for cosine in cosines) * _MAD_TO_SPREAD, LEAST_SPREAD)
