"""Letta's agent file (.af): core memory blocks, archival passages, and the messages of an agent."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from perdure.connect.json_stream import JsonCursor
from perdure.connect.reading import Rejected, attempt
from perdure.connect.values import checked_id, checked_time, mapping, optional_name, sequence
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perdure.connect.reading import ReadOptions, Source, Tally

SPOKEN: Final = ("user", "assistant")
OWN: Final = frozenset({"persona"})
"""Labels of blocks that say who the agent is, and nothing of anybody it remembers."""
_PASSAGES: Final = ("passages", "archival_memory", "archival_passages")

Fields = dict[str, object]


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """Blocks and passages as words of nobody in particular, messages with their speaker; of each agent its own.

    A newer file has `agents` and `blocks`, an older one is a single agent with its `core_memory`.
    """
    with source.open() as stream:
        whole = mapping("json", JsonCursor(stream.read).value().decode())
    agents = [mapping("agents", each) for each in sequence("agents", whole.get("agents", [whole]))]
    blocks = [*_listed(whole, "blocks"), *(block for agent in agents for block in _listed(agent, "core_memory"))]
    for block in blocks:
        if block.get("label") in OWN:
            tally.skip("block about the agent itself")
        else:
            yield from _words(block, "value", "block", tally)
    for owner in (whole, *agents) if agents != [whole] else (whole,):
        for name in _PASSAGES:
            for passage in _listed(owner, name):
                yield from _words(passage, "text", "passage", tally, options)
    for agent in agents:
        for number, message in enumerate(_listed(agent, "messages")):
            yield from _spoken(agent, number, message, options, tally)


def _words(
    fields: Fields, name: str, what: str, tally: Tally, options: ReadOptions | None = None
) -> Iterator[Message | Rejected]:
    text = fields.get(name)
    if not isinstance(text, str) or not text.strip():
        tally.skip(f"empty {what}")
        return
    time = fields.get("created_at") if options is not None else None

    def build() -> Message:
        # A block is changed in place, so what it says is part of what it is.
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Message(
            external_id=checked_id("id", f"{what}:{fields.get('label') or fields.get('id') or ''}:{digest}"),
            text=require_text(text.strip(), name),
            occurred_at=None if time is None or options is None else checked_time("created_at", time, options.zone),
            line=1,
        )

    yield attempt(1, build)


def _spoken(
    agent: Fields, number: int, fields: Fields, options: ReadOptions, tally: Tally
) -> Iterator[Message | Rejected]:
    role = fields.get("role")
    text = _said(fields.get("content")) if role in SPOKEN else None
    if text is None:
        tally.skip("message of the system or a tool")
        return
    if not text.strip():
        tally.skip("message without words")
        return
    time = fields.get("created_at")

    def build() -> Message:
        return Message(
            external_id=checked_id("id", f"{agent.get('name')}:{fields.get('id') or number}"),
            text=require_text(text, "content"),
            speaker=optional_name("name", fields.get("name") or role),
            occurred_at=None if time is None else checked_time("created_at", time, options.zone),
            conversation_id=optional_name("name", agent.get("name")),
            line=1,
        )

    yield attempt(1, build)


def _said(content: object) -> str | None:
    """What a message says; None for an event that only looks like one of the user's."""
    if isinstance(content, list):
        content = "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
    if not isinstance(content, str):
        return ""
    if not content.lstrip().startswith("{"):
        return content
    try:
        event = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(event, dict) or "type" not in event:
        return content
    message = event.get("message")
    return message if event["type"] == "user_message" and isinstance(message, str) else None


def _listed(fields: Fields, name: str) -> list[Fields]:
    """The objects of a list; what isn't there is none."""
    listed = fields.get(name) or []
    if not isinstance(listed, list):
        raise InvalidInput(name, listed, "it must be a JSON array")
    return [each for each in listed if isinstance(each, dict)]
