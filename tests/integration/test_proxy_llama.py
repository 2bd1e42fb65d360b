"""The proxy in front of llama.cpp's own server: streams, and a prompt of which the cache can be used."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest

pytest.importorskip("xllamacpp", reason="there is no wheel of llama.cpp's server for this platform")

from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder
from tests.doubles.llama_server import make_model, serving
from tests.integration.conftest import open_memory
from tests.integration.http_server import served

ALLERGY = "Ada is allergic to peanuts"
ASKED = "Is Ada allergic to peanuts or not?"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(make_model(tmp_path_factory.mktemp("model") / "random.gguf")) as url:
        yield url


@pytest.fixture
async def client(urls: ServerUrls, embedder: HashedEmbedder, llama: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        served(urls, embedder, proxy_url=llama, relevance_gate=False) as address,
        openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="unused", max_retries=0) as client,
    ):
        yield client


async def test_the_second_turn_is_read_from_the_cache_but_for_its_tail(
    client: openai.AsyncOpenAI, urls: ServerUrls, embedder: HashedEmbedder
) -> None:
    user = f"user-{secrets.token_hex(6)}"
    async with open_memory(urls, embedder) as memory:
        await memory.space(user).save(ALLERGY, salience=9)
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]
    first = await client.chat.completions.create(model="any", messages=messages, user=user, max_tokens=16)
    alone = await client.chat.completions.create(
        model="any", messages=messages, max_tokens=1, extra_headers={"X-Perdure-Memory": "off"}
    )
    assert first.usage is not None
    assert alone.usage is not None
    assert first.usage.prompt_tokens > alone.usage.prompt_tokens
    messages += [
        {"role": "assistant", "content": first.choices[0].message.content or "Yes."},
        {"role": "user", "content": "Are peanuts a danger to Ada?"},
    ]
    second = await client.chat.completions.create(model="any", messages=messages, user=user, max_tokens=16)
    assert second.usage is not None
    assert second.model_extra is not None
    # Only the tail, which stood before the first question, is read anew: the system's part is more than half of it all.
    assert second.model_extra["timings"]["cache_n"] > 0.4 * second.usage.prompt_tokens


async def test_a_stream_of_the_real_server_is_captured(
    client: openai.AsyncOpenAI, urls: ServerUrls, embedder: HashedEmbedder
) -> None:
    user = f"user-{secrets.token_hex(6)}"
    stream = await client.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": "I moved to Lima in May"}],
        user=user,
        max_tokens=24,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[-1].usage is not None
    async with open_memory(urls, embedder) as memory:
        assert (await memory.space(user).stats()).pending == 1


async def test_the_models_of_the_server_behind_are_listed(client: openai.AsyncOpenAI) -> None:
    assert (await client.models.list()).data
