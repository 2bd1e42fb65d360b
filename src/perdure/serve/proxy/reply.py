"""What a model replied, read from its answer or picked up from its stream as it passes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from perdure.serve.proxy.turn import text_of

DONE: Final = b"[DONE]"
_MOST_WAITING: Final = 16 * 1024 * 1024
"""Bytes of one event; what sends more isn't speaking of chats."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The first choice of an answer. `calls_tools`: the model wants tools first, so the turn isn't over."""

    text: str
    calls_tools: bool = False


def read_reply(body: object) -> Reply | None:
    """The reply of a whole answer; None where there is none, as in an error."""
    choice = _first_choice(body)
    message = None if choice is None else choice.get("message")
    if not isinstance(message, Mapping):
        return None
    return Reply(text_of(message.get("content")), bool(message.get("tool_calls") or message.get("function_call")))


class StreamedReply:
    """Cuts a stream of server-sent events into whole ones, and adds up what they say.

    Bytes come in any pieces; events are handed on as they came, to the byte.
    """

    def __init__(self) -> None:
        self._waiting = b""
        self._texts: list[str] = []
        self._calls_tools = False
        self.failed = False
        """Whether an event told of an error, which may come after a good beginning."""

    @property
    def reply(self) -> Reply:
        return Reply("".join(self._texts), self._calls_tools)

    def events(self, piece: bytes) -> Iterator[tuple[bytes, bool]]:
        """The events that are whole by now, each with whether it ends the stream."""
        self._waiting += piece
        while (end := _end_of_event(self._waiting)) is not None:
            event, self._waiting = self._waiting[:end], self._waiting[end:]
            yield event, self._read(event)
        if len(self._waiting) > _MOST_WAITING:
            yield self.rest(), False

    def rest(self) -> bytes:
        """What is left without the end of an event."""
        left, self._waiting = self._waiting, b""
        if left:
            self._read(left)
        return left

    def _read(self, event: bytes) -> bool:
        lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data == DONE:
            return True
        try:
            told = json.loads(data) if data else None
        except ValueError:
            return False
        if isinstance(told, Mapping) and told.get("error"):
            self.failed = True
        choice = _first_choice(told)
        delta = None if choice is None else choice.get("delta")
        if isinstance(delta, Mapping):
            self._texts.append(text_of(delta.get("content")))
            self._calls_tools |= bool(delta.get("tool_calls") or delta.get("function_call"))
        return False


def _first_choice(body: object) -> Mapping[str, Any] | None:
    choices = body.get("choices") if isinstance(body, Mapping) else None
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and choice.get("index", 0) == 0:
            return choice
    return None


def _end_of_event(data: bytes) -> int | None:
    """Behind the first blank line, whichever line ends are used."""
    ends = [found + len(mark) for mark in (b"\n\n", b"\r\n\r\n", b"\r\r") if (found := data.find(mark)) >= 0]
    return min(ends, default=None)
