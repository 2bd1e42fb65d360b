"""Who comes in: every request passes here, and one that isn't let in reaches nothing.

As long as no key has ever been made, the server listens on loopback only and lets in whoever is on this machine; pages
of other sites that a browser shows there are kept out. Once there has been a key, every request needs one.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from perdure.acting import Actor, Door, acting
from perdure.errors import ConfigurationError, DatabaseUnavailable, PerdureError
from perdure.memory import Memory
from perdure.serve.caller import Caller, Forbidden, Unauthenticated
from perdure.serve.limits import Buckets
from perdure.serve.problems import problem
from perdure.store.database import Transaction
from perdure.store.keys import Admission, admit, any_keys, read_token

T = TypeVar("T")

OPEN_PATHS: Final = frozenset({"/livez", "/readyz", "/docs", "/openapi.json"})
"""Paths that tell nothing of anybody: whether the server is up, and what it could be asked."""
REMEMBERED_S: Final = 5.0
"""How long a key that was good counts without another look: so soon one that is revoked stops working."""
MOST_REMEMBERED: Final = 1024
STALE_S: Final = 900.0
"""How long a chat goes on with what was known of its key before the database went away: a chat survives its memory."""
LOOK_S: Final = 2.0
"""How long a chat waits for the database to say whose its key is."""
PASSED_ON: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""Headers by which a request says that another machine had made it."""
EXPOSED: Final = ("Retry-After", "Mcp-Session-Id", "WWW-Authenticate")


@dataclass(frozen=True, slots=True)
class _Remembered:
    caller: Caller
    until: float
    stale_until: float


class Doorkeeper:
    """Knows which keys are good: looks each one up, and remembers it for a few seconds."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._clock = memory.resources.database.clock
        self._remembered: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._needs_keys = False
        self._looked_at: float | None = None
        self._away_until = 0.0
        self.buckets = Buckets(self._clock, memory.settings.serve_rate, memory.settings.serve_burst)

    async def needs_keys(self, *, chats: bool = False) -> bool:
        """Whether there has ever been a key; that doesn't change back.

        `chats`: who asks would rather go on with what was known than wait for a database that is away.
        """
        now = self._clock.monotonic()
        fresh = self._looked_at is not None and now - self._looked_at < REMEMBERED_S
        if not self._needs_keys and not fresh:
            try:
                self._needs_keys = await self._ask(any_keys, chats=chats)
            except DatabaseUnavailable:
                if not chats or self._looked_at is None:
                    raise
            else:
                self._looked_at = now
        return self._needs_keys

    async def caller(self, token: str, *, chats: bool = False) -> Caller | None:
        """Whose key this is; None if it is none, or no longer. `chats` as above."""
        if read_token(token) is None:
            return None
        digest, now = hashlib.sha256(token.encode()).digest(), self._clock.monotonic()
        known = self._remembered.get(digest)
        if known is not None and now < known.until:
            return known.caller

        async def look(tx: Transaction) -> Admission | None:
            return await admit(tx, token)

        try:
            found = await self._ask(look, chats=chats)
        except DatabaseUnavailable:
            if chats and known is not None and now < known.stale_until:
                return known.caller
            raise
        if found is None:
            self._remembered.pop(digest, None)
            return None
        key = found.key
        caller = Caller(
            key.name, str(key.id), frozenset(key.scopes), None if key.spaces is None else frozenset(key.spaces)
        )
        until, stale = (now + min(seconds, found.seconds) for seconds in (REMEMBERED_S, STALE_S))
        self._remembered[digest] = _Remembered(caller, until, stale)
        self._remembered.move_to_end(digest)
        if len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return caller

    async def _ask(self, look: Callable[[Transaction], Awaitable[T]], *, chats: bool) -> T:
        """Asks the database; a chat waits for it shortly, and after a vain try for a while not at all."""
        if chats and self._clock.monotonic() < self._away_until:
            raise DatabaseUnavailable("The database did not answer a moment ago.", hint="Repeat the request.")
        try:
            database = self._memory.resources.database
            return await (database.across(look, timeout_s=LOOK_S) if chats else database.across(look))
        except DatabaseUnavailable:
            self._away_until = self._clock.monotonic() + REMEMBERED_S
            raise


class Guard:
    """Lets in who may come in, as a `Caller` in the scope, and says who acts through which door."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._doorkeeper: tuple[Memory, Doorkeeper] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or (scope["type"] == "http" and scope["path"] in OPEN_PATHS):
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            caller = await self._let_in(scope)
        except PerdureError as error:
            await problem(error)(scope, receive, send)
            return
        scope["perdure.caller"] = caller
        with acting(Actor(caller.name, door_of(scope["path"]))):
            await self._app(scope, receive, send)

    async def _let_in(self, scope: Scope) -> Caller:
        memory: Memory = scope["app"].state.memory
        if self._doorkeeper is None or self._doorkeeper[0] is not memory:
            self._doorkeeper = memory, Doorkeeper(memory)
        keeper, headers = self._doorkeeper[1], Headers(scope=scope)
        chats = door_of(scope["path"]) is Door.PROXY
        if not await keeper.needs_keys(chats=chats):
            require_local(scope, headers, origins_of(memory.settings.serve_origins))
            return Caller()
        token = token_of(headers)
        caller = None if token is None else await keeper.caller(token, chats=chats)
        if caller is None:
            missing = "needs a key" if token is None else "came with a key that doesn't hold"
            raise Unauthenticated(f"This request {missing}.", hint="Send one as `Authorization: Bearer KEY`.")
        keeper.buckets.take(caller.key_id or caller.name)
        return caller


class CrossOrigin:
    """Lets pages of the origins that the settings name call from a browser; of no others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._allowing: dict[tuple[str, ...], ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        origins = origins_of(scope["app"].state.memory.settings.serve_origins)
        if not origins:
            await self._app(scope, receive, send)
            return
        if origins not in self._allowing:
            self._allowing[origins] = CORSMiddleware(
                self._app, allow_origins=origins, allow_methods=["*"], allow_headers=["*"], expose_headers=EXPOSED
            )
        await self._allowing[origins](scope, receive, send)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


async def lacks_keys(memory: Memory, host: str) -> ConfigurationError | None:
    """Why the server may not listen there: others can reach this address, and there has never been a key."""
    if is_loopback(host) or await memory.resources.database.across(any_keys):
        return None
    return ConfigurationError(
        f"Others can reach {host}, and there is no key that would keep anybody out.",
        hint="Make one with `perdure keys create NAME`, then start the server again; or leave out --host.",
    )


def require_local(scope: Mapping[str, object], headers: Headers, origins: tuple[str, ...]) -> None:
    """Lets in this machine's own programs alone: for a server without keys. Raises Forbidden.

    A page of another site can send requests here from a browser on this machine: one under a name that it has made
    point here says so in `Host`, any other in `Origin`. A reverse proxy hands on whom it serves.
    """
    client = scope.get("client")
    host = _host_of(headers.get("host", ""))
    origin = headers.get("origin")
    own = f"http://{headers.get('host', '')}"
    if isinstance(client, tuple | list) and client and not is_loopback(str(client[0])):
        raise _without_key("comes from another machine")
    if host is None or not is_loopback(host):
        raise _without_key("asks for another name than that of this machine")
    if origin is not None and origin != own and origin not in origins:
        raise _without_key("comes from a page of another site")
    if any(name in headers for name in PASSED_ON):
        raise _without_key("was passed on for another machine")


def token_of(headers: Headers) -> str | None:
    """The key that a request brings: `X-API-Key`, or `Authorization: Bearer`."""
    given = headers.get("x-api-key")
    if given is not None:
        return given.strip()
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


def door_of(path: str) -> Door:
    """Which door a path belongs to."""
    if path == "/mcp" or path.startswith("/mcp/"):
        return Door.MCP
    return Door.PROXY if path in {"/v1/chat/completions", "/v1/models"} else Door.REST


def origins_of(setting: str | None) -> tuple[str, ...]:
    """The origins that a setting names."""
    return tuple(filter(None, (origin.strip().rstrip("/") for origin in (setting or "").split(","))))


def _host_of(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _without_key(why: str) -> Forbidden:
    return Forbidden(
        f"This server has no keys, so it answers this machine alone, and the request {why}.",
        hint="Make a key with `perdure keys create NAME`; then whoever sends it is let in.",
    )
