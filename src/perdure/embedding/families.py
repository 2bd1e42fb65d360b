"""The embedding families we know: their dimensions, their prefixes, and what was measured about them."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.errors import ConfigurationError, InvalidInput
from perdure.rules.calibration import Calibration
from perdure.types import Family

MAX_DIMENSIONS = 16_000

QUERY_TASK = "Given a message from a conversation, retrieve memories that help to answer it"
"""The task that instruction-tuned models are given with every query."""


@dataclass(frozen=True, slots=True)
class _Model:
    dimensions: int
    query_prefix: str = ""
    document_prefix: str = ""


_INSTRUCTED = f"Instruct: {QUERY_TASK}\nQuery:"
_E5 = ("query: ", "passage: ")

_MODELS = {
    "qwen3-embedding-0.6b": _Model(1024, _INSTRUCTED),
    "qwen3-embedding-4b": _Model(2560, _INSTRUCTED),
    "qwen3-embedding-8b": _Model(4096, _INSTRUCTED),
    "text-embedding-3-small": _Model(1536),
    "text-embedding-3-large": _Model(3072),
    "multilingual-e5-small": _Model(384, *_E5),
    "multilingual-e5-base": _Model(768, *_E5),
    "multilingual-e5-large": _Model(1024, *_E5),
    "bge-m3": _Model(1024),
    "nomic-embed-text": _Model(768, "search_query: ", "search_document: "),
    "nomic-embed-text-v1.5": _Model(768, "search_query: ", "search_document: "),
    "embeddinggemma-300m": _Model(768, "task: search result | query: ", "title: none | text: "),
    "all-minilm-l6-v2": _Model(384),
}
"""Models by the last part of their name, folded, as their authors document them."""

E5 = Family("e5-small-q4", "local", "multilingual-e5-small, 4-bit", 384, *_E5)
USE = Family("use-multilingual-v3", "use", "universal-sentence-encoder-multilingual v3", 512)

E5_CALIBRATION = Calibration(
    unrelated_mean=0.834,
    unrelated_spread=0.034,
    query_mean=0.77,
    query_spread=0.03,
    query_identical=0.965,
    contradiction_distance=0.12,
    cluster_similarity=0.90,
    episode_distance=0.05,
    fact_similarity=0.84,
    document_similarity=0.84,
    transition_distance=0.13,
)
"""Measured on `tests/data/pairs.json` (36 pairs per class in six languages) and on random pairs of LoCoMo turns."""

USE_CALIBRATION = Calibration(
    unrelated_mean=0.12,
    unrelated_spread=0.08,
    query_mean=0.065,
    query_spread=0.07,
    query_identical=1.0,
    contradiction_distance=0.45,
    cluster_similarity=0.55,
    episode_distance=0.2,
    fact_similarity=0.33,
    document_similarity=0.33,
    transition_distance=0.58,
)
"""Measured on the same pairs."""

REFERENCE_CALIBRATION = Calibration(
    unrelated_mean=0.0,
    unrelated_spread=0.1,
    query_mean=0.0,
    query_spread=0.1,
    query_identical=1.0,
    contradiction_distance=0.3,
    cluster_similarity=0.7,
    episode_distance=0.12,
    fact_similarity=0.5,
    document_similarity=0.5,
    transition_distance=0.4,
)
"""Qwen3-Embedding-4B at 2560 dimensions: the mission's thresholds to the letter, on raw cosines. Its spread is
assumed, not measured: the model was not at hand."""


def known_family(provider: str, model: str, dimensions: int | None, *, missing: int | None = None) -> Family:
    """The family of `model` at `provider`, with the prefixes its authors ask for.

    `dimensions` is how long its vectors are, None for what the table says, or `missing` where it says nothing.
    Raises ConfigurationError for a model that is not in the table when neither is given, InvalidInput outside 1..16000.
    """
    known = _MODELS.get(_short(model))
    length = dimensions or (known.dimensions if known else missing)
    if length is None:
        raise ConfigurationError(
            f"How long the vectors of {model!r} are is not known.",
            hint="Set PERDURE_EMBEDDER_DIMENSIONS to what its documentation says.",
        )
    if not 1 <= length <= MAX_DIMENSIONS:
        raise InvalidInput("embedder_dimensions", length, f"it lies in 1..{MAX_DIMENSIONS}")
    prefixes = (known.query_prefix, known.document_prefix) if known else ("", "")
    return Family(f"{provider}:{model}:{length}", provider, model, length, *prefixes)


def known_calibration(family: Family) -> Calibration | None:
    """What was measured about `family`, or None: calibrate it from the space's own memories first."""
    if family.name == E5.name:
        return E5_CALIBRATION
    if family.name == USE.name:
        return USE_CALIBRATION
    return REFERENCE_CALIBRATION if _short(family.model) == "qwen3-embedding-4b" and family.dimensions == 2560 else None  # noqa: PLR2004


def _short(model: str) -> str:
    """`Qwen/Qwen3-Embedding-4B-GGUF:Q8_0` as `qwen3-embedding-4b`."""
    name = model.casefold().rsplit("/", 1)[-1].split(":", 1)[0]
    return name.removesuffix(".gguf").removesuffix("-gguf")
