"""The ranking profiles by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from perdure.rules.ranking import SEED, Distance, RankingProfile, TextTerm

DEFAULT: Final = RankingProfile(
    "default",
    distance=Distance.CALIBRATED,
    text=TextTerm.BM25,
    text_divisor=0.0,
    text_weight=0.6,
    salience=0.02,
    usefulness=0.03,
    recency=0.01,
    confidence=0.01,
    popularity=0.005,
    entity=0.05,
)
"""The profile chosen by measurement (docs/evaluation.md)."""

PROFILES: Final[Mapping[str, RankingProfile]] = {profile.name: profile for profile in (DEFAULT, SEED)}
