"""A deterministic embedder without a model: hashed words and letter groups, so that similar texts are similar."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import numpy as np

from perdure.embedding import Calibration, Kind, Matrix
from perdure.errors import EmbeddingFailed, EmbeddingUnavailable
from perdure.text import terms
from perdure.types import Family

# Measured on this double: unrelated sentences share a few letter groups.
CALIBRATION = Calibration(
    unrelated_mean=0.05,
    unrelated_spread=0.08,
    query_mean=0.05,
    query_spread=0.08,
    query_identical=1.0,
    contradiction_distance=0.3,
    cluster_similarity=0.7,
    episode_distance=0.12,
    fact_similarity=0.5,
    document_similarity=0.5,
    transition_distance=0.4,
)


class HashedEmbedder:
    """An `Embedder` whose vectors are sums of hashed terms and letter groups, with faults on demand.

    `outage` raises EmbeddingUnavailable, as an endpoint that is down does; `nonsense` raises EmbeddingFailed, as one
    that answers with NaN or the wrong length does; `hang_s` waits before answering; `poison` raises ValueError for any
    text that holds it; `calls` counts embedded texts.
    """

    def __init__(
        self, dimensions: int = 256, name: str = "hashed", calibration: Calibration | None = CALIBRATION
    ) -> None:
        self.family = Family(f"{name}-{dimensions}", "double", name, dimensions)
        self.calibration = calibration
        self.outage = False
        self.nonsense = False
        self.hang_s = 0.0
        self.poison: str | None = None
        self.calls = 0

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        self.calls += len(texts)
        if self.hang_s:
            await asyncio.sleep(self.hang_s)
        if self.outage:
            raise EmbeddingUnavailable("The double pretends to be unreachable.")
        if self.nonsense:
            raise EmbeddingFailed("The double pretends to answer with vectors of the wrong length.")
        if self.poison is not None and any(self.poison in text for text in texts):
            raise ValueError("poisoned text")
        return np.array([self._vector(text) for text in texts], np.float32).reshape(len(texts), self.family.dimensions)

    async def close(self) -> None:
        return None

    def _vector(self, text: str) -> Matrix:
        vector = np.zeros(self.family.dimensions, np.float32)
        for word in terms(text) or [text]:
            for feature in (word, *(word[i : i + 3] for i in range(len(word) - 2))):
                digest = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
                place = int.from_bytes(digest[:4]) % self.family.dimensions
                vector[place] += 1.0 if digest[4] % 2 else -1.0
        if not vector.any():
            vector[0] = 1.0
        return vector / np.linalg.norm(vector)
