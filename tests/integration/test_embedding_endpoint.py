"""What holds between Perdure and any OpenAI-compatible embedding server, over real HTTP."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from perdure.clock import wall_clock
from perdure.embedding import open_embedder
from perdure.embedding.families import known_family
from perdure.embedding.openai_compatible import EndpointLimits, OpenAIEmbedder
from perdure.errors import EmbeddingFailed, EmbeddingUnavailable
from tests.doubles import openai_server as behaviour
from tests.doubles.openai_server import Server, serving, vector

DIMENSIONS = 8
TEXTS = ["Ada likes plums", "Tom plays the cello", "It rained"]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(DIMENSIONS) as running:
        yield running


class Waits(list[float]):
    """Records how long the client wanted to wait, and doesn't."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def client(server: Server, waits: Waits | None = None, model: str = "m", **limits: float) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        server.url,
        known_family("openai", model, DIMENSIONS),
        limits=EndpointLimits(**{"timeout": 5.0, **limits}),  # type: ignore[arg-type]
        chance=lambda: 0.0,
        sleep=waits if waits is not None else Waits(),
    )


def expected(texts: list[str], dimensions: int = DIMENSIONS) -> np.ndarray:
    rows = np.array([vector(text, dimensions) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def test_every_text_gets_its_own_normalised_row(server: Server) -> None:
    embedder = client(server)
    found = await embedder.embed(TEXTS, "document")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(TEXTS), atol=1e-6)
    assert server.paths == ["/v1/embeddings"]
    await embedder.close()


@pytest.mark.parametrize("behave", [behaviour.in_reverse, behaviour.in_base64])
async def test_order_is_by_index_and_both_encodings_are_read(server: Server, behave: behaviour.Behaviour) -> None:
    server.script = [behave]
    embedder = client(server)
    np.testing.assert_allclose(await embedder.embed(TEXTS, "document"), expected(TEXTS), atol=1e-6)
    await embedder.close()


async def test_many_texts_go_in_batches_by_count_and_by_size(server: Server) -> None:
    embedder = client(server, batch_texts=3, batch_characters=40)
    texts = [*(f"text {number}" for number in range(7)), "x" * 30, "y" * 30]
    np.testing.assert_allclose(await embedder.embed(texts, "document"), expected(texts), atol=1e-6)
    assert [len(request["input"]) for request in server.requests] == [3, 3, 2, 1]
    await embedder.close()


async def test_nothing_is_asked_for_no_texts(server: Server) -> None:
    embedder = client(server)
    assert (await embedder.embed([], "query")).shape == (0, DIMENSIONS)
    assert server.requests == []
    await embedder.close()


async def test_queries_carry_the_instruction_that_the_reference_model_was_trained_with(server: Server) -> None:
    embedder = client(server, model="Qwen/Qwen3-Embedding-4B")
    await embedder.embed(["Where do I live?"], "query")
    await embedder.embed(["I live in Rome."], "document")
    query, document = (request["input"][0] for request in server.requests)
    assert query.startswith("Instruct: ")
    assert query.endswith("\nQuery:Where do I live?")
    assert document == "I live in Rome."
    await embedder.close()


async def test_the_reference_model_is_2560_dimensions_with_the_literal_thresholds(server: Server) -> None:
    embedder = open_embedder("openai", url=server.url, model="Qwen/Qwen3-Embedding-4B")
    assert embedder.family.dimensions == 2560
    calibration = embedder.calibration
    assert calibration is not None
    literal = (0.3, 0.7, 0.12, 0.5, 0.5, 0.4)
    assert literal == (
        calibration.contradiction_distance,
        calibration.cluster_similarity,
        calibration.episode_distance,
        calibration.fact_similarity,
        calibration.document_similarity,
        calibration.transition_distance,
    )
    await embedder.close()


async def test_the_server_is_asked_to_shorten_vectors_only_when_they_are_to_be_shorter(server: Server) -> None:
    short = open_embedder("openai", url=server.url, model="text-embedding-3-small", dimensions=256)
    assert (await short.embed(["a"], "query")).shape == (1, 256)
    plain = open_embedder("openai", url=server.url, model="unheard-of", dimensions=DIMENSIONS)
    await plain.embed(["a"], "query")
    assert [request.get("dimensions") for request in server.requests] == [256, None]
    await short.close()
    await plain.close()


async def test_the_key_goes_into_the_header_and_into_no_error(server: Server) -> None:
    server.script = [behaviour.status(401)]
    embedder = open_embedder("openai", url=server.url, model="m", dimensions=DIMENSIONS, key="sk-secret")
    with pytest.raises(EmbeddingFailed, match="401") as caught:
        await embedder.embed(["a"], "query")
    assert server.headers[0]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == 1, "a wrong key is not tried again"
    await embedder.close()


async def test_a_busy_server_is_asked_again_when_it_says(server: Server) -> None:
    date = format_datetime(wall_clock() + timedelta(seconds=20), usegmt=True)
    server.script = [
        behaviour.status(429, {"Retry-After": "7"}),
        behaviour.status(503, {"Retry-After": date}),
        behaviour.status(500),
    ]
    waits = Waits()
    embedder = client(server, waits)
    np.testing.assert_allclose(await embedder.embed(TEXTS, "document"), expected(TEXTS), atol=1e-6)
    assert waits[0] == 7
    assert 15 < waits[1] <= 20
    assert waits[2] == 2.0, "without a word from the server the wait doubles: 0.5, 1, 2"
    await embedder.close()


async def test_the_wait_is_jittered_by_the_given_chance(server: Server) -> None:
    server.script = [behaviour.status(502)]
    waits = Waits()
    embedder = OpenAIEmbedder(server.url, known_family("openai", "m", DIMENSIONS), chance=lambda: 1.0, sleep=waits)
    await embedder.embed(["a"], "document")
    assert waits == [0.25]
    await embedder.close()


async def test_a_server_that_asks_for_too_long_a_wait_is_unavailable_at_once(server: Server) -> None:
    server.script = [behaviour.status(429, {"Retry-After": "3600"})]
    embedder = client(server)
    with pytest.raises(EmbeddingUnavailable, match="429"):
        await embedder.embed(["a"], "document")
    assert len(server.requests) == 1
    await embedder.close()


async def test_it_gives_up_after_the_last_attempt_and_works_again_later(server: Server) -> None:
    server.script = [behaviour.status(503)] * 4
    waits = Waits()
    embedder = client(server, waits)
    with pytest.raises(EmbeddingUnavailable, match="4 of 4"):
        await embedder.embed(["a"], "document")
    assert waits == [0.5, 1.0, 2.0]
    assert (await embedder.embed(["a"], "document")).shape == (1, DIMENSIONS)
    await embedder.close()


@pytest.mark.parametrize("behave", [behaviour.hang, behaviour.drip])
async def test_a_server_that_hangs_or_drips_holds_nobody_longer_than_the_timeout(
    server: Server, behave: behaviour.Behaviour
) -> None:
    server.script = [behave, behave]
    embedder = client(server, timeout=0.2, attempts=2)
    begun = time.perf_counter()
    with pytest.raises(EmbeddingUnavailable, match=r"did not answer within 0\.2 s"):
        await embedder.embed(["a"], "document")
    assert time.perf_counter() - begun < 3
    await embedder.close()


async def test_a_callers_deadline_cuts_the_request_short(server: Server) -> None:
    server.script = [behaviour.hang]
    embedder = client(server, timeout=60)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(embedder.embed(["a"], "query"), 0.2)
    assert (await embedder.embed(["a"], "query")).shape == (1, DIMENSIONS)
    await embedder.close()


async def test_half_an_answer_is_asked_for_again(server: Server) -> None:
    server.script = [behaviour.half]
    embedder = client(server)
    np.testing.assert_allclose(await embedder.embed(TEXTS, "document"), expected(TEXTS), atol=1e-6)
    assert len(server.requests) == 2
    await embedder.close()


async def test_a_dead_server_is_an_outage_not_a_wrong_answer() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    embedder = OpenAIEmbedder(f"http://127.0.0.1:{port}/v1", known_family("openai", "m", 8), sleep=Waits())
    with pytest.raises(EmbeddingUnavailable, match="could not be reached"):
        await embedder.embed(["a"], "document")
    await embedder.close()


@pytest.mark.parametrize(
    ("behave", "says"),
    [
        (behaviour.too_long, "9 dimensions, this family has 8"),
        (behaviour.filled_with(float("nan")), "not finite"),
        (behaviour.filled_with(float("inf")), "not finite"),
        (behaviour.filled_with(0.0), "zeros"),
        (behaviour.one_short, "2 embeddings for 3"),
        (behaviour.one_twice, "twice for one text"),
        (behaviour.garbage, "not a list of embeddings"),
        (lambda exchange: exchange.answer(None), "not a list of embeddings"),
        (lambda exchange: exchange.answer([{"index": 99, "embedding": [1.0]}]), "not a list of embeddings"),
        (lambda exchange: exchange.answer([{"index": -1, "embedding": [1.0]}]), "not a list of embeddings"),
        (lambda exchange: exchange.answer([{"index": 0, "embedding": "!"}]), "not a list of embeddings"),
        (lambda exchange: exchange.answer([{"index": 0, "embedding": "AAA="}] * 3), "not a list of embeddings"),
        (lambda exchange: exchange.raw(b"[]"), "not a list of embeddings"),
        (lambda exchange: exchange.raw(b"\xff\xfe"), "not a list of embeddings"),
        (behaviour.status(400, message="the input is too long"), "HTTP 400 .the input is too long."),
        (behaviour.status(404, message="no such model"), "HTTP 404"),
    ],
)
async def test_an_unusable_answer_is_an_error_and_never_a_vector(
    server: Server, behave: behaviour.Behaviour, says: str
) -> None:
    server.script = [behave]
    embedder = client(server)
    with pytest.raises(EmbeddingFailed, match=says):
        await embedder.embed(TEXTS, "document")
    await embedder.close()


async def test_no_error_repeats_a_users_words(server: Server) -> None:
    server.script = [behaviour.quoting]
    embedder = client(server)
    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.embed(["my secret diary, page one"], "document")
    assert "diary" not in str(caught.value)
    await embedder.close()


async def test_a_megabyte_is_cut_and_hostile_characters_do_no_harm(server: Server) -> None:
    embedder = client(server)
    found = await embedder.embed(["x" * 1_000_000, "a\x00b\ud800c", ""], "document")
    assert found.shape == (3, DIMENSIONS)
    sent = server.requests[0]["input"]
    assert [len(sent[0]), sent[1], sent[2]] == [8000, "abc", " "]
    await embedder.close()


async def test_a_closed_embedder_says_so(server: Server) -> None:
    embedder = client(server)
    await embedder.embed(["a"], "query")
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await embedder.embed(["a"], "query")
