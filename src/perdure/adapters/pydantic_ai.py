"""A toolset for Pydantic AI: tools to remember with, and what is remembered as instructions of each run.

    agent = Agent("openai:gpt-5", toolsets=[memory_toolset(space)])

Needs `pip install 'perdure[pydantic-ai]'`.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import FunctionToolset, ModelRetry, RunContext

from perdure.adapters.calling import AnySpace
from perdure.adapters.tools import MemoryTools, recalled
from perdure.errors import InvalidInput, NotFound
from perdure.space import Space


def memory_toolset(space: AnySpace, *, recall: bool = True) -> FunctionToolset[Any]:
    """search_memory, save_memory, update_memory and forget_memory; `.filtered(...)` leaves some of them out.

    What a call is refused for is told to the model, which may try again.

    Args:
        space: of `perdure.Memory`, handed in on its event loop, or of `perdure.sync.Memory`.
        recall: what the user's prompt needs is recalled before each request, and added to the instructions.
    """
    tools = MemoryTools(space)

    async def instructions(context: RunContext[Any]) -> str | None:
        prompt = context.prompt if isinstance(context.prompt, str) else _text(context.prompt or ())
        if not prompt.strip():
            return None

        async def work(space: Space) -> str:
            return await recalled(space, prompt)

        return await tools.caller.call(work) or None

    return FunctionToolset(
        [_telling(each) for each in tools.functions], id="perdure", instructions=instructions if recall else None
    )


def _telling(tool: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    """The tool, which tells the model of what it can mend."""

    @functools.wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> str:
        try:
            return await tool(*args, **kwargs)
        except (InvalidInput, NotFound) as error:
            raise ModelRetry(str(error)) from error

    return call


def _text(parts: Any) -> str:
    return "\n".join(part for part in parts if isinstance(part, str))
