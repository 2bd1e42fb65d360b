"""A toolset for Pydantic AI: tools to remember with, and what is remembered as instructions of each run.

    agent = Agent("openai:gpt-5", toolsets=[memory_toolset(space)])

Needs `pip install 'perdure[pydantic-ai]'`.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic_ai import FunctionToolset, ModelRetry, RunContext

from perdure.adapters.calling import AnySpace, Caller
from perdure.adapters.tools import MemoryTools, recalled
from perdure.errors import InvalidInput, NotFound

RUNS_AT_ONCE: Final = 256
"""Runs of one toolset whose instructions are kept; one that is forgotten recalls again."""


def memory_toolset(space: AnySpace, *, recall: bool = True) -> FunctionToolset[Any]:
    """search_memory, save_memory, update_memory and forget_memory; `.filtered(...)` leaves some of them out.

    What a call is refused for is told to the model, which may try again.

    Args:
        space: of `perdure.Memory`, handed in on its event loop, or of `perdure.sync.Memory`.
        recall: what the user's prompt needs is recalled once for a run, and added to its instructions.
    """
    tools = MemoryTools(space)
    return FunctionToolset(
        [_telling(each) for each in tools.functions],
        id="perdure",
        instructions=_Recalling(tools.caller).instructions if recall else None,
    )


class _Recalling:
    """Recalls once for each run: its requests begin with the same words, which the server of the model keeps."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._runs: OrderedDict[str, str] = OrderedDict()

    async def instructions(self, context: RunContext[Any]) -> str | None:
        prompt = context.prompt if isinstance(context.prompt, str) else _text(context.prompt or ())
        run = context.run_id or ""
        if run not in self._runs and prompt.strip():
            found = await self._caller.call(lambda space: recalled(space, prompt))
            if not run:
                return found or None
            self._runs[run] = found
            while len(self._runs) > RUNS_AT_ONCE:
                self._runs.popitem(last=False)
        return self._runs.get(run) or None


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
