"""What concerns the whole installation: which spaces there are, and what the workers are at."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from perdure.errors import InvalidInput
from perdure.ingest import Receipt
from perdure.serve.caller import caller_of, memory_of
from perdure.serve.paths import name_in_path
from perdure.serve.rest.arguments import CURSOR, read_page, unknown_field
from perdure.serve.rest.openapi import answered
from perdure.store.spaces import SpaceRow
from perdure.store.workers import WorkerStatus
from perdure.wire import Scope, to_wire, written

PAGE = 100
MOST = 1000
_QUERIED = ("limit", CURSOR)


def spaces_router() -> APIRouter:
    """Routes for whoever runs the server."""
    router = APIRouter(tags=["server"])

    @router.get(
        "/v1/spaces", summary="Spaces by name; a key that is limited sees its own.", responses=answered("spaces"),
        operation_id="spaces",
    )  # fmt: skip
    async def spaces(request: Request, limit: int = PAGE, cursor: str | None = None) -> dict[str, Any]:
        caller = caller_of(request)
        caller.require(Scope.READ)
        for name in request.query_params:
            if name not in _QUERIED:
                raise unknown_field(name, _QUERIED)
        if not 1 <= limit <= MOST:
            raise InvalidInput("limit", limit, f"it has to be between 1 and {MOST}")
        key = read_page(request)
        if key is not None and not (len(key) == 1 and isinstance(key[0], str)):
            raise InvalidInput(CURSOR, cursor, "it has to be what a page before gave as `next`")
        found = await memory_of(request).spaces()
        seen = [row for row in found if caller.spaces is None or row.name in caller.spaces]
        left = [row for row in seen if key is None or row.name > key[0]]
        page = tuple(left[:limit])
        following = written([page[-1].name]) if len(left) > limit else None
        return {"items": to_wire(tuple[SpaceRow, ...], page), "next": following}

    @router.delete(
        "/v1/spaces/{space}", summary="Erase a space for good, for every audience.", responses=answered("forget_space"),
        operation_id="forget_space",
    )  # fmt: skip
    async def forget_space(request: Request) -> Any:
        name = name_in_path(request, "space")
        caller = caller_of(request)
        caller.require(Scope.ADMIN)
        caller.require_space(name)
        return to_wire(Receipt, await memory_of(request).forget_space(name))

    @router.get(
        "/v1/workers", summary="Which workers there are, and what waits over all spaces.",
        responses=answered("worker_status"), operation_id="worker_status",
    )  # fmt: skip
    async def worker_status(request: Request) -> Any:
        caller = caller_of(request)
        caller.require(Scope.ADMIN)
        caller.require_everywhere()
        return to_wire(WorkerStatus, await memory_of(request).worker_status())

    return router
