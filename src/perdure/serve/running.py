"""Running the server: where it listens, when it is ready, and how it ends."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI

from perdure.errors import ConfigurationError

HOST: Final = "127.0.0.1"
PORT: Final = 8377
GRACE_S: Final = 2
"""How long requests under way may take once the server is told to stop; all in all it ends within five seconds."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


async def run(app: FastAPI, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT; `ready` gets the address once requests are answered.

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
            # The socket listens already: whoever asks from here on is answered as soon as the loop turns.
            ready(_address(host, listening.getsockname()[1]))
            await server.serve(sockets=[listening])


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
