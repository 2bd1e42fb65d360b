"""Sessions and tools, with the real SDK and its client, before a server that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, Runner, Session, SQLiteSession, set_tracing_disabled
from agents.memory import SessionSettings
from openai import AsyncOpenAI

from perdure.adapters.openai_agents import PerdureSession, memory_tools
from tests.adapters.conftest import alone
from tests.adapters.models import calls_tool, says
from tests.doubles.chat_server import ChatServer, serving

if TYPE_CHECKING:
    from perdure import Memory, Space, sync

ITEMS: list[Any] = [
    {"role": "user", "content": "hi"},
    {"id": "r1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA" + "sk-abc123" * 20},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": "\\u0000"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "a\0b \ud83d"},
]


@pytest.fixture(autouse=True)
def no_traces() -> None:
    set_tracing_disabled(True)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving("openai") as server:
        yield server


def agent_of(server: ChatServer, space: Space | sync.Space) -> Agent[Any]:
    client = AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)
    model = OpenAIChatCompletionsModel(server.model, client)
    return Agent(name="assistant", instructions="Be kind.", model=model, tools=list(memory_tools(space)))


async def test_it_is_a_session_and_does_what_the_one_of_the_sdk_does(space: Space) -> None:
    ours, theirs = PerdureSession(space, "s"), SQLiteSession("s")
    assert isinstance(ours, Session)
    for session in (ours, theirs):
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items(ITEMS[:1])
        await session.add_items(ITEMS[1:])
    for limit in (None, 0, 1, 3, 100):
        assert await ours.get_items(limit) == await theirs.get_items(limit)
    assert await ours.pop_item() == await theirs.pop_item() == ITEMS[-1]
    assert await ours.get_items() == await theirs.get_items() == ITEMS[:-1]
    await ours.clear_session()
    assert await ours.get_items() == []


async def test_settings_say_how_much_is_read(space: Space) -> None:
    session = PerdureSession(space, "s", session_settings=SessionSettings(limit=2))
    await session.add_items(ITEMS)
    assert await session.get_items() == ITEMS[-2:]
    assert await session.get_items(1) == ITEMS[-1:]


async def test_a_conversation_goes_on_in_a_session_that_is_opened_anew(server: ChatServer, space: Space) -> None:
    agent = agent_of(server, space)
    server.then("", says("Hello Ada."), says("You said hi."))
    await Runner.run(agent, "hi, I am Ada", session=PerdureSession(space, "chat"))
    result = await Runner.run(agent, "what did I say?", session=PerdureSession(space, "chat"))
    assert result.final_output == "You said hi."
    sent = [(message["role"], message["content"]) for message in server.requests[-1].body["messages"]]
    assert sent == [
        ("system", "Be kind."),
        ("user", "hi, I am Ada"),
        ("assistant", "Hello Ada."),
        ("user", "what did I say?"),
    ]


async def test_an_agent_saves_finds_changes_and_forgets(server: ChatServer, space: Space) -> None:
    agent = agent_of(server, space)
    server.then("", calls_tool("save_memory", text="Ada is allergic to peanuts", salience=9), says("Noted."))
    await Runner.run(agent, "I am allergic to peanuts")
    (kept,) = await space.list()
    assert (kept.summary, kept.salience) == ("Ada is allergic to peanuts", 9)

    server.then("", calls_tool("search_memory", query="peanuts", limit=3), says("You are allergic."))
    await Runner.run(agent, "can I eat peanuts?")
    shown = server.requests[-1].body["messages"][-1]
    assert shown["role"] == "tool"
    assert "<memories>" in shown["content"]
    assert "Ada is allergic to peanuts" in shown["content"]

    server.then("", calls_tool("update_memory", memory_id=str(kept.id), text="Ada tolerates peanuts"), says("Good."))
    await Runner.run(agent, "no longer")
    assert (await space.get(kept.id)).summary == "Ada tolerates peanuts"

    preview = calls_tool("forget_memory", memory_ids=[str(kept.id)], confirm=False)
    server.then("", preview, says("Shall I?"))
    await Runner.run(agent, "forget it")
    assert "Nothing is erased yet" in server.requests[-1].body["messages"][-1]["content"]
    assert len(await space.list()) == 1
    server.then("", calls_tool("forget_memory", memory_ids=[str(kept.id)], confirm=True), says("Done."))
    await Runner.run(agent, "yes")
    assert await space.list() == ()


async def test_a_refused_call_is_told_to_the_model_and_the_run_goes_on(server: ChatServer, space: Space) -> None:
    server.then("", calls_tool("update_memory", memory_id="nine", text="x"), says("I could not."))
    result = await Runner.run(agent_of(server, space), "change it")
    assert result.final_output == "I could not."
    assert "positive whole number" in server.requests[-1].body["messages"][-1]["content"]


async def test_the_model_is_shown_each_tool_with_its_arguments(server: ChatServer, space: Space) -> None:
    server.then("", says("Hello."))
    await Runner.run(agent_of(server, space), "hi")
    tools = {tool["function"]["name"]: tool["function"] for tool in server.requests[-1].body["tools"]}
    assert list(tools) == ["search_memory", "save_memory", "update_memory", "forget_memory"]
    for tool in tools.values():
        assert tool["description"]
        assert all(field["description"] for field in tool["parameters"]["properties"].values())
    assert len(json.dumps(list(tools.values()))) < 4000


def test_a_run_without_an_event_loop_does_the_same(server: ChatServer, blocking: sync.Space) -> None:
    agent = agent_of(server, blocking)
    server.then("", calls_tool("save_memory", text="Ada owns a boat", salience=5), says("Noted."))
    session = PerdureSession(blocking, "chat")
    result = alone(lambda: Runner.run_sync(agent, "I own a boat", session=session))
    assert result.final_output == "Noted."
    assert [memory.summary for memory in blocking.list()] == ["Ada owns a boat"]


async def test_a_session_of_another_audience_is_empty(memory: Memory, space: Space) -> None:
    await PerdureSession(space, "s").add_items(ITEMS)
    assert await PerdureSession(memory.space(space.name, audience="dm"), "s").get_items() == []
