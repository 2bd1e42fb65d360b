"""For the OpenAI Agents SDK: sessions that stay, and tools to remember with.

    agent = Agent(name="assistant", tools=memory_tools(space))
    result = await Runner.run(agent, "Hello", session=PerdureSession(space, "chat-7"))

Needs `pip install 'perdure[openai-agents]'`.
"""

from __future__ import annotations

from typing import Any, cast

from agents import FunctionTool, RunContextWrapper, TResponseInputItem, default_tool_error_function, function_tool
from agents.memory import SessionSettings

from perdure.adapters.calling import AnySpace, Caller
from perdure.adapters.tools import MemoryTools
from perdure.errors import InvalidInput, NotFound
from perdure.space import Space
from perdure.space_sessions import SpaceSessions


class PerdureSession:
    """The SDK's `Session` in a space: its items come back in order, as they were.

    A session keeps the conversation; it makes no memories of it. Hand exchanges to `capture`, or give the agent tools.

    Args:
        space: of `perdure.Memory`, handed in on its event loop, or of `perdure.sync.Memory`.
        session_id: which conversation, 1..200 bytes.
        session_settings: how many items are read where nobody says it.
    """

    def __init__(self, space: AnySpace, session_id: str, *, session_settings: SessionSettings | None = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._caller = Caller(space)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last `limit` items, or all of them, oldest first."""
        default = self.session_settings.limit if self.session_settings else None
        most = default if limit is None else limit

        async def work(space: Space) -> list[TResponseInputItem]:
            return await SpaceSessions.of(space).items(self.session_id, limit=None if most is None else max(0, most))

        return await self._caller.call(work)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items to the end: all of them, or none."""

        async def work(space: Space) -> None:
            await SpaceSessions.of(space).add(self.session_id, cast("list[dict[str, object]]", items))

        await self._caller.call(work)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item away and returns it."""

        async def work(space: Space) -> TResponseInputItem | None:
            return cast("TResponseInputItem | None", await SpaceSessions.of(space).pop(self.session_id))

        return await self._caller.call(work)

    async def clear_session(self) -> None:
        """Deletes all items of this session, for good."""

        async def work(space: Space) -> None:
            await SpaceSessions.of(space).clear(self.session_id)

        await self._caller.call(work)


def memory_tools(space: AnySpace) -> list[FunctionTool]:
    """Tools for an agent: search_memory, save_memory, update_memory, forget_memory.

    What a call is refused for is told to the model, which may try again. Leave out those an agent should not have.
    """
    return [function_tool(each, failure_error_function=_refusal) for each in MemoryTools(space).functions]


def _refusal(context: RunContextWrapper[Any], error: Exception) -> str:
    return str(error) if isinstance(error, InvalidInput | NotFound) else default_tool_error_function(context, error)
