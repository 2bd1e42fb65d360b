"""The toolset, in agents of the real Pydantic AI whose model is a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from perdure.adapters.pydantic_ai import memory_toolset
from tests.adapters.conftest import alone

if TYPE_CHECKING:
    from perdure import Space, sync


class Scripted:
    """Calls tools in turn, then says what the last of them answered; notes what it was told."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = list(calls)
        self.instructions: list[str | None] = []
        self.refusals: list[str] = []
        self.model = FunctionModel(self._answer)

    def _answer(self, messages: Sequence[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.instructions.append(info.instructions)
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart) and last.outcome == "retried":
            self.refusals.append(str(last.content))
        if self.calls:
            name, arguments = self.calls.pop(0)
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart(str(last.content) if isinstance(last, ToolReturnPart) else "Hello.")])


async def test_an_agent_saves_finds_changes_and_forgets(space: Space) -> None:
    async def run(name: str, **arguments: Any) -> str:
        agent = Agent(Scripted((name, arguments)).model, toolsets=[memory_toolset(space)])
        return (await agent.run("go on")).output

    await run("save_memory", text="Ada is allergic to peanuts", salience=9)
    (kept,) = await space.list()
    assert (kept.summary, kept.salience) == ("Ada is allergic to peanuts", 9)
    found = await run("search_memory", query="peanuts")
    assert "<memories>" in found
    assert "Ada is allergic to peanuts" in found
    await run("update_memory", memory_id=str(kept.id), text="Ada tolerates peanuts")
    assert (await space.get(kept.id)).summary == "Ada tolerates peanuts"
    assert "Nothing is erased yet" in await run("forget_memory", memory_ids=[str(kept.id)])
    assert len(await space.list()) == 1
    await run("forget_memory", memory_ids=[str(kept.id)], confirm=True)
    assert await space.list() == ()
    assert await run("search_memory", query="peanuts") == "Nothing is remembered about that."


async def test_what_the_prompt_needs_is_told_as_instructions_and_on_hi_nothing(space: Space) -> None:
    await space.save("Ada is allergic to peanuts", salience=9)
    scripted = Scripted()
    agent = Agent(scripted.model, instructions="Be kind.", toolsets=[memory_toolset(space)])
    await agent.run("Am I allergic to peanuts?")
    await agent.run("hi")
    told, untold = scripted.instructions
    assert told is not None
    assert told.startswith("Be kind.")
    assert "Ada is allergic to peanuts" in told
    assert untold == "Be kind."


async def test_the_instructions_of_a_run_stay_as_they_are_whatever_it_saves(space: Space) -> None:
    await space.save("Ada is allergic to peanuts", salience=9)
    scripted = Scripted(("save_memory", {"text": "Ada is allergic to peanuts and cashews", "salience": 9}))
    agent = Agent(scripted.model, toolsets=[memory_toolset(space)])
    await agent.run("Am I allergic to peanuts?")
    first, second = scripted.instructions
    assert first == second
    await agent.run("Am I allergic to peanuts?")
    assert "cashews" in (scripted.instructions[-1] or "")


async def test_without_recall_there_are_only_the_tools(space: Space) -> None:
    await space.save("Ada is allergic to peanuts", salience=9)
    scripted = Scripted()
    await Agent(scripted.model, toolsets=[memory_toolset(space, recall=False)]).run("Am I allergic to peanuts?")
    assert scripted.instructions == [None]


async def test_a_refused_call_is_told_to_the_model_which_tries_again(space: Space) -> None:
    stored = await space.save("Ada owns a boat")
    (memory_id,) = stored.ids  # type: ignore[union-attr]
    scripted = Scripted(
        ("update_memory", {"memory_id": "nine", "text": "x"}),
        ("update_memory", {"memory_id": str(memory_id), "text": "Ada owns two boats"}),
    )
    await Agent(scripted.model, toolsets=[memory_toolset(space)]).run("two boats")
    assert "positive whole number" in scripted.refusals[0]
    assert (await space.get(memory_id)).summary == "Ada owns two boats"


async def test_the_model_is_shown_each_tool_with_its_arguments(space: Space) -> None:
    model = TestModel(call_tools=["search_memory"])
    await Agent(model, toolsets=[memory_toolset(space)]).run("hi")
    assert model.last_model_request_parameters is not None
    tools = {tool.name: tool for tool in model.last_model_request_parameters.function_tools}
    assert list(tools) == ["search_memory", "save_memory", "update_memory", "forget_memory"]
    for tool in tools.values():
        assert tool.description
        assert all(field["description"] for field in tool.parameters_json_schema["properties"].values())


def test_without_an_event_loop_it_does_the_same(blocking: sync.Space) -> None:
    scripted = Scripted(("save_memory", {"text": "Ada owns a boat"}))
    agent = Agent(scripted.model, toolsets=[memory_toolset(blocking)])
    alone(lambda: agent.run_sync("I own a boat"))
    assert [memory.summary for memory in blocking.list()] == ["Ada owns a boat"]
