"""What the server says of each request: a line of its own or of JSON, with numbers and names of ours alone."""

from __future__ import annotations

import json
import logging
import secrets
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perdure.clock import DatabaseClock, wall_clock
from perdure.serve.caller import Caller
from perdure.serve.metrics import Metrics
from perdure.serve.tracing import Tracing

_LOG: Final = logging.getLogger("perdure.requests")
REQUEST_ID: Final = "x-request-id"
MAX_ID: Final = 64
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Requests:
    """Gives each request a name, and says how it ended: in the log, the metrics and the trace."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._clock = DatabaseClock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        named = _request_id(Headers(scope=scope).get(REQUEST_ID))
        status, began = 500, self._clock.monotonic()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = named
            await send(message)

        tracing: Tracing | None = scope["app"].state.tracing
        try:
            if tracing is None:
                await self._app(scope, receive, sending)
            else:
                with tracing.request(_method(scope)) as span:
                    await self._app(scope, receive, sending)
                    span.update_name(f"{_method(scope)} {_route(scope)}")
                    span.set_attribute("http.route", _route(scope))
                    span.set_attribute("http.response.status_code", status)
        finally:
            self._tell(scope, named, status, self._clock.monotonic() - began)

    def _tell(self, scope: Scope, named: str, status: int, seconds: float) -> None:
        method, route = _method(scope), _route(scope)
        metrics: Metrics = scope["app"].state.metrics
        metrics.asked(method, route, status, seconds)
        caller = scope.get("perdure.caller")
        told = {
            "method": method,
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 1),
            "caller": caller.name if isinstance(caller, Caller) else None,
            "request_id": named,
        }
        _LOG.info("%s %s %s", method, route, status, extra={"told": told})


class JsonLines(logging.Formatter):
    """One JSON object a line. Tracebacks are left out: what an error says may quote a memory."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": wall_clock().isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "told", {}),
        }
        return json.dumps(line, ensure_ascii=False)


def json_logs() -> None:
    """Lets every log line of this process be JSON."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonLines())


def _route(scope: Scope) -> str:
    """The pattern of the path: what stands in it may be somebody's name."""
    return getattr(scope.get("route"), "path", None) or "none"


def _method(scope: Scope) -> str:
    """The method, if it is one: a caller may send any word as one, before any key is looked at."""
    method: str = scope["method"]
    return method if method in METHODS else "OTHER"


def _request_id(given: str | None) -> str:
    """The caller's own name of a request, if it can stand in a log; else one of ours."""
    fit = given is not None and 0 < len(given) <= MAX_ID and given.isascii() and given.replace("-", "").isalnum()
    return given if fit and given is not None else secrets.token_hex(8)
