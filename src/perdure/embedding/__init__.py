"""Text into vectors that may be compared: the bundled model, an endpoint, or a model of your own."""

from __future__ import annotations

from perdure.embedding.guarded import GuardedEmbedder
from perdure.embedding.noise import NoiseLevel
from perdure.embedding.opening import open_embedder
from perdure.embedding.port import Embedder, Kind, Matrix
from perdure.rules.calibration import MIN_PAIRS, Calibration, calibrate

__all__ = [
    "MIN_PAIRS",
    "Calibration",
    "Embedder",
    "GuardedEmbedder",
    "Kind",
    "Matrix",
    "NoiseLevel",
    "calibrate",
    "open_embedder",
]
