"""Chat requests as turns: what the user said last, and where in the messages what is remembered has its place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from perdure.ingest import ToolResult

Message = Mapping[str, Any]

HOSTS: Final = frozenset({"system", "developer"})
"""Roles in which whoever runs the model speaks."""
BETWEEN: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """The turn that a chat request asks a reply for.

    Attributes:
        at: where the user's latest message stands. said: its text; empty for a mere picture.
        earlier: the conversation before it, without what the host said.
        tools: what tools have answered since: the model has called them, and is asked again.
        digest: of everything up to the user's message; the requests of one turn have it in common.
    """

    at: int
    said: str
    earlier: tuple[Message, ...]
    tools: tuple[ToolResult, ...]
    digest: str


def read_turn(messages: object) -> ChatTurn | None:
    """The turn of a request's `messages`; None where they can't be read, or no user says anything."""
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        return None
    if not all(isinstance(message, Mapping) for message in messages):
        return None
    at = max((each for each, message in enumerate(messages) if message.get("role") == "user"), default=None)
    if at is None:
        return None
    return ChatTurn(
        at=at,
        said=text_of(messages[at].get("content")),
        earlier=tuple(message for message in messages[:at] if message.get("role") not in HOSTS),
        tools=_answers(messages[at + 1 :]),
        digest=_digest(messages[: at + 1]),
    )


def remembering(messages: Sequence[Message], at: int, prefix: str, tail: str) -> list[Message]:
    """The messages with what is remembered: the prefix behind the host's first words, the tail before the user's last.

    All before the user's last message is the same from turn to turn as long as nothing was learned, so that a model's
    server can take it from its cache. No message is added but a first one where the host said nothing: there are
    templates that take no two of the same role in a row.
    """
    changed = [dict(message) for message in messages]
    if tail:
        changed[at]["content"] = _joined(tail, changed[at].get("content"))
    if not prefix:
        return list(changed)
    first = next((message for message in changed if message.get("role") in HOSTS), None)
    if first is None:
        return [{"role": "system", "content": prefix}, *changed]
    first["content"] = _joined_behind(first.get("content"), prefix)
    return list(changed)


def text_of(content: object) -> str:
    """What a message says: its text, or the texts of its parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _joined(text: str, content: object) -> object:
    """Text before what a message says, in the form in which it says it."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [{"type": "text", "text": text}, *content]
    return f"{text}{BETWEEN}{content}" if content else text


def _joined_behind(content: object, text: str) -> object:
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [*content, {"type": "text", "text": text}]
    return f"{content}{BETWEEN}{text}" if content else text


def _answers(messages: Sequence[Message]) -> tuple[ToolResult, ...]:
    """What tools answered, under the names by which the model called them."""
    names: dict[object, str] = {}
    found: list[ToolResult] = []
    for message in messages:
        for called in message.get("tool_calls") or ():
            function = called.get("function") if isinstance(called, Mapping) else None
            if isinstance(function, Mapping):
                names[called.get("id")] = str(function.get("name") or "tool")
        if message.get("role") == "tool":
            found.append(ToolResult(names.get(message.get("tool_call_id"), "tool"), text_of(message.get("content"))))
    return tuple(found)


def _digest(messages: Sequence[Message]) -> str:
    said = json.dumps(messages, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()
