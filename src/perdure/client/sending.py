"""What both clients have in common of sending: options, retries, and pages."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, Final

import httpx

from perdure import door
from perdure.client.asking import Asked, ServerUnavailable
from perdure.errors import ConfigurationError
from perdure.remote import address_parts, bearer, usable_key
from perdure.space import Space

CONNECT_S: Final = 10.0
PAGE: Final = 1000
"""How many of a list are asked for at a time."""
PAGED: Final = frozenset({"list", "facts", "documents", "cognition_runs", "failed"})


def options(url: str, key: str | None) -> dict[str, Any]:
    if address_parts(url) is None:
        raise ConfigurationError("The address of the server is no http or https URL.", hint="http://127.0.0.1:8377")
    headers = bearer(usable_key(key, "key"))
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": httpx.Timeout(None, connect=CONNECT_S)}


def request_of(http: httpx.AsyncClient | httpx.Client, asked: Asked) -> httpx.Request:
    return http.build_request(
        asked.method,
        asked.path,
        params=asked.query,
        json=asked.json,
        content=asked.content,
        headers=asked.headers,
        timeout=httpx.Timeout(asked.timeout_s, connect=min(CONNECT_S, asked.timeout_s)),
    )


def may_again(asked: Asked, error: httpx.TransportError) -> bool:
    """Whether a request that nobody answered may be sent again; one that never went out always may."""
    return not isinstance(error, httpx.TimeoutException) and (asked.again or isinstance(error, httpx.ConnectError))


def away(error: httpx.TransportError) -> ServerUnavailable:
    late = isinstance(error, httpx.TimeoutException)
    return ServerUnavailable(
        "The server did not answer in time." if late else "The server could not be reached.",
        hint="Repeating the call with the same operation_id is safe.",
    )


def wanted(asked: Asked, values: dict[str, Any]) -> int:
    """How many of a list the caller wants at most: as many as the verb gives by itself."""
    given = values.get("limit")
    if given is not None:
        return door.require_number(given, "limit", 1, 10_000)
    default = inspect.signature(getattr(Space, asked.verb)).parameters.get("limit")
    return 100_000 if default is None else int(default.default)


def page_of(asked: Asked, left: int) -> Asked:
    return replace(asked, query={**asked.query, "limit": min(PAGE, left)})


def following(asked: Asked, cursor: str) -> Asked:
    return replace(asked, query={**asked.query, "cursor": cursor})
