"""The default embedder: multilingual-e5-small on this machine, without a key, a download or a second thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from perdure.embedding.e5_numpy import Encoder
from perdure.embedding.e5_onnx import open_encoder
from perdure.embedding.e5_tokens import Tokens
from perdure.embedding.e5_weights import Weights
from perdure.embedding.families import E5, E5_CALIBRATION
from perdure.embedding.port import Kind, Matrix, OneThread, checked
from perdure.rules.calibration import Calibration
from perdure.types import Family

BATCH_TOKENS = 512
"""Tokens per run, padding included. 256 and 512 were the quickest sizes measured (larger ones leave the cache), and a
live query waits for one run of a bulk import at most: about 0.2 s."""

_TEXTS_PER_SPLIT = 128


class LocalEmbedder:
    """e5 from the weight file at `path`; prepared files are kept in `cache`. Loaded at first use, in its own thread."""

    def __init__(self, path: Path, cache: Path) -> None:
        self._path, self._cache = path, cache
        self._thread = OneThread("local")
        self._loaded: tuple[Tokens, Encoder] | None = None

    @property
    def family(self) -> Family:
        return E5

    @property
    def calibration(self) -> Calibration | None:
        return E5_CALIBRATION

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        prefix = E5.query_prefix if kind == "query" else E5.document_prefix
        rows: list[list[int]] = []
        for start in range(0, len(texts), _TEXTS_PER_SPLIT):
            part = texts[start : start + _TEXTS_PER_SPLIT]
            rows += await self._thread.run(lambda part=part: self._split(prefix, part))  # type: ignore[misc]
        pooled = np.empty((len(rows), E5.dimensions), np.float32)
        for batch in batches([len(row) for row in rows]):
            pooled[batch] = await self._thread.run(lambda batch=batch: self._pooled([rows[i] for i in batch]))  # type: ignore[misc]
        return checked(pooled, len(texts), E5.dimensions, "The bundled model")

    async def close(self) -> None:
        self._thread.close()
        self._loaded = None

    def _model(self) -> tuple[Tokens, Encoder]:
        if self._loaded is None:
            weights = Weights(self._path)
            tokens = Tokens(weights)
            self._loaded = tokens, open_encoder(self._path, weights, tokens, self._cache)
        return self._loaded

    def _split(self, prefix: str, texts: Sequence[str]) -> list[list[int]]:
        tokens, _ = self._model()
        return [tokens.ids(prefix, text) for text in texts]

    def _pooled(self, rows: Sequence[Sequence[int]]) -> Matrix:
        _, encoder = self._model()
        return encoder.pooled(rows)


def batches(lengths: Sequence[int], budget: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Positions grouped by similar length, each group at most `budget` tokens with its padding (or one text)."""
    group: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and (len(group) + 1) * lengths[position] > budget:
            yield group
            group = []
        group.append(position)
    if group:
        yield group
