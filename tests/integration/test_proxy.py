"""The proxy, asked by the official client of the protocol, in front of a model's server over real HTTP."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from perdure.store.embedded import ServerUrls
from tests.doubles.chat_server import Broken, ChatServer, Raw, Refuse, Say
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.http_server import served

ALLERGY = "Ada is allergic to peanuts"
ASKED = "Is Ada allergic to peanuts or not?"


@pytest.fixture
async def address(urls: ServerUrls, embedder: HashedEmbedder, chat: ChatServer) -> AsyncIterator[str]:
    """A server that stands in front of the scripted model."""
    async with served(urls, embedder, proxy_url=chat.url, proxy_key="upstream-key", relevance_gate=False) as address:
        yield address


@pytest.fixture
def user() -> str:
    return f"user-{secrets.token_hex(6)}"


@pytest.fixture
async def client(address: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="unused", max_retries=0) as client:
        yield client


async def save(urls: ServerUrls, embedder: HashedEmbedder, user: str, text: str) -> None:
    async with open_memory(urls, embedder) as memory:
        await memory.space(user).save(text, salience=9)


async def pending(urls: ServerUrls, embedder: HashedEmbedder, user: str) -> int:
    async with open_memory(urls, embedder) as memory:
        if await memory.find_space(user) is None:
            return 0
        return (await memory.space(user).stats()).pending


async def read_all(stream: Any) -> list[Any]:
    return [chunk async for chunk in stream]


def ask(text: str) -> Any:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]


async def test_what_is_known_reaches_the_model_and_the_exchange_is_captured(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    await save(urls, embedder, user, ALLERGY)
    chat.then("", Say("She is."))
    answer = await client.chat.completions.with_raw_response.create(model="any", messages=ask(ASKED), user=user)
    assert answer.parse().choices[0].message.content == "She is."
    sent = chat.requests[-1].body
    assert ALLERGY in sent["messages"][-1]["content"]
    assert sent["messages"][-1]["content"].endswith(ASKED)
    assert sent["messages"][0]["content"].startswith("Be brief.\n\n")
    assert answer.headers["X-Perdure-Recalled"] == "1"
    assert answer.headers["X-Perdure-Captured"] == "pending"
    assert await pending(urls, embedder, user) == 1


async def test_a_stream_passes_unchanged_and_is_captured_before_its_end(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    chat.then("", Say("Grüße aus 東京, and more than one piece."))
    stream: Any = await client.chat.completions.create(
        model="any", messages=ask("Hello from Kyoto"), user=user, stream=True
    )
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
    assert text == "Grüße aus 東京, and more than one piece."
    assert await pending(urls, embedder, user) == 1


async def test_all_before_the_last_message_is_the_same_in_the_next_turn(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    await save(urls, embedder, user, ALLERGY)
    chat.then("", Say("She is."), Say("Yes."))
    first: Any = ask(ASKED)
    await client.chat.completions.create(model="any", messages=first, user=user)
    then = [*first, {"role": "assistant", "content": "She is."}, {"role": "user", "content": "Peanuts, you are sure?"}]
    await client.chat.completions.create(model="any", messages=then, user=user)
    one, two = (request.body["messages"] for request in chat.requests[-2:])
    assert one[0] == two[0]


async def test_tools_pass_untouched_and_the_turn_keeps_its_prompt_until_it_ends(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    await save(urls, embedder, user, ALLERGY)
    tool: Any = {"type": "function", "function": {"name": "menu", "parameters": {"type": "object", "properties": {}}}}
    call = {"id": "c1", "type": "function", "function": {"name": "menu", "arguments": "{}"}}
    wanting = Raw(
        b'{"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,'
        b' "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "menu", "arguments": "{}"}}]}}]}'
    )
    chat.then("", wanting, Say("There is soup."))
    messages: list[Any] = ask(ASKED)
    answer = await client.chat.completions.create(model="any", messages=messages, tools=[tool], user=user)
    assert answer.choices[0].message.tool_calls is not None
    assert await pending(urls, embedder, user) == 0
    more = [
        *messages,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "soup"},
    ]
    await client.chat.completions.create(model="any", messages=more, tools=[tool], user=user)
    one, two = (request.body for request in chat.requests[-2:])
    assert one["tools"] == two["tools"] == [tool]
    assert two["messages"][:2] == one["messages"]
    assert two["messages"][2:] == more[2:]
    assert await pending(urls, embedder, user) == 1


async def test_memory_is_off_by_one_header(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    await save(urls, embedder, user, ALLERGY)
    chat.then("", Say("No idea."), Say("She is."))
    headers = {"X-Perdure-Memory": "off"}
    await client.chat.completions.create(model="any", messages=ask(ASKED), user=user, extra_headers=headers)
    assert chat.requests[-1].body["messages"] == ask(ASKED)
    headers = {"X-Perdure-Memory": "read"}
    await client.chat.completions.create(model="any", messages=ask(ASKED), user=user, extra_headers=headers)
    assert ALLERGY in chat.requests[-1].body["messages"][-1]["content"]
    assert await pending(urls, embedder, user) == 0


async def test_a_chat_that_names_nobody_is_refused(client: openai.AsyncOpenAI, chat: ChatServer) -> None:
    with pytest.raises(openai.BadRequestError, match="user"):
        await client.chat.completions.create(model="any", messages=ask(ASKED))
    assert chat.requests == []


async def test_the_header_names_the_space_before_the_field_does(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    await save(urls, embedder, user, ALLERGY)
    chat.then("", Say("She is."))
    headers = {"X-Perdure-Space": user}
    await client.chat.completions.create(model="any", messages=ask(ASKED), user="other", extra_headers=headers)
    sent = chat.requests[-1]
    assert ALLERGY in sent.body["messages"][-1]["content"]
    assert not [name for name in sent.headers if name.lower().startswith("x-perdure")]
    assert sent.headers["authorization"] == "Bearer upstream-key"


async def test_refusals_of_the_model_pass_through_and_nothing_is_captured(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    chat.then("", Refuse(429, "slow down", {"Retry-After": "7"}))
    with pytest.raises(openai.RateLimitError) as refused:
        await client.chat.completions.create(model="any", messages=ask("I moved to Lima"), user=user)
    assert refused.value.response.headers["retry-after"] == "7"
    assert "slow down" in refused.value.response.text
    assert await pending(urls, embedder, user) == 0


async def test_an_answer_that_breaks_off_is_not_captured(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    chat.then("", Broken("half of it"), Broken("half of it"))
    with pytest.raises(openai.InternalServerError):
        await client.chat.completions.create(model="any", messages=ask("I moved to Lima"), user=user)
    stream: Any = await client.chat.completions.create(
        model="any", messages=ask("I moved to Lima"), user=user, stream=True
    )
    with pytest.raises(openai.APIError):
        await read_all(stream)
    assert await pending(urls, embedder, user) == 0


async def test_the_same_request_again_is_one_exchange(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    chat.then("", Say("Nice."), Say("Lovely."))
    for _ in range(2):
        await client.chat.completions.create(model="any", messages=ask("I moved to Lima"), user=user)
    assert await pending(urls, embedder, user) == 1


async def test_two_chats_at_once_keep_their_own_memory(
    client: openai.AsyncOpenAI, chat: ChatServer, urls: ServerUrls, embedder: HashedEmbedder, user: str
) -> None:
    await save(urls, embedder, user, ALLERGY)
    await save(urls, embedder, f"{user}-b", "Ada is allergic to cats")
    chat.then("", *[Say("Yes.")] * 8)
    asked = [
        client.chat.completions.create(model="any", messages=ask(ASKED), user=name) for name in [user, f"{user}-b"] * 4
    ]
    await asyncio.gather(*asked)
    for request in chat.requests:
        seen = request.body["messages"][-1]["content"]
        assert ("peanuts</memory>" in seen) == (request.body["user"] == user)
        assert ("cats</memory>" in seen) == (request.body["user"] == f"{user}-b")


async def test_the_chat_goes_on_when_the_database_is_away(
    urls: ServerUrls, embedder: HashedEmbedder, chat: ChatServer, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perdure.errors import DatabaseUnavailable
    from perdure.store.database import Database

    async def away(*args: object, **kwargs: object) -> None:
        raise DatabaseUnavailable("away")

    async with served(urls, embedder, proxy_url=chat.url) as address:
        chat.then("", Say("Hello."), Say("Still here."))
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0) as client:
            await client.chat.completions.create(model="any", messages=ask("Hi"), user=user)
            monkeypatch.setattr(Database, "across", away)
            monkeypatch.setattr(Database, "in_space", away)
            monkeypatch.setattr("perdure.serve.auth.REMEMBERED_S", -1.0)
            again = ask("Are you there?")
            answer = await client.chat.completions.with_raw_response.create(model="any", messages=again, user=user)
            assert answer.parse().choices[0].message.content == "Still here."
            assert answer.headers["X-Perdure-Captured"] == "waiting"
            with pytest.raises(openai.InternalServerError):
                await client.get("/spaces", cast_to=object)


async def test_the_chat_goes_on_when_memory_fails(
    urls: ServerUrls, embedder: HashedEmbedder, chat: ChatServer, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perdure.errors import DatabaseUnavailable
    from perdure.space import Space

    async def away(*args: object, **kwargs: object) -> None:
        raise DatabaseUnavailable("away")

    async with served(urls, embedder, proxy_url=chat.url) as address:
        monkeypatch.setattr(Space, "context", away)
        monkeypatch.setattr(Space, "capture", away)
        chat.then("", Say("Hello."))
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0) as client:
            answer = await client.chat.completions.with_raw_response.create(model="any", messages=ask("Hi"), user=user)
        assert answer.parse().choices[0].message.content == "Hello."
        assert answer.headers["X-Perdure-Degraded"] == "memory"
        assert answer.headers["X-Perdure-Captured"] == "waiting"
        assert chat.requests[-1].headers["authorization"] == "Bearer k"
