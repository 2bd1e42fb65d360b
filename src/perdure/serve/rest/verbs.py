"""The routes of a space: each reads its arguments, calls the verb of the same name, and writes what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from perdure.cognition import Identity
from perdure.context import Context
from perdure.document_types import Document
from perdure.errors import InvalidInput
from perdure.fact_types import FactStage, ListedFact
from perdure.serve.caller import space_for
from perdure.serve.paths import name_in_path
from perdure.serve.prompts import Prompts
from perdure.serve.rest.arguments import AUDIENCE, CURSOR, call_of, last_id, page_end, read_arguments, read_page
from perdure.serve.rest.openapi import described
from perdure.space import Space
from perdure.space_memories import MAX_PAGE
from perdure.types import StoredMemory
from perdure.wire import ROUTES, IdentityCard, Prompt, Route, cursor_of, signature_of, to_wire, written

PREFIX: Final = "/v1/spaces/{space}"
PAGE: Final = 50
BY_ID: Final = {"failed": "after", "cognition_runs": "before"}
"""Lists that go by id, and what their verbs call the last one of the page before."""
MOST_FACTS: Final = 10_000
"""How many facts are read for one page of them: there is room for few."""
_MADE: Final = frozenset({"stored", "merged", "superseded", "added", "replaced", "saved"})


def space_router() -> APIRouter:
    """All verbs of a space."""
    router = APIRouter()
    for route in ROUTES:
        router.add_api_route(
            f"{PREFIX}{route.path}",
            _endpoint(route),
            methods=[route.method],
            operation_id=route.verb,
            **described(route),
        )
    return router


def _endpoint(route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        space = space_for(request, name_in_path(request, "space"), route.scope, request.query_params.get(AUDIENCE))
        values = await read_arguments(route, request)
        if route.paged:
            return JSONResponse(await _page(route, request, space, values))
        prompts: Prompts = request.app.state.prompts
        if route.verb == "capture":
            values["recall"] = prompts.shown(space, values.get("recall"))
        many, named = call_of(route.verb, values)
        result = await getattr(space, route.verb)(*many, **named)
        return _written(route, space, prompts, result)

    answer.__name__ = route.verb
    return answer


def _written(route: Route, space: Space, prompts: Prompts, result: Any) -> Response:
    if isinstance(result, Context):
        return JSONResponse(to_wire(Prompt, Prompt.of(result, prompts.keep(space, result))))
    if isinstance(result, Identity):
        return JSONResponse(to_wire(IdentityCard, IdentityCard.of(result)))
    returns = signature_of(route.verb).returns
    if returns is type(None):
        return Response(status_code=204)
    body = to_wire(returns, result)
    if isinstance(result, int):
        body = {"count": result}
    return JSONResponse(body, _status(route, result))


def _status(route: Route, result: object) -> int:
    status = str(getattr(result, "status", ""))
    if route.created and status == "pending":
        return 202
    return 201 if route.created and status in _MADE else 200


# -- pages -------------------------------------------------------------------------------------------------------------


async def _page(route: Route, request: Request, space: Space, values: dict[str, Any]) -> dict[str, Any]:
    """A page of a list, and where the next begins: a cursor over what the list is sorted by, so that it stays put."""
    limit = values.pop("limit", None)
    limit = PAGE if limit is None else limit
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput("limit", limit, f"it has to be between 1 and {MAX_PAGE}")
    key = read_page(request)
    if route.verb == "list":
        end = None if key is None else page_end(key, request.query_params.get(CURSOR))
        memories = await space.list(limit=limit, before=end, **values)
        following = cursor_of(memories[-1]) if len(memories) == limit else None
        return {"items": to_wire(tuple[StoredMemory, ...], memories), "next": following}
    if route.verb in BY_ID:
        if key is not None:
            values[BY_ID[route.verb]] = last_id(key, request.query_params.get(CURSOR))
        rows = await getattr(space, route.verb)(limit=limit, **values)
        following = written([rows[-1].id]) if len(rows) == limit else None
        return {"items": to_wire(signature_of(route.verb).returns, rows), "next": following}
    if route.verb == "facts":
        values["limit"] = MOST_FACTS
    every = sorted(await getattr(space, route.verb)(**values), key=_sorted_by)
    left = [item for item in every if key is None or _after(item, key, request.query_params.get(CURSOR))]
    items = tuple(left[:limit])
    following = written(_sorted_by(items[-1])) if len(left) > limit else None
    return {"items": to_wire(signature_of(route.verb).returns, items), "next": following}


def _sorted_by(item: object) -> list[Any]:
    """What a list is sorted by, in rising order."""
    match item:
        case ListedFact():
            return [item.stage is FactStage.ARCHIVED, -item.fact.created_at.timestamp(), str(item.fact.id)]
        case Document():
            return [item.name, item.id]
    raise AssertionError(f"no page of {type(item).__name__}")


def _after(item: object, key: list[Any], cursor: object) -> bool:
    try:
        return _sorted_by(item) > key
    except TypeError:
        raise InvalidInput(CURSOR, cursor, "it has to be what a page before gave as `next`") from None
