"""The `conversations.json` of a ChatGPT data export: an array of conversations, each a tree of messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perdure.connect.json_stream import records
from perdure.connect.reading import Rejected, attempt
from perdure.connect.values import checked_id, checked_name, from_epoch, mapping
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perdure.connect.reading import ReadOptions, Source, Tally

_SPEAKERS = ("user", "assistant")
_TEXT_CONTENT = ("text", "multimodal_text")
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")  # marks of the web page, drawn from private-use characters

Nodes = dict[str, dict[str, object]]


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """What was said by user and assistant along the branch that each conversation ended on."""
    with source.open() as stream:
        for record in records(stream):
            if isinstance(record, Rejected):
                yield record
                continue
            try:
                conversation = _conversation_id(record.value)
                nodes = _nodes(record.value)
            except InvalidInput as error:
                yield Rejected.at(record.line, error)
                continue
            yield from _conversation(record.value, conversation, nodes, record.line, tally)


def _conversation(
    fields: dict[str, object], conversation: str, nodes: Nodes, line: int, tally: Tally
) -> Iterator[Message | Rejected]:
    branch = _branch(fields, nodes)
    aside = sum(1 for node in nodes.values() if node.get("message")) - sum(
        1 for key in branch if nodes[key].get("message")
    )
    tally.skipped.update({"message on another branch": aside} if aside else {})
    time: object = fields.get("create_time")
    for key in branch:
        message = nodes[key].get("message")
        if not isinstance(message, dict):
            continue
        time = message.get("create_time") or time  # a message without a time was written right after the one before
        reason = _unwanted(message)
        if reason:
            tally.skip(reason)
            continue
        yield _message_at(line, conversation, key, message, time)


def _message_at(line: int, conversation: str, key: str, message: dict[str, object], time: object) -> Message | Rejected:
    def build() -> Message:
        if time is not None and (isinstance(time, bool) or not isinstance(time, (int, float))):
            raise InvalidInput("create_time", time, "it must be a number of seconds since 1970")
        return Message(
            external_id=checked_id("id", message.get("id") or key),
            text=require_text(_words(message), "parts"),
            speaker=_role(message),
            occurred_at=None if time is None else from_epoch("create_time", time),
            conversation_id=conversation,
            line=line,
        )

    return attempt(line, build)


def _conversation_id(fields: dict[str, object]) -> str:
    return checked_name("conversation_id", fields.get("conversation_id") or fields.get("id"))


def _nodes(fields: dict[str, object]) -> Nodes:
    return {key: mapping("mapping", node) for key, node in mapping("mapping", fields.get("mapping")).items()}


def _branch(fields: dict[str, object], nodes: Nodes) -> list[str]:
    """Node keys from the root to where the conversation ended; without a known end, the longest path."""
    current = fields.get("current_node")
    if isinstance(current, str) and current in nodes:
        return _path_to(current, nodes)
    parents = {node.get("parent") for node in nodes.values()}
    leaves = [key for key in nodes if key not in parents]
    return max((_path_to(leaf, nodes) for leaf in leaves), key=len, default=[])


def _path_to(key: str, nodes: Nodes) -> list[str]:
    path: dict[str, None] = {}
    at: object = key
    while isinstance(at, str) and at in nodes and at not in path:  # a damaged export may hold a ring
        path[at] = None
        at = nodes[at].get("parent")
    return list(reversed(path))


def _role(message: dict[str, object]) -> str:
    author = message.get("author")
    return str(author.get("role")) if isinstance(author, dict) else ""


def _unwanted(message: dict[str, object]) -> str | None:
    """Why a message is no part of what was said, or None."""
    content, metadata = message.get("content"), message.get("metadata")
    kind = content.get("content_type") if isinstance(content, dict) else None
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True:
        return "hidden message"
    if _role(message) not in _SPEAKERS or message.get("recipient") not in ("all", None):
        return "system or tool message"
    if kind not in _TEXT_CONTENT:
        return "message without text"
    return None if _words(message) else "message without text"


def _words(message: dict[str, object]) -> str:
    """Typed text and what was transcribed from speech; pictures and files are left out."""
    content = message.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    words: list[str] = []
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            words.append(str(part.get("text") or ""))
    return _CITATION.sub("", "\n".join(word for word in words if word.strip())).strip()
