"""The routes of the proxy, under the paths that clients of OpenAI's protocol ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from perdure.errors import ConfigurationError, InvalidInput, PerdureError
from perdure.serve.caller import Caller, Forbidden, caller_of, memory_of
from perdure.serve.proxy.asked import Asked, Use, read_asked
from perdure.serve.proxy.chat import Chat, failure
from perdure.serve.proxy.upstream import Upstream, UpstreamFailed, passed_back
from perdure.serve.rest.arguments import read_object
from perdure.space import Space
from perdure.store.keys import read_token
from perdure.wire import Scope

_STATUS: Final = {"invalid_input": 400, "forbidden": 403, "not_found": 404, "configuration": 404}


def proxy_router() -> APIRouter:
    """Chat completions and models."""
    router = APIRouter(tags=["proxy"])

    @router.post(
        "/v1/chat/completions",
        summary="The model's answer, with memory: recall before, capture after.",
        operation_id="chat_completions",
        include_in_schema=False,
    )
    async def chat_completions(request: Request) -> Response:
        caller = caller_of(request)
        try:
            upstream = _upstream(request)
            asked = read_asked(request.headers)
            body = await read_object(request)
            space = _space(request, caller, asked, body)
        except PerdureError as error:
            return _refused(error)
        chat = Chat(upstream, request.app.state.keeping, space, asked, _own_key(request, caller))
        return await chat.answer(request, body)

    @router.get(
        "/v1/models", summary="The models of the server behind.", operation_id="models", include_in_schema=False
    )
    async def models(request: Request) -> Response:
        caller = caller_of(request)
        try:
            upstream = _upstream(request)
        except PerdureError as error:
            return _refused(error)
        try:
            answer = await upstream.send("GET", "/models", request.headers, own_key=_own_key(request, caller))
            try:
                return Response(await answer.aread(), answer.status_code, passed_back(answer))
            finally:
                await answer.aclose()
        except UpstreamFailed as failed:
            return failure(failed)
        except httpx.HTTPError:
            return failure(UpstreamFailed(502, "The model's server broke off its answer."))

    return router


def _upstream(request: Request) -> Upstream:
    upstream: Upstream | None = request.app.state.upstream
    if upstream is None:
        raise ConfigurationError(
            "This server stands in front of no model.", hint="Set PERDURE_PROXY_URL and start it again."
        )
    return upstream


def _space(request: Request, caller: Caller, asked: Asked, body: Mapping[str, Any]) -> Space | None:
    """Whose memory this chat uses; None where it uses none."""
    if asked.use is Use.OFF:
        return None
    caller.require(Scope.WRITE if asked.use is Use.ON else Scope.READ)
    memory = memory_of(request)
    user = body.get("user")
    only = next(iter(caller.spaces)) if caller.spaces is not None and len(caller.spaces) == 1 else None
    name = asked.space or only or (user if isinstance(user, str) and user else None) or memory.settings.proxy_space
    if name is None:
        limit = "the header, a key of one space, or the field `user` has to name the space; off uses no memory"
        raise InvalidInput("X-Perdure-Space", None, limit)
    caller.require_space(name)
    return memory.space(name, audience=asked.audience)


def _own_key(request: Request, caller: Caller) -> str | None:
    """The client's `Authorization` where it is for the model's server, and no key of ours."""
    given = request.headers.get("authorization")
    if given is None or (caller.key_id is not None and "x-api-key" not in request.headers):
        return None
    return None if read_token(given.partition(" ")[2].strip()) else given


def _refused(error: PerdureError) -> JSONResponse:
    kind = "permission_error" if isinstance(error, Forbidden) else "invalid_request_error"
    field = error.field if isinstance(error, InvalidInput) else None
    told = {"error": {"message": str(error), "type": kind, "param": field, "code": error.code}}
    return JSONResponse(told, _STATUS.get(error.code, 400))
