"""Names in paths: a space may be called `telegram/42`, which a path has as `telegram%2F42`."""

from __future__ import annotations

from urllib.parse import unquote

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send


class WholeNames:
    """Keeps the parts of a path apart as they were sent, where a server has put slashes of names among them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw and b"%" in raw:
            parts = [unquote(part).replace("%", "%25").replace("/", "%2F") for part in raw.decode("ascii").split("/")]
            # In place: what the router finds out is for the layers around this one, too.
            scope["path"] = "/".join(parts)
        await self._app(scope, receive, send)


def name_in_path(request: Request, name: str) -> str:
    """A part of the path as it was meant."""
    part: str = request.path_params[name]
    return unquote(part) if "%" in request.scope.get("raw_path", b"").decode("ascii", "replace") else part
