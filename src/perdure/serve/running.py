"""Running the server: where it listens, when it is ready, and how it ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI

from perdure.errors import ConfigurationError
from perdure.serve.auth import lacks_keys

HOST: Final = "127.0.0.1"
PORT: Final = 8377
GRACE_S: Final = 2
"""How long requests under way may take once the server is told to stop; all in all it ends within five seconds."""


async def run(
    app: FastAPI, host: str, port: int, ready: Callable[[str], None], *, stop: asyncio.Event | None = None
) -> None:
    """Serves until SIGTERM or SIGINT; `ready` gets the address once requests are answered.

    With `stop` it serves until that is set, and leaves signals alone: for a server within another program.

    Raises:
        ConfigurationError: nothing can listen there. What opening the memory raises.
    """
    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_S,
    )
    server = uvicorn.Server(config)
    with listening:
        async with app.router.lifespan_context(app):
            refused = await lacks_keys(app.state.memory, host)
            if refused is None:
                # The socket listens already: whoever asks from here on is answered as soon as the loop turns.
                ready(_address(host, listening.getsockname()[1]))
                await _serve(server, listening, stop)
    if refused is not None:
        # Not above: what is raised while the doors are open comes out of them as a group of errors.
        raise refused


async def _serve(server: uvicorn.Server, listening: socket.socket, stop: asyncio.Event | None) -> None:
    if stop is None:
        await server.serve(sockets=[listening])
    else:
        await _serve_until(server, listening, stop)


async def _serve_until(server: uvicorn.Server, listening: socket.socket, stop: asyncio.Event) -> None:
    serving = asyncio.create_task(server._serve([listening]))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    stopping.cancel()
    await serving


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family[0], socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(family[4])
        found.listen(512)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(
            f"Nothing can listen on {host}, port {port}: {reason}.", hint="Choose another with --host and --port."
        ) from None
    return found


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
