"""Whether the process lives, and whether it can serve: two questions, asked apart."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from perdure.errors import DatabaseUnavailable, PerdureError
from perdure.serve.caller import memory_of
from perdure.serve.problems import problem
from perdure.serve.rest.openapi import problems
from perdure.store.spaces import find_space

READY_S = 2.0
"""Longer, and the database counts as away."""
OPEN: dict[str, Any] = {"security": []}
"""No key is needed, says the description."""


def health_router() -> APIRouter:
    """`/livez` and `/readyz`; neither needs a key, and neither tells more than yes or no."""
    router = APIRouter(tags=["health"])

    @router.get("/livez", summary="Whether the process lives.", operation_id="livez", openapi_extra=OPEN)
    async def livez() -> dict[str, str]:
        return {"status": "alive"}

    @router.get(
        "/readyz", summary="Whether requests can be served: the database answers.", responses={**problems(503)},
        operation_id="readyz", openapi_extra=OPEN,
    )  # fmt: skip
    async def readyz(request: Request) -> Any:
        try:
            async with asyncio.timeout(READY_S):
                await memory_of(request).resources.database.across(lambda tx: find_space(tx, ""), timeout_s=READY_S)
        except (PerdureError, TimeoutError):
            return problem(DatabaseUnavailable("The database does not answer.", hint="The log says since when."))
        return JSONResponse({"status": "ready"})

    for path, asked in (("/livez", livez), ("/readyz", readyz)):
        # Tools that look after processes often ask for the head alone.
        router.add_api_route(path, asked, methods=["HEAD"], include_in_schema=False)
    return router
