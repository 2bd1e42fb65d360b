"""A chat completion as it comes over the wire: one JSON document, or a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

from perdure.clock import Clock

MAX_BYTES: Final = 8_000_000
"""More than any answer we ask for; what runs on beyond is not read."""

_END: Final = "[DONE]"


class Broken(Exception):
    """What came is no whole completion. `raw` is as much of it as was read."""

    def __init__(self, reason: str, raw: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw


class Stalled(Broken):
    """A stream stopped in the middle without ending."""


@dataclass(slots=True)
class Completion:
    """The fields of a completion that we read, from one document or gathered from a stream."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def text(self) -> str:
        return "".join(self.content)

    def add(self, document: Any) -> None:
        """Take in a completion or a piece of one; raises TypeError, KeyError or AttributeError for another shape."""
        usage = document.get("usage")
        if isinstance(usage, dict):
            self.prompt_tokens = _count(usage.get("prompt_tokens"), self.prompt_tokens)
            self.completion_tokens = _count(usage.get("completion_tokens"), self.completion_tokens)
        for choice in document["choices"][:1]:
            message = choice.get("message") or choice.get("delta") or {}
            self._content(message.get("content"))
            thought = message.get("reasoning_content") or message.get("reasoning")
            if isinstance(thought, str):
                self.reasoning.append(thought)
            if isinstance(message.get("refusal"), str):
                self.refusal += message["refusal"]
            if choice.get("finish_reason"):
                self.finish_reason = str(choice["finish_reason"])

    def _content(self, content: Any) -> None:
        if isinstance(content, str):
            self.content.append(content)
        # Some servers send a list of parts, reasoning among them.
        for part in content if isinstance(content, list) else ():
            text = part.get("text") or part.get("thinking")
            if isinstance(text, str):
                (self.content if part.get("type") == "text" else self.reasoning).append(text)


def read_document(body: bytes, into: Completion) -> None:
    """Take in the completion that is `body`; raises Broken."""
    text = body.decode("utf-8", "replace")
    try:
        document = json.loads(text)
        into.add(document)
        empty = not document["choices"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Broken("answered with something that is no chat completion", text) from None
    if empty:
        raise Broken("answered with a completion without a choice", text)


async def read_stream(chunks: AsyncIterator[bytes], clock: Clock, stall_s: float, into: Completion) -> None:
    """Gather a stream of server-sent events until its end.

    Between two pieces of the answer at most `stall_s` seconds may pass; the first may take as long as the caller's
    deadline allows, as a server reads the prompt before it speaks. Comments that only keep the connection open don't
    count. Raises Broken where it ends without an end, Stalled where it stops.
    """
    lines = _lines(chunks)
    last: float | None = None
    while True:
        wait = None if last is None else max(0.001, last + stall_s - clock.monotonic())
        try:
            # Not wait_for: before Python 3.12 it swallows a cancellation that comes together with a line.
            async with asyncio.timeout(wait):
                line = await anext(lines)
        except TimeoutError:
            raise Stalled(f"said nothing more for {stall_s:g} s", into.text) from None
        except StopAsyncIteration:
            break
        name, _, data = line.partition(":")
        data = data.strip()
        if name == "error":
            raise Broken("reported an error in the middle", data)
        if name != "data" or not data:
            continue
        if data == _END:
            into.finish_reason = into.finish_reason or "stop"
            return
        last = clock.monotonic()
        _event(data, into)
    if into.finish_reason is None:
        raise Broken("ended in the middle of its answer", into.text)


def _event(data: str, into: Completion) -> None:
    try:
        document = json.loads(data)
        if "error" in document:
            raise Broken("reported an error in the middle", into.text or data)
        into.add(document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Broken("sent an event that is no piece of a completion", into.text or data) from error


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    buffer, total = b"", 0
    async for chunk in chunks:
        total += len(chunk)
        if total > MAX_BYTES:
            raise Broken("ran on without an end")
        *whole, buffer = (buffer + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
    if buffer:
        yield buffer.decode("utf-8", "replace").rstrip("\r")


def _count(value: Any, otherwise: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise
