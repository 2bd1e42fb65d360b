"""One chat request: recall before, the model's answer as it comes, capture after."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx
from fastapi import Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from perdure.clock import wall_clock
from perdure.context import Context
from perdure.serve.proxy.asked import Asked, Use
from perdure.serve.proxy.keeping import Exchange, Keeping
from perdure.serve.proxy.reply import StreamedReply, read_reply
from perdure.serve.proxy.turn import ChatTurn, read_turn, remembering
from perdure.serve.proxy.upstream import Upstream, UpstreamFailed, passed_back
from perdure.space import Space

PATH: Final = "/chat/completions"
RECALLED: Final = "X-Perdure-Recalled"
DEGRADED: Final = "X-Perdure-Degraded"
CAPTURED: Final = "X-Perdure-Captured"


@dataclass(frozen=True, slots=True)
class Chat:
    """What one request needs: where it goes on to, whose memory it uses, and how."""

    upstream: Upstream
    keeping: Keeping
    space: Space | None
    asked: Asked
    own_key: str | None

    async def answer(self, request: Request, body: Mapping[str, Any]) -> Response:
        """The model's answer, with what memory did in the headers."""
        turn = None if self.space is None else read_turn(body.get("messages"))
        context = None
        headers: dict[str, str] = {}
        if turn is not None and self.space is not None and self.asked.use is not Use.OFF:
            context = await self.keeping.recall(self.space, turn)
            headers = _told(context)
            if context is not None:
                changed = remembering(body["messages"], turn.at, context.prefix, context.tail)
                body = {**body, "messages": changed}
        try:
            answer = await self.upstream.send("POST", PATH, request.headers, own_key=self.own_key, json=body)
        except UpstreamFailed as failed:
            return failure(failed, headers)
        exchange = self._exchange(turn, context)
        if body.get("stream") is True and answer.status_code == httpx.codes.OK:
            passed = passed_back(answer) | headers
            return StreamingResponse(self._stream(answer, exchange), answer.status_code, passed)
        try:
            content = await answer.aread()
        except httpx.HTTPError:
            return failure(UpstreamFailed(502, "The model's server broke off its answer."), headers)
        finally:
            await answer.aclose()
        if answer.status_code == httpx.codes.OK and exchange is not None:
            reply = read_reply(_json(content))
            if reply is not None and not reply.calls_tools:
                headers[CAPTURED] = await self.keeping.capture(exchange, reply)
        return Response(content, answer.status_code, passed_back(answer) | headers)

    def _exchange(self, turn: ChatTurn | None, context: Context | None) -> Exchange | None:
        if turn is None or self.space is None or self.asked.use is not Use.ON:
            return None
        return Exchange(self.space, turn, self.asked, context, wall_clock().date().isoformat())

    async def _stream(self, answer: httpx.Response, exchange: Exchange | None) -> AsyncIterator[bytes]:
        """The events as they come. The last waits for the commit, so that who has read all can rely on it."""
        heard = StreamedReply()
        kept = False

        async def keep() -> None:
            nonlocal kept
            if exchange is not None and not kept and not heard.failed and not heard.reply.calls_tools:
                kept = True
                await self.keeping.capture(exchange, heard.reply)

        try:
            async for piece in answer.aiter_bytes():
                for event, ends in heard.events(piece):
                    if ends:
                        await keep()
                    yield event
            left = heard.rest()
            if left:
                yield left
            # Some servers end without saying so.
            await keep()
        except httpx.HTTPError:
            # The answer broke off, and so does this one: a client that sees that asks again.
            yield b'data: {"error": {"message": "The model\'s server broke off its answer.", "type": "upstream"}}\n\n'
        except (asyncio.CancelledError, GeneratorExit):
            # The client went away, mostly because somebody pressed a button: what was said was said.
            if exchange is not None and not kept and heard.reply.text:
                self.keeping.capture_beside(exchange, heard.reply)
            raise
        finally:
            await answer.aclose()


def failure(failed: UpstreamFailed, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A failure in the form in which clients of this protocol expect one."""
    told = {"error": {"message": failed.message, "type": "upstream", "param": None, "code": None}}
    return JSONResponse(told, failed.status, dict(headers or {}))


def _told(context: Context | None) -> dict[str, str]:
    if context is None:
        return {RECALLED: "0", DEGRADED: "memory"}
    told = {RECALLED: str(len(context.recall.memories))}
    return told | {DEGRADED: ", ".join(context.degraded)} if context.degraded else told


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None
