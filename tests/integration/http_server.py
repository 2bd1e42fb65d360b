"""The whole server on a loopback port, in the test's own loop: real HTTP, a real database, an embedder of no model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from fastapi import FastAPI

    from perdure.store.embedded import ServerUrls

STARTS_IN_S = 30


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[str]:
    """The address of an application that is being served."""
    from perdure.serve.running import run

    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    serving = asyncio.create_task(run(app, "127.0.0.1", 0, ready.set_result, stop=stop))
    try:
        either: tuple[asyncio.Future[Any], ...] = (ready, serving)
        await asyncio.wait(either, timeout=STARTS_IN_S, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        yield ready.result()
    finally:
        stop.set()
        await serving


@asynccontextmanager
async def served(urls: ServerUrls, embedder: HashedEmbedder | None = None, **settings: object) -> AsyncIterator[str]:
    """The address of a server over this database, without a worker."""
    from perdure.serve.app import create_app

    app = create_app(lambda: open_memory(urls, embedder or HashedEmbedder(), **settings))
    async with listening(app) as address:
        yield address
