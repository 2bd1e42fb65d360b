"""HTTP to a chat server: one request, and what can go wrong with it, told apart."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from perdure.clock import Clock
from perdure.errors import ModelUnavailable
from perdure.llm.dialects import Peek
from perdure.llm.refusals import Refusal, read_refusal
from perdure.llm.wire import MAX_BYTES, Broken, Completion, read_document, read_stream
from perdure.remote import bearer, retry_after_s

if TYPE_CHECKING:
    import httpx

_OK = 200
_TIMED_OUT = 408
_ERROR_BYTES = 65_536


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
        self._client: httpx.AsyncClient | None = None
        self._closed = False

    async def ask(self, body: dict[str, Any], into: Completion) -> None:
        """Send `body` and gather the completion; raises Unreachable, Dropped, Refused or Broken.

        Bounded by nothing but the caller's own time-out, except between two pieces of a stream.
        """
        import httpx  # noqa: PLC0415

        answering = False
        try:
            async with self._http().stream("POST", f"{self._base}/chat/completions", json=body) as response:
                answering = True
                if response.status_code != _OK:
                    raw = await _whole(response, _ERROR_BYTES)
                    after = retry_after_s(response.headers.get("retry-after"))
                    raise Refused(read_refusal(response.status_code, raw), after)
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    await read_stream(response.aiter_bytes(), self._clock, self._stall_s, into)
                else:
                    read_document(await _whole(response, MAX_BYTES), into)
        except (
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.PoolTimeout,
            httpx.UnsupportedProtocol,
            httpx.InvalidURL,
        ) as error:
            raise Unreachable(f"could not be reached ({type(error).__name__})") from None
        except httpx.HTTPError as error:
            if answering:
                raise Broken(f"broke off ({type(error).__name__})", into.text) from None
            raise Dropped(f"closed the connection without an answer ({type(error).__name__})") from None

    async def peek(self, url: str, timeout_s: float) -> Peek:
        """GET `url`; a server that takes longer counts as busy. Raises Unreachable or Dropped."""
        import httpx  # noqa: PLC0415

        try:
            response = await self._http().get(url, timeout=timeout_s)
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            return Peek(_TIMED_OUT, None)
        except (httpx.ConnectError, httpx.TimeoutException, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise Unreachable(f"could not be reached ({type(error).__name__})") from None
        except httpx.HTTPError as error:
            raise Dropped(f"closed the connection without an answer ({type(error).__name__})") from None
        try:
            return Peek(response.status_code, response.json())
        except (ValueError, RecursionError):  # no JSON, which tells as much about a server
            return Peek(response.status_code, None)

    async def close(self) -> None:
        self._closed = True
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(RuntimeError):  # its event loop is gone, and its connections with it
                await client.aclose()

    def _http(self) -> httpx.AsyncClient:
        import httpx  # noqa: PLC0415

        if self._closed:
            raise ModelUnavailable("The language models are closed.", hint="Open the Memory again.")
        if self._client is None:
            timeout = httpx.Timeout(None, connect=self._connect_s)
            self._client = httpx.AsyncClient(headers=bearer(self._key), timeout=timeout)
        return self._client


async def _whole(response: httpx.Response, most: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            break
    return bytes(body[:most])
