"""Errors as HTTP tells them: problem details (RFC 9457), one form for whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from perdure.errors import InvalidInput, PerdureError, without_words
from perdure.wire import Scope

_LOG: Final = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
RETRY_S: Final = 2
"""Seconds after which what was out of reach may be asked again."""
URN: Final = "urn:perdure:error:"

STATUS: Final = {
    "invalid_input": 422,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "limit_exceeded": 409,
    "space_refused": 403,
    "privacy_restricted": 403,
    "too_many_requests": 429,
    "too_large": 413,
    "database_unavailable": 503,
    "server_start_failed": 503,
    "embedding_unavailable": 503,
    "model_unavailable": 503,
    "source_unavailable": 503,
    "embedding_failed": 502,
    "model_failed": 502,
    "configuration": 500,
    "family_mismatch": 500,
}
"""Statuses by an error's code; whatever else is a fault of the server."""

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "description": "What went wrong, and what to do next (RFC 9457).",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "description": f"`{URN}` and the code."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened, in a sentence or two."},
        "code": {"type": "string", "description": "For machines; it does not change."},
        "hint": {"type": ["string", "null"], "description": "What to do next."},
        "field": {"type": "string", "description": "Of bad input: the field that was refused."},
        "value": {"type": "string", "description": "A short form of its value."},
        "limit": {"type": "string", "description": "What it has to be."},
    },
}


class Told(JSONResponse):
    """A problem. It may quote what no text can hold, half a surrogate pair in the name of a field."""

    media_type = MEDIA_TYPE

    def render(self, content: object) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def problem(error: PerdureError, status: int | None = None) -> JSONResponse:
    """An error of ours as an answer."""
    found = status or STATUS.get(error.code, 500)
    body: dict[str, Any] = {
        "type": f"{URN}{error.code}",
        "title": HTTPStatus(found).phrase,
        "status": found,
        "detail": error.message,
        "code": error.code,
        "hint": error.hint,
    }
    if isinstance(error, InvalidInput):
        body |= {"field": error.field, "value": error.value, "limit": error.limit}
    headers: dict[str, str] = {}
    if found == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_S)
    if found == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = f'Bearer realm="perdure", scope="{" ".join(Scope)}"'
    retry_after = getattr(error, "retry_after_s", None)
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return Told(body, found, headers)


def install(app: FastAPI) -> None:
    """Makes the application answer every error as a problem."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, PerdureError)
        return problem(error)

    async def of_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        told = PerdureError(f"{request.method} {request.url.path}: {error.detail}.", hint="/openapi.json lists all.")
        told.code = {404: "no_such_route", 405: "no_such_method"}.get(error.status_code, "http")
        answer = problem(told, error.status_code)
        answer.headers.update(error.headers or {})
        return answer

    async def of_arguments(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"][1:]) or str(first["loc"][0])
        return problem(InvalidInput(field, first.get("input"), first["msg"]))

    app.add_exception_handler(PerdureError, ours)
    app.add_exception_handler(RequestValidationError, of_arguments)
    app.add_exception_handler(HTTPException, of_http)


class Unexpected:
    """Answers what nobody has foreseen. Its words are told nowhere: they may quote a memory."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if scope["type"] != "http":
                raise
            # The pattern of the path: what stands in it may be a name.
            route = getattr(scope.get("route"), "path", "?")
            _LOG.error("%s %s failed: %s", scope["method"], route, without_words(error))
            if began:
                raise BrokenAnswer from None
            told = PerdureError("An error of the server.", hint="Its log says where.")
            told.code = "internal"
            await problem(told, 500)(scope, receive, send)
        except asyncio.CancelledError:
            if began or scope["type"] != "http":
                raise
            # The server ends, and this took longer than it waits.
            told = PerdureError("The server is stopping.", hint="Repeat it with the same operation id.")
            told.code = "stopping"
            await problem(told, 503)(scope, receive, send)


class BrokenAnswer(Exception):
    """An answer that had begun can't be finished; the connection is cut, so that nobody takes it for whole."""
