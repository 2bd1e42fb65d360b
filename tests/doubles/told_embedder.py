"""An embedder that is told how near a text is to every query: by the number that stands in it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from math import sqrt

import numpy as np

from perdure.embedding import Calibration, Kind, Matrix
from perdure.errors import EmbeddingUnavailable
from perdure.types import Family
from tests.doubles.embedder import CALIBRATION

_NUMBER = re.compile(r"0\.\d+")
EXACTLY_HALF = 0.5


class ToldEmbedder:
    """Queries all point one way; a text with "0.83" in it has a cosine of 0.83 to them, one without a number 0.

    `outage` raises EmbeddingUnavailable, `hang_s` waits before answering; `queries` and `documents` are what was asked.
    """

    def __init__(self, name: str = "told", dimensions: int = 8) -> None:
        self.family = Family(f"{name}-{dimensions}", "double", name, dimensions)
        self.calibration: Calibration | None = CALIBRATION
        self.outage = False
        self.hang_s = 0.0
        self.queries: list[str] = []
        self.documents: list[str] = []

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        (self.queries if kind == "query" else self.documents).extend(texts)
        if self.hang_s:
            await asyncio.sleep(self.hang_s)
        if self.outage:
            raise EmbeddingUnavailable("The double pretends to be unreachable.")
        found = np.zeros((len(texts), self.family.dimensions), np.float32)
        for row, text in zip(found, texts, strict=True):
            row[:4] = self._vector(1.0 if kind == "query" else self._told(text))
        return found

    async def close(self) -> None:
        return None

    @staticmethod
    def _told(text: str) -> float:
        number = _NUMBER.search(text)
        return float(number[0]) if number else 0.0

    @staticmethod
    def _vector(cosine: float) -> tuple[float, float, float, float]:
        if cosine == EXACTLY_HALF:
            return (0.5, 0.5, 0.5, 0.5)
        return (cosine, sqrt(1 - cosine * cosine), 0.0, 0.0)
