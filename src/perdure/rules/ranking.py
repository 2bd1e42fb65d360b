"""The ranking formula as data and as its reference implementation (lower is better).

The store computes the same sum in SQL from the same profile; `explain` shows these terms, and tests hold the SQL
against this module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perdure.rules.lexical import DEFAULT as STANDARD
from perdure.rules.lexical import Bm25
from perdure.rules.turns import TurnWeights


class Distance(StrEnum):
    """Which distance enters the formula: the raw cosine distance, or the family's calibrated one."""

    RAW = "raw"
    CALIBRATED = "calibrated"


class TextTerm(StrEnum):
    """Which lexical score enters: PostgreSQL's ts_rank, or BM25 as a share of what the query could reach."""

    TS_RANK = "ts_rank"
    BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class RankingProfile:
    """The weights of the formula. Every weight is subtracted, so a larger one makes its signal count more.

    Attributes:
        name: what settings and results call the profile.
        distance, text: which distance and which lexical score are meant.
        distance_weight, text_divisor: `distance_weight * distance / (1 + text_divisor * text)`.
        text_weight: weight of the lexical score as a term of its own.
        salience: weight of one point of salience (1..10).
        usefulness, confidence: weights of signals in 0..1.
        recency, recency_half_life_days: weight of `recency`, and the days in which it halves.
        popularity: weight of `ln(retrieval_count + 1)`.
        entity: weight of an entity of the memory that the query names.
        bm25: parameters of BM25, where that is the lexical score.
        turns: what turns of a conversation lend each other; None for nothing. Their relevance is
            `distance_weight * (1 - distance) + text_weight * text`.
    """

    name: str
    distance: Distance = Distance.RAW
    text: TextTerm = TextTerm.TS_RANK
    distance_weight: float = 1.0
    text_divisor: float = 10.0
    text_weight: float = 0.0
    salience: float = 0.1
    usefulness: float = 0.15
    recency: float = 0.03
    recency_half_life_days: float = 30.0
    confidence: float = 0.03
    popularity: float = 0.02
    entity: float = 0.2
    bm25: Bm25 = STANDARD
    turns: TurnWeights | None = None


SEED: Final = RankingProfile("seed")
"""The mission's formula, to the letter, on raw cosine distance and ts_rank."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of one memory for one query.

    Attributes:
        distance: cosine distance, 0..2, raw or calibrated as the profile says.
        text: the profile's lexical score, 0 or more.
        salience: 1..10.
        usefulness, confidence: 0..1.
        age_days: days since created_at; negative for a date in the future.
        retrieval_count: how often it was retrieved, 0 or more.
        entity_match: an entity of the memory occurs in the query.
        lent: what the turns around it lend it (`turns.lent`), 0 for a profile without turns.
    """

    distance: float
    text: float = 0.0
    salience: float = 5.0
    usefulness: float = 0.5
    confidence: float = 1.0
    age_days: float = 0.0
    retrieval_count: int = 0
    entity_match: bool = False
    lent: float = 0.0


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank of one memory, lower is better, and what each term added to it."""

    total: float
    terms: Mapping[str, float]

    @property
    def score(self) -> float:
        """The rank with its sign turned: higher is better, as search results report it."""
        return -self.total


def recency(age_days: float, half_life_days: float = 30.0) -> float:
    """0.5^(age / half-life): 1 for now, towards 0 for the past, never above 1 for a date in the future."""
    return math.exp2(-max(age_days, 0.0) / half_life_days)


def relevance(profile: RankingProfile, distance: float, text: float) -> float:
    """What a turn lends to the turns around it: higher for nearer and for more of the query's words."""
    return profile.distance_weight * (1.0 - distance) + profile.text_weight * text


def rank(profile: RankingProfile, signals: Signals) -> Rank:
    """The formula of the mission (docs/mission.md) for one memory.

    The terms are named relevance, text, salience, usefulness, recency, confidence, popularity, entity and turns; their
    sum is the total.
    """
    terms = {
        "relevance": profile.distance_weight * signals.distance / (1.0 + profile.text_divisor * signals.text),
        "text": -profile.text_weight * signals.text,
        "salience": -profile.salience * signals.salience,
        "usefulness": -profile.usefulness * signals.usefulness,
        "recency": -profile.recency * recency(signals.age_days, profile.recency_half_life_days),
        "confidence": -profile.confidence * signals.confidence,
        "popularity": -profile.popularity * math.log(signals.retrieval_count + 1),
        "entity": -profile.entity * signals.entity_match,
        "turns": -signals.lent,
    }
    return Rank(math.fsum(terms.values()), terms)
