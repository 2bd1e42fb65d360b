"""MCP over streamable HTTP, asked by the official client."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from perdure.rules.tokens import sampled_tokens
from perdure.serve.mcp.tools import OFFERED
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.http_server import served

PEANUTS = "Ada is allergic to peanuts"
NAMES = [
    "search_memory",
    "save_memory",
    "update_memory",
    "forget_memory",
    "create_long_term_memory",
    "update_long_term_memory",
    "consolidate_memory",
    "consult_deep_thinker",
]


@pytest.fixture(scope="module")
async def address(urls: ServerUrls) -> AsyncIterator[str]:
    async with served(urls, HashedEmbedder(), relevance_gate=False) as address:
        yield address


@pytest.fixture
def name() -> str:
    return f"space-{secrets.token_hex(6)}"


@asynccontextmanager
async def connected(address: str, path: str = "", **headers: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{address}/mcp{path}", http_client=http)) as client,
    ):
        yield client


def words(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


def test_eight_tools_cost_less_than_2500_tokens() -> None:
    assert [offered.tool.name for offered in OFFERED] == NAMES
    shown = json.dumps([offered.tool.model_dump(by_alias=True, exclude_none=True, mode="json") for offered in OFFERED])
    # The mission's measure, a quarter of the characters. The estimate of prompts counts each mark of JSON as a token.
    assert sampled_tokens(len(shown)) <= 2500


async def test_the_tools_say_what_they_do_to_the_memory(address: str, name: str) -> None:
    async with connected(address, f"/{name}") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == NAMES
    reading = {each for each, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
    assert reading == {"search_memory", "consult_deep_thinker"}
    destroying = {each for each, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint}
    assert destroying == {"forget_memory", "update_long_term_memory"}
    for tool in tools.values():
        required = set(tool.input_schema.get("required", []))
        for field, schema in tool.input_schema["properties"].items():
            assert field in required or "null" in schema["type"] or tool.name.endswith("long_term_memory")


async def test_a_memory_is_saved_found_changed_and_forgotten(address: str, name: str) -> None:
    async with connected(address, f"/{name}") as client:
        saved = await client.call_tool(
            "save_memory", {"text": PEANUTS, "salience": 9, "tags": None, "memory_type": None, "date": "2026-03-01"}
        )
        assert not saved.is_error, words(saved)
        (memory_id,) = saved.structured_content["ids"]
        found = await client.call_tool("search_memory", {"query": "peanuts", "limit": 3, "start_date": None})
        assert PEANUTS in words(found)
        assert 'trust="user"' in words(found)
        assert found.structured_content["memories"][0]["date"] == "2026-03-01"
        await client.call_tool("update_memory", {"memory_id": memory_id, "text": f"{PEANUTS} and cats"})
        shown = await client.read_resource(f"perdure://memories/{memory_id}")
        assert json.loads(shown.contents[0].text)["summary"] == f"{PEANUTS} and cats"  # type: ignore[union-attr]
        asked = await client.call_tool("forget_memory", {"memory_ids": [memory_id]})
        assert asked.structured_content == {"would_erase": [memory_id], "erased": []}
        assert "confirm" in words(asked)
        gone = await client.call_tool("forget_memory", {"memory_ids": [int(memory_id)], "confirm": True})
        assert gone.structured_content["erased"] == [memory_id]
        assert words(await client.call_tool("search_memory", {"query": "peanuts"})).startswith("Nothing is remembered")


async def test_a_fact_is_taught_and_corrected_and_its_statuses_reach_the_model(address: str, name: str) -> None:
    async with connected(address, f"/{name}", **{"X-Perdure-User": "Ada"}) as client:
        taught = await client.call_tool(
            "create_long_term_memory",
            {"memory_content": "{user} is vegan", "memory_scope": "target_user", "target_user": "Ada"},
        )
        assert taught.structured_content["status"] == "saved", words(taught)
        changed = await client.call_tool(
            "update_long_term_memory",
            {"memory_id": taught.structured_content["id"], "memory_content": "{user} eats fish", "target_user": "Ada"},
        )
        assert changed.structured_content["status"] == "updated", words(changed)
        wrong = await client.call_tool("create_long_term_memory", {"memory_scope": "target_user"})
        assert wrong.is_error
        assert wrong.structured_content["status"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search_memory", {}, "query"),
        ("search_memory", {"query": ""}, "query"),
        ("search_memory", {"query": "x", "colour": "red"}, "colour"),
        ("save_memory", {"text": "x", "salience": 0}, "salience"),
        ("update_memory", {"memory_id": "x"}, "id"),
        ("update_memory", {"memory_id": 999_999, "text": "x"}, "There is no space"),
        ("forget_memory", {"memory_ids": []}, "memory_ids"),
        ("consult_deep_thinker", {"question": "Why?"}, "space"),
        ("drop_tables", {}, "search_memory"),
    ],
)
async def test_a_bad_call_is_told_in_words_and_writes_nothing(
    address: str, name: str, tool: str, arguments: dict[str, Any], told: str
) -> None:
    async with connected(address, f"/{name}") as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert told in words(result)


async def test_the_identity_card_and_the_prompt_are_there(address: str, name: str) -> None:
    async with connected(address, f"/{name}") as client:
        await client.call_tool("save_memory", {"text": PEANUTS, "salience": 9})
        assert [str(each.uri) for each in (await client.list_resources()).resources] == ["perdure://identity"]
        card = await client.read_resource("perdure://identity")
        assert json.loads(card.contents[0].text)["profile"]["people"] == []  # type: ignore[union-attr]
        (prompt,) = (await client.list_prompts()).prompts
        got = await client.get_prompt(prompt.name, {"message": "Is Ada allergic to peanuts?"})
        text = got.messages[0].content.text  # type: ignore[union-attr]
        assert PEANUTS in text
        assert text.endswith("Is Ada allergic to peanuts?")
        with pytest.raises(MCPError, match="perdure://identity"):
            await client.read_resource("perdure://passwords")


async def test_each_request_has_its_own_space(address: str, name: str) -> None:
    async def use(space: str, text: str) -> str:
        async with connected(address, **{"X-Perdure-Space": space}) as client:
            await client.call_tool("save_memory", {"text": text})
            return words(await client.call_tool("search_memory", {"query": "canary"}))

    texts = [f"canary number {number}" for number in range(6)]
    found = await asyncio.gather(*(use(f"{name}-{number}", text) for number, text in enumerate(texts)))
    for number, seen in enumerate(found):
        assert [text for text in texts if text in seen] == [texts[number]]


async def test_a_request_that_names_no_space_is_told_how(address: str) -> None:
    async with connected(address) as client:
        result = await client.call_tool("search_memory", {"query": "peanuts"})
    assert result.is_error
    assert "/mcp/NAME" in words(result)


async def test_an_audience_hears_its_own(address: str, name: str, urls: ServerUrls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder) as memory:
        await memory.space(name, audience="family").save("The surprise is on Sunday")
    async with connected(address, f"/{name}") as client:
        assert "surprise" not in words(await client.call_tool("search_memory", {"query": "surprise"})).replace(
            "about that", ""
        )
    async with connected(address, f"/{name}", **{"X-Perdure-Audience": "family"}) as client:
        assert "Sunday" in words(await client.call_tool("search_memory", {"query": "surprise"}))
