"""HTTP to a chat server: one request, and what can go wrong with it, told apart.

By aiohttp, which parses in C: a request takes a quarter of the processor time that httpx needs for one, and a drain
makes half a dozen for each exchange.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from perdure.clock import Clock
from perdure.errors import ModelUnavailable
from perdure.llm.dialects import Peek
from perdure.llm.refusals import Refusal, read_refusal
from perdure.llm.wire import MAX_BYTES, Broken, Completion, read_document, read_stream
from perdure.remote import bearer, retry_after_s

if TYPE_CHECKING:
    import ssl

    import aiohttp

_OK: Final = 200
_TIMED_OUT: Final = 408
_ERROR_BYTES: Final = 65_536
_IDLE_S: Final = 4.0
"""How long a connection is kept for the next request: llama.cpp closes its end after 5 s."""
_JSON: Final = {"Content-Type": "application/json"}


class Unreachable(Exception):
    """No connection came about."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Dropped(Unreachable):
    """The server took the request and closed the connection without answering."""


class Refused(Exception):
    """The server answered with another status than 200."""

    def __init__(self, refusal: Refusal, retry_after: float | None) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal
        self.retry_after = retry_after


class Connection:
    """Connections to one server, opened at first use. Times in seconds."""

    def __init__(self, base: str, key: str | None, clock: Clock, connect_s: float, stall_s: float) -> None:
        self._base = base
        self._key = key
        self._clock = clock
        self._connect_s, self._stall_s = connect_s, stall_s
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def ask(self, body: dict[str, Any], into: Completion) -> None:
        """Send `body` and gather the completion; raises Unreachable, Dropped, Refused or Broken.

        Bounded by nothing but the caller's own time-out, except between two pieces of a stream.
        """
        import aiohttp  # noqa: PLC0415

        answering = False
        sent = json.dumps(body, ensure_ascii=False).encode()
        try:
            async with self._http().post(
                f"{self._base}/chat/completions", data=sent, headers=_JSON, allow_redirects=False
            ) as response:
                answering = True
                if response.status != _OK:
                    raw = await _whole(response, _ERROR_BYTES)
                    after = retry_after_s(response.headers.get("retry-after"))
                    raise Refused(read_refusal(response.status, raw), after)
                if response.content_type == "text/event-stream":
                    await read_stream(response.content.iter_any(), self._clock, self._stall_s, into)
                else:
                    read_document(await _whole(response, MAX_BYTES), into)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            raise Unreachable(f"could not be reached ({type(error).__name__})") from None
        except aiohttp.ClientError as error:
            if answering:
                raise Broken(f"broke off ({type(error).__name__})", into.text) from None
            raise Dropped(f"closed the connection without an answer ({type(error).__name__})") from None

    async def peek(self, url: str, timeout_s: float) -> Peek:
        """GET `url`; a server that takes longer counts as busy. Raises Unreachable or Dropped."""
        import aiohttp  # noqa: PLC0415

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=timeout_s, sock_read=timeout_s)
        try:
            async with self._http().get(url, timeout=timeout, allow_redirects=False) as response:
                status, raw = response.status, await _whole(response, MAX_BYTES)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            raise Unreachable(f"could not be reached ({type(error).__name__})") from None
        except aiohttp.SocketTimeoutError:
            return Peek(_TIMED_OUT, None)
        except aiohttp.ClientError as error:
            raise Dropped(f"closed the connection without an answer ({type(error).__name__})") from None
        try:
            return Peek(status, json.loads(raw))
        except (ValueError, RecursionError):  # no JSON, which tells as much about a server
            return Peek(status, None)

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            session, self._session = self._session, None
            with suppress(RuntimeError):  # its event loop is gone, and its connections with it
                await session.close()

    def _http(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415

        if self._closed:
            raise ModelUnavailable("The language models are closed.", hint="Open the Memory again.")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(keepalive_timeout=_IDLE_S, ssl=_trusted(self._base)),
                headers=bearer(self._key),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=_proxy(self._base),
            )
        return self._session


def _trusted(base: str) -> ssl.SSLContext | bool:
    """Whom to trust: the authorities that come with httpx, as everywhere in Perdure."""
    if urlsplit(base).scheme != "https":
        return True
    import httpx  # noqa: PLC0415

    return httpx.create_ssl_context()


def _proxy(base: str) -> str | None:
    """The proxy that the environment names for a server. Asked once: aiohttp itself would ask for every request."""
    parts = urlsplit(base)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


async def _whole(response: aiohttp.ClientResponse, most: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most:
            break
    return bytes(body[:most])
