"""MCP over stdin and stdout: one client, one space, and a memory that is opened beside the first answers."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass, field

from mcp.server.stdio import stdio_server

from perdure.acting import Actor, Door, Scope, acting
from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.serve.mcp.calls import Turn
from perdure.serve.mcp.server import Request, build_server


@dataclass(slots=True)
class _Opening:
    """The memory on its way: clients give a server a few seconds to say hello, and a first start may take longer."""

    memory: Memory
    space: str
    audience: str | None
    user: str
    persona: str
    opened: asyncio.Task[Memory] = field(init=False)

    def begin(self) -> None:
        self.opened = asyncio.create_task(self._open())

    async def _open(self) -> Memory:
        return await self.memory

    async def turn(self, request: Request, scope: Scope) -> Turn:
        """Waits until the memory is open. Raises what opening it raised."""
        memory = await asyncio.shield(self.opened)
        row = await memory.find_space(self.space)
        zone = row.time_zone if row is not None else "UTC"
        return Turn(memory.space(self.space, audience=self.audience), zone, self.user, self.persona)

    async def close(self) -> None:
        with suppress(PerdureError, asyncio.CancelledError):
            await self.opened
        await self.memory.close()


async def serve_stdio(memory: Memory, space: str, *, audience: str | None, user: str, persona: str, login: str) -> None:
    """Serves the client at the other end of stdin until it leaves, or SIGTERM.

    Args:
        memory: not opened yet. space, audience: whose memory.
        user, persona: how the user and the assistant are called in facts. login: who acts, for the audit log.

    Raises:
        What opening the memory raises, once the client has gone.
    """
    opening = _Opening(memory, space, audience, user, persona)
    server = build_server(opening.turn)
    with acting(Actor(login, Door.MCP)):
        opening.begin()
        try:
            async with stdio_server() as (read, write):
                serving = asyncio.create_task(server.run(read, write, server.create_initialization_options()))
                loop = asyncio.get_running_loop()
                for each in (signal.SIGINT, signal.SIGTERM):
                    with suppress(NotImplementedError):
                        loop.add_signal_handler(each, serving.cancel)
                with suppress(asyncio.CancelledError):
                    await serving
        finally:
            await opening.close()
