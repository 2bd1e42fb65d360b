"""MCP over streamable HTTP: many clients, each request with a caller and a space of its own, and no sessions."""

from __future__ import annotations

from urllib.parse import unquote

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request as HttpRequest
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from perdure.acting import Scope
from perdure.errors import InvalidInput
from perdure.memory import Memory
from perdure.serve.caller import Caller, caller_of
from perdure.serve.mcp.calls import Turn
from perdure.serve.mcp.server import Request, build_server

PATH = "/mcp"
SPACE, AUDIENCE, USER, PERSONA = "x-perdure-space", "x-perdure-audience", "x-perdure-user", "x-perdure-persona"
USER_NAME = "User"
PERSONA_NAME = "Assistant"


class McpDoor:
    """The application below `/mcp` and `/mcp/{space}`; serves while `manager.run()` is entered."""

    def __init__(self) -> None:
        # Who may come in, from which hosts and pages, with how much, the guard of all doors has decided already.
        self.manager = StreamableHTTPSessionManager(
            build_server(turn_of),
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=2**40,
        )

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        await self.manager.handle_request(scope, receive, send)


async def turn_of(request: Request, scope: Scope) -> Turn:
    """Whose memory a request is about: the path names it, a header, or a key that is limited to one space.

    Raises:
        Unauthenticated, Forbidden. InvalidInput: nothing names a space.
    """
    http = request.request
    assert isinstance(http, HttpRequest)
    caller = caller_of(http)
    caller.require(scope)
    name = _space(http, caller)
    caller.require_space(name)
    memory: Memory = http.app.state.memory
    row = await memory.find_space(name)
    return Turn(
        memory.space(name, audience=http.headers.get(AUDIENCE)),
        row.time_zone if row is not None else "UTC",
        http.headers.get(USER) or USER_NAME,
        http.headers.get(PERSONA) or PERSONA_NAME,
    )


def _space(http: HttpRequest, caller: Caller) -> str:
    in_path = http.scope["path"].removeprefix(PATH).strip("/")
    if in_path:
        return unquote(in_path)
    only = next(iter(caller.spaces)) if caller.spaces is not None and len(caller.spaces) == 1 else None
    name = http.headers.get(SPACE) or only
    if name is None:
        raise InvalidInput("space", None, f"the address has to name it ({PATH}/NAME), or the header X-Perdure-Space")
    return name
