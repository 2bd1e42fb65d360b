"""An embedder that knows what the simulation's texts are about: no model, the same vectors every time, and outages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from perdure.embedding import Calibration, Kind, Matrix
from perdure.errors import EmbeddingUnavailable
from perdure.simulation.ltm_subjects import subject_in
from perdure.types import Family

DIMENSIONS: Final = 128
SAME_SUBJECT: Final = 0.75
SAME_THEME: Final = 0.4
"""What a text has of its subject's direction and of its theme's: two texts of a subject have a cosine of 0.72 or so, of
a theme 0.16, and all others of 0, give or take 0.04."""

CALIBRATION: Final = Calibration(
    unrelated_mean=0.0,
    unrelated_spread=0.05,
    query_mean=0.0,
    query_spread=0.05,
    query_identical=1.0,
    contradiction_distance=0.3,
    cluster_similarity=0.7,
    episode_distance=0.12,
    fact_similarity=0.5,
    document_similarity=0.5,
    transition_distance=0.4,
)
"""Cosines mean here what the mission's numbers take them to mean."""


class ScriptedEmbedder:
    """An `Embedder` without a model; while `down` is true it raises EmbeddingUnavailable. `texts` counts its work."""

    def __init__(self) -> None:
        self.family = Family(f"scripted-{DIMENSIONS}", "simulation", "scripted", DIMENSIONS)
        self.calibration: Calibration | None = CALIBRATION
        self.down = False
        self.texts = 0

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        """Unit vectors of texts; queries and documents are alike."""
        if self.down:
            raise EmbeddingUnavailable("The script has the embedder down on this day.")
        self.texts += len(texts)
        return np.array([_vector(text) for text in texts], np.float32).reshape(len(texts), DIMENSIONS)

    async def close(self) -> None:
        return None


def _vector(text: str) -> Matrix:
    subject = subject_in(text)
    own = _direction(f"text {text}")
    if subject is None:
        return own
    rest = np.sqrt(1 - SAME_SUBJECT**2 - SAME_THEME**2)
    mixed = (
        SAME_SUBJECT * _direction(f"subject {subject.word}")
        + SAME_THEME * _direction(f"theme {subject.theme}")
        + rest * own
    )
    return np.asarray(mixed / np.linalg.norm(mixed), np.float32)


def _direction(seed: str) -> Matrix:
    """A unit vector that depends on nothing but the seed."""
    digest = hashlib.shake_128(seed.encode()).digest(DIMENSIONS)
    raw = np.frombuffer(digest, np.uint8).astype(np.float32) - 127.5
    return np.asarray(raw / np.linalg.norm(raw), np.float32)
