"""A reranker that is configured puts the hits of a search in order; one that fails leaves them as they were."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from perdure import ConfigurationError, Space
from perdure.clock import DatabaseClock
from perdure.errors import ModelUnavailable
from perdure.llm import Ledger, RerankEndpoint
from tests.doubles.chat_server import ChatServer
from tests.doubles.embedder import HashedEmbedder
from tests.doubles.rerank_server import RerankServer, reranking
from tests.integration.conftest import open_memory

FACTS = ("a parcel waits at the post office", "berta works at the harbour office", "the library closes at eight")


@pytest.fixture
def reranker() -> Iterator[RerankServer]:
    with reranking() as server:
        yield server


@pytest.fixture
async def asking(urls, embedder: HashedEmbedder, reranker: RerankServer, space: Space) -> AsyncIterator[Space]:
    for fact in FACTS:
        await space.save(fact, speaker="Ada")
    async with open_memory(
        urls, embedder, reranker_url=reranker.url, reranker_model="bge", reranker_key="k-1"
    ) as memory:
        yield memory.space(space.name)


def last_first(body: dict[str, Any]) -> tuple[int, bytes]:
    """The worse a text stands, the better it is scored."""
    found = [{"index": i, "relevance_score": float(i)} for i in range(len(body["documents"]))]
    return 200, json.dumps({"results": found}).encode()


async def test_the_reranker_decides_the_order_and_is_told_query_and_texts(
    asking: Space, reranker: RerankServer
) -> None:
    by_score = [hit.memory.summary for hit in (await asking.search("office", plain=True)).hits]
    assert reranker.requests == []
    reranker.behave = last_first
    found = await asking.search("office")
    assert [hit.memory.summary for hit in found.hits] == by_score[::-1]
    assert found.reranked
    (body,) = reranker.requests
    assert (body["query"], body["model"], body["top_n"]) == ("office", "bge", 3)
    assert body["documents"] == [f"Ada: {text}" for text in by_score]
    assert (reranker.keys, reranker.paths) == (["Bearer k-1"], ["/v1/rerank"])


async def test_it_is_asked_in_place_of_the_subagent_which_still_finds_other_ways_to_ask(
    urls, embedder: HashedEmbedder, reranker: RerankServer, chat: ChatServer, asking: Space
) -> None:
    async with open_memory(urls, embedder, reranker_url=reranker.url, subagent_url=chat.url) as memory:
        found = await memory.space(asking.name).search("office")
    assert found.reranked
    assert [len(chat.asked(site)) for site in ("rewrite", "rerank")] == [1, 0]


async def test_its_use_is_counted_as_live(asking: Space) -> None:
    await asking.search("office")
    (row,) = await asking.usage(days=1)
    assert (row.call_site, row.role, row.model, row.live, row.calls, row.failures) == (
        "rerank",
        "reranker",
        "bge",
        True,
        1,
        0,
    )


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"no"),
        (401, b"{}"),
        (200, b"not json"),
        (200, b"{}"),
        (200, b"[]"),
        (200, b'{"results": [{"index": 0, "relevance_score": 1}]}'),
        (200, b'{"results": [{"index": 9, "relevance_score": 1}]}'),
        (200, b'{"results": [{"index": 0}, {"index": 1}, {"index": 2}]}'),
        (200, json.dumps({"results": [{"index": i, "relevance_score": float("nan")} for i in range(3)]}).encode()),
    ],
)
async def test_nonsense_leaves_the_order_and_is_named(
    asking: Space, reranker: RerankServer, answer: tuple[int, bytes]
) -> None:
    by_score = [hit.memory.id for hit in (await asking.search("office", plain=True)).hits]
    reranker.behave = lambda _: answer
    found = await asking.search("office")
    assert [hit.memory.id for hit in found.hits] == by_score
    assert [part.partition(":")[0] for part in found.degraded] == ["rerank"]
    assert not found.reranked
    (row,) = await asking.usage(days=1)
    assert row.failures == 1


@pytest.mark.parametrize("key", ["relevance_score", "score"])
@pytest.mark.parametrize("wrapped", ["results", "data", None])
async def test_the_forms_that_servers_answer_in_are_read(
    asking: Space, reranker: RerankServer, wrapped: str | None, key: str
) -> None:
    def behave(body: dict[str, Any]) -> tuple[int, bytes]:
        found = [{"index": i, key: -i} for i in range(len(body["documents"]))]
        return 200, json.dumps({wrapped: found} if wrapped else found).encode()

    reranker.behave = behave
    found = await asking.search("office")
    assert (found.reranked, found.degraded) == (True, ())


async def test_a_reranker_that_hangs_costs_the_deadline_thrice_and_is_then_left_alone(
    asking: Space, reranker: RerankServer
) -> None:
    reranker.hang.set()
    for _ in range(3):
        assert (await asking.search("office", deadline_s=1)).degraded[0].startswith("rerank: ")
    start = time.perf_counter()
    found = await asking.search("office", deadline_s=10)
    assert time.perf_counter() - start < 8
    assert "left alone" in found.degraded[0]
    assert len(reranker.requests) == 3


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://host/v1", "http://", "http://u:p@host/v1", "http://h?k=1"]
)
def test_what_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        RerankEndpoint(url, clock=DatabaseClock())
    assert "u:p" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("http://host:1", "http://host:1/v1/rerank"),
        ("http://host:1/v1/", "http://host:1/v1/rerank"),
        ("http://host:1/v2/rerank", "http://host:1/v2/rerank"),
        ("http://host:1/reranking", "http://host:1/reranking"),
    ],
)
def test_an_address_may_name_the_server_or_the_route(given: str, asked: str) -> None:
    assert RerankEndpoint(given, clock=DatabaseClock()).url == asked


async def test_after_closing_nobody_is_asked(reranker: RerankServer) -> None:
    endpoint = RerankEndpoint(reranker.url, clock=DatabaseClock())
    assert await endpoint.scores("a b", ["a", "a b"], ledger=Ledger(), seconds=5) == [1.0, 2.0]
    await endpoint.close()
    with pytest.raises(ModelUnavailable):
        await endpoint.scores("a b", ["a"], ledger=Ledger(), seconds=5)
    assert len(reranker.requests) == 1


async def test_a_server_that_got_no_time_is_not_blamed(reranker: RerankServer) -> None:
    endpoint = RerankEndpoint(reranker.url, clock=DatabaseClock())
    reranker.hang.set()
    for _ in range(4):
        with pytest.raises(ModelUnavailable):
            await endpoint.scores("a b", ["a"], ledger=Ledger(), seconds=0.05)
    reranker.hang.clear()
    assert await endpoint.scores("a b", ["a"], ledger=Ledger(), seconds=5) == [1.0]
    await endpoint.close()
