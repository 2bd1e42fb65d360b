"""Running the server: where it listens, when it is ready, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import uvicorn
from fastapi import FastAPI

from perdure.errors import ConfigurationError
from perdure.memory import Memory
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
    stopping = stop or _told_by_signals()
    with listening:
        async with app.router.lifespan_context(app):
            refused = await lacks_keys(app.state.memory, host)
            if refused is None:
                # The socket listens already: whoever asks from here on is answered as soon as the loop turns.
                ready(_address(host, listening.getsockname()[1]))
                memory: Memory = app.state.memory
                await asyncio.gather(
                    _serve_until(stopping, _Server(config), listening), _stop_worker_at(stopping, memory)
                )
    if refused is not None:
        # Not above: what is raised while the doors are open comes out of them as a group of errors.
        raise refused


class _Server(uvicorn.Server):
    """Leaves signals to `run`: raised again once the last request is answered, they would end the process before the
    memory is closed.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _told_by_signals() -> asyncio.Event:
    """Set at SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        # Where the platform's loop knows no signal handlers, Ctrl-C ends the command as it ends any other.
        with suppress(NotImplementedError):
            loop.add_signal_handler(each, stop.set)
    return stop


async def _serve_until(stop: asyncio.Event, server: uvicorn.Server, listening: socket.socket) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    stopping.cancel()
    stop.set()
    await serving


async def _stop_worker_at(stop: asyncio.Event, memory: Memory) -> None:
    """The worker stops while the last requests are answered: one after the other they would take too long."""
    await stop.wait()
    await memory.stop_worker()


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
