"""How much a caller may ask for: requests over time, and bytes in one of them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from math import ceil
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perdure.clock import Clock
from perdure.errors import PerdureError
from perdure.serve.problems import problem

MOST_BUCKETS: Final = 10_000


class TooManyRequests(PerdureError):
    """The key has asked for more than it may; `retry_after_s` says when it may again (HTTP 429)."""

    code = "too_many_requests"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            "This key has made more requests than it may.", hint=f"Wait {retry_after_s} s. PERDURE_SERVE_RATE is why."
        )
        self.retry_after_s = retry_after_s


class TooLarge(PerdureError):
    """The body of the request is longer than the server reads (HTTP 413)."""

    code = "too_large"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"The body of the request has more than {most:,} bytes.", hint="PERDURE_SERVE_BODY_BYTES is the limit."
        )


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class Buckets:
    """A token bucket for each key: `burst` requests at once, and `per_minute` in the long run; None is no limit.

    They are counted in this process alone, and a key that has long been away begins with a full bucket anyway.
    """

    def __init__(self, clock: Clock, per_minute: int | None, burst: int) -> None:
        self._clock = clock
        self._per_second = None if per_minute is None else per_minute / 60
        self._burst = float(burst)
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str) -> None:
        """Counts one request. Raises TooManyRequests."""
        if self._per_second is None:
            return
        now = self._clock.monotonic()
        bucket = self._buckets.pop(key, None) or _Bucket(self._burst, now)
        self._buckets[key] = bucket
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.filled_at) * self._per_second)
        bucket.filled_at = now
        if bucket.tokens < 1:
            raise TooManyRequests(max(1, ceil((1 - bucket.tokens) / self._per_second)))
        bucket.tokens -= 1


class BodyLimit:
    """Reads no more of a body than the setting says, whether its length was told beforehand or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most: int = scope["app"].state.memory.settings.serve_body_bytes
        told = dict(scope["headers"]).get(b"content-length", b"")
        if told.isdigit() and int(told) > most:
            await _refuse(most, scope, receive, send)
            return
        await _Counted(most, receive, send).serve(self._app, scope)


class _Counted:
    """One request whose body is counted as it comes in."""

    def __init__(self, most: int, receive: Receive, send: Send) -> None:
        self._most = most
        self._receive = receive
        self._send = send
        self._read = 0
        self._answering = False
        self._refused = False

    async def serve(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self._next, self._answer)
        except TooLarge:
            if not self._refused:
                raise
        if self._refused and not self._answering:
            await _refuse(self._most, scope, self._receive, self._send)

    async def _next(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > self._most:
            self._refused = True
            raise TooLarge(self._most)
        return message

    async def _answer(self, message: Message) -> None:
        # What the application makes of a body that broke off is not the answer, unless that has begun before.
        if self._refused and not self._answering:
            return
        self._answering = True
        await self._send(message)


async def _refuse(most: int, scope: Scope, receive: Receive, send: Send) -> None:
    answer = problem(TooLarge(most))
    # The rest of the body is not read, so nothing else can come over this connection.
    answer.headers["Connection"] = "close"
    await answer(scope, receive, send)
