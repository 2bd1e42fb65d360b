"""Text into vectors that may be compared: the bundled model, an endpoint, or a model of your own."""

from __future__ import annotations

from perdure.embedding.guarded import GuardedEmbedder
from perdure.embedding.noise import NoiseLevel, TurnPlace
from perdure.embedding.opening import open_embedder
from perdure.embedding.port import Embedder, Kind, Matrix
from perdure.rules.calibration import MIN_PAIRS, Calibration, Unrelated, calibrate, is_due, measure

__all__ = [
    "MIN_PAIRS",
    "Calibration",
    "Embedder",
    "GuardedEmbedder",
    "Kind",
    "Matrix",
    "NoiseLevel",
    "TurnPlace",
    "Unrelated",
    "calibrate",
    "is_due",
    "measure",
    "open_embedder",
]
