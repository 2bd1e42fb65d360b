"""Embeddings are made once, whatever happens to the file that they are kept in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perdure.clock import DatabaseClock
from perdure.embedding import Kind, Matrix
from perdure.errors import EmbeddingUnavailable
from perdure.evaluation import CachedEmbedder
from perdure.evaluation.cache import PIECE, Unfinished
from tests.doubles.embedder import HashedEmbedder

DIMENSIONS = 64
TEXTS = ["the ferry", "渡轮几点开", "เรือออกเที่ยง", "x", "the ferry"]


class Recording(HashedEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        super().__init__(dimensions)
        self.asked: list[list[str]] = []

    async def embed(self, texts: list[str], kind: Kind) -> Matrix:  # type: ignore[override]
        self.asked.append(list(texts))
        return await super().embed(texts, kind)


def cached(directory: Path, inner: HashedEmbedder | None = None) -> CachedEmbedder:
    return CachedEmbedder(inner or HashedEmbedder(DIMENSIONS), directory, DatabaseClock())


async def test_vectors_are_those_of_the_inner_embedder_in_the_order_of_the_texts(tmp_path: Path) -> None:
    embedder = cached(tmp_path)
    expected = await HashedEmbedder(DIMENSIONS).embed(TEXTS, "document")
    assert np.array_equal(await embedder.embed(TEXTS, "document"), expected)
    assert np.array_equal(await embedder.embed(TEXTS[::-1], "document"), expected[::-1])
    assert (await embedder.embed([], "document")).shape == (0, DIMENSIONS)


async def test_a_second_run_embeds_nothing(tmp_path: Path) -> None:
    first = cached(tmp_path)
    vectors = await first.embed(TEXTS, "document")
    assert first.embedded == 4  # a text that stands twice is embedded once
    inner = HashedEmbedder(DIMENSIONS)
    again = await cached(tmp_path, inner).embed(TEXTS, "document")
    assert inner.calls == 0
    assert np.array_equal(again, vectors)


async def test_questions_documents_and_families_are_kept_apart(tmp_path: Path) -> None:
    await cached(tmp_path).embed(["the ferry"], "document")
    asked = cached(tmp_path)
    await asked.embed(["the ferry"], "query")
    other = cached(tmp_path, HashedEmbedder(32))
    assert (await other.embed(["the ferry"], "document")).shape == (1, 32)
    assert asked.embedded == other.embedded == 1


async def test_long_texts_are_not_embedded_beside_short_ones(tmp_path: Path) -> None:
    inner = Recording()
    await cached(tmp_path, inner).embed([f"{number} " * (number % 7 + 1) for number in range(PIECE * 3)], "document")
    lengths = [len(text) for piece in inner.asked[1:] for text in piece]
    assert lengths == sorted(lengths)
    assert {len(piece) for piece in inner.asked[1:]} == {PIECE}


@pytest.mark.parametrize("cut", [1, 100])
async def test_a_file_that_was_cut_off_while_written_costs_one_text(tmp_path: Path, cut: int) -> None:
    expected = await cached(tmp_path).embed(TEXTS, "document")
    (file,) = tmp_path.glob("*.vectors")
    file.write_bytes(file.read_bytes()[:-cut])
    second = cached(tmp_path)
    assert np.array_equal(await second.embed(TEXTS, "document"), expected)
    assert second.embedded == 1
    third = cached(tmp_path)
    await third.embed(TEXTS, "document")
    assert third.embedded == 0


async def test_a_damaged_vector_is_made_anew(tmp_path: Path) -> None:
    expected = await cached(tmp_path).embed(["the ferry"], "document")
    (file,) = tmp_path.glob("*.vectors")
    data = bytearray(file.read_bytes())
    data[-DIMENSIONS * 4 :] = bytes(DIMENSIONS * 4)
    file.write_bytes(data)
    second = cached(tmp_path)
    assert np.array_equal(await second.embed(["the ferry"], "document"), expected)
    assert second.embedded == 1


async def test_two_processes_may_write_at_once(tmp_path: Path) -> None:
    one, other = cached(tmp_path), cached(tmp_path)
    await one.embed(["a"], "document")
    await other.embed(["b"], "document")
    third = cached(tmp_path)
    await third.embed(["a", "b"], "document")
    assert third.embedded == 0


async def test_the_time_a_question_took_is_kept_for_later_runs(tmp_path: Path) -> None:
    first = cached(tmp_path)
    await first.embed(["when does it leave"], "query")
    await first.embed(["one", "two"], "query")
    took = first.took_ms("when does it leave", "query")
    assert took is not None
    assert took >= 0
    second = cached(tmp_path)
    assert second.took_ms("when does it leave", "query") == took
    assert second.took_ms("one", "query") is None
    assert second.took_ms("never asked", "query") is None


async def test_an_outage_keeps_what_was_embedded_before_it(tmp_path: Path) -> None:
    inner = HashedEmbedder(DIMENSIONS)
    embedder = cached(tmp_path, inner)
    await embedder.embed(["a"], "document")
    inner.outage = True
    with pytest.raises(EmbeddingUnavailable):
        await embedder.embed(["a", "b"], "document")
    assert (await embedder.embed(["a"], "document")).shape == (1, DIMENSIONS)


def test_answers_of_an_unfinished_run_are_read_back_up_to_a_torn_line(tmp_path: Path) -> None:
    kept = Unfinished(tmp_path / "deep" / "run.jsonl")
    assert kept.read() == {}
    kept.add("one", {"place": 1})
    kept.add("two", {"place": 2})
    with kept.path.open("a", encoding="utf-8") as file:
        file.write('{"key": "three", "ans')
    assert kept.read() == {"one": {"place": 1}, "two": {"place": 2}}
    kept.forget()
    kept.forget()
    assert kept.read() == {}
