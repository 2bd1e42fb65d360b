"""The application: one memory, opened at its start, behind all doors of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from starlette.routing import Route as AsgiRoute

import perdure
from perdure.memory import Memory
from perdure.serve import problems
from perdure.serve.auth import CrossOrigin, Guard
from perdure.serve.limits import BodyLimit
from perdure.serve.logs import Requests
from perdure.serve.mcp import McpDoor
from perdure.serve.mcp.http import PATH
from perdure.serve.metrics import Metrics, counting, metrics_router
from perdure.serve.paths import WholeNames
from perdure.serve.prompts import Prompts
from perdure.serve.proxy import Keeping, Upstream, proxy_router
from perdure.serve.rest import openapi
from perdure.serve.rest.health import health_router
from perdure.serve.rest.spaces import spaces_router
from perdure.serve.rest.verbs import space_router
from perdure.serve.tracing import tracing

CLOSE_S = 2.0
"""How long exchanges that are being committed may take when the server stops."""


def create_app(open_memory: Callable[[], Memory]) -> FastAPI:
    """The application for an ASGI server, which opens the memory when it starts and closes it when it stops.

    Args:
        open_memory: makes the memory, not opened yet; its settings are those of the server.
    """

    mcp = McpDoor()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.memory = memory = await stack.enter_async_context(open_memory())
            app.state.tracing = stack.enter_context(tracing(memory.settings.otel_endpoint))
            await stack.enter_async_context(counting(app.state.metrics))
            clock = memory.resources.database.clock
            app.state.prompts = Prompts(clock)
            app.state.keeping = keeping = Keeping(clock)
            stack.push_async_callback(keeping.close, CLOSE_S)
            app.state.upstream = upstream = Upstream.from_settings(memory.settings)
            if upstream is not None:
                stack.push_async_callback(upstream.close)
            await stack.enter_async_context(mcp.manager.run())
            yield

    app = FastAPI(
        title="Perdure",
        version=perdure.__version__,
        summary="Long-term memory for AI assistants.",
        description="Every verb of a space, under the name that it has in the library. Errors are problems (RFC 9457).",
        lifespan=lifespan,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.metrics, app.state.tracing = Metrics(), None
    problems.install(app)
    app.include_router(health_router())
    app.include_router(metrics_router())
    app.include_router(spaces_router())
    app.include_router(space_router())
    app.include_router(proxy_router())
    for path in (PATH, f"{PATH}/{{space}}"):
        app.router.routes.append(AsgiRoute(path, mcp, include_in_schema=False))
    openapi.install(app)
    # From the inside out: nobody's body is read before it is known who they are.
    for layer in (problems.Unexpected, WholeNames, BodyLimit, Guard, CrossOrigin, Requests):
        app.add_middleware(layer)
    return app
