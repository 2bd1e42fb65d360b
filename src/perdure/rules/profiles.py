"""The ranking profiles by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from perdure.rules.lexical import Bm25
from perdure.rules.ranking import SEED, Distance, RankingProfile, TextTerm
from perdure.rules.turns import TurnWeights

DEFAULT: Final = RankingProfile(
    "default",
    distance=Distance.CALIBRATED,
    distance_weight=0.4,
    text=TextTerm.BM25,
    text_divisor=0.0,
    text_weight=1.0,
    salience=0.01,
    usefulness=0.015,
    recency=0.003,
    confidence=0.003,
    popularity=0.002,
    entity=0.15,
    bm25=Bm25(k1=1.2, b=0.5, rarity=1.5, dates=2.0, breadth=20.0),
    turns=TurnWeights(),
)
"""The profile chosen by measurement (docs/evaluation.md).

The weights of what a memory is worth whatever the query are a tenth of the mission's: relevance spans about 0.4 from
the first to the fiftieth hit here, and one point of salience at the mission's 0.1 would outweigh most of it.
"""

PROFILES: Final[Mapping[str, RankingProfile]] = {profile.name: profile for profile in (DEFAULT, SEED)}
