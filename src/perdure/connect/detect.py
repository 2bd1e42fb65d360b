"""Which format a file is in, judged by what it holds; the name never decides."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from perdure.connect.calendar_lines import looks_like_calendar
from perdure.connect.json_stream import JsonCursor
from perdure.connect.jsonl import LINE_TYPES
from perdure.connect.mail_format import mail_format
from perdure.connect.markdown import is_markdown
from perdure.connect.reading import MAX_RECORD_BYTES, Source, numbered_lines
from perdure.connect.whatsapp_header import parse_header
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = (
    *("jsonl", "locomo", "longmemeval", "chatgpt", "telegram", "whatsapp"),
    *("mem0", "letta", "langgraph", "markdown"),
)

ITEM_FORMATS = ("eml", "mbox", "ics")
"""Formats whose content are items to be judged (mails, events), not messages of a conversation."""

_OBJECTS_LOOKED_AT = 200


def detect_format(path: Path) -> str:
    """One of `FORMATS` or `ITEM_FORMATS`.

    Raises InvalidInput for files that can't be read and for content that none of them has.
    """
    if is_markdown(path):
        return "markdown"
    source = Source(path)
    try:
        with source.open() as stream:
            head = stream.head()
        first = head.lstrip()[:1]
        if first == b"[":
            found = _array(source) or _lines(source)  # a WhatsApp line may begin with a bracket, too
        else:
            found = (_whole(source) if first == b"{" else None) or _item_format(head) or _lines(source)
    finally:
        source.close()
    if found is None:
        formats = ", ".join((*FORMATS, *ITEM_FORMATS))
        limit = f"it is in none of the formats {formats}; see docs/import.md for what each looks like"
        raise InvalidInput("file", path.name, limit)
    return found


def checked_format(name: str) -> str:
    """The name, if it is one of `FORMATS`."""
    if name not in FORMATS:
        raise InvalidInput("format", name, f"it must be one of {', '.join(FORMATS)}")
    return name


def _item_format(head: bytes) -> str | None:
    """Which of `ITEM_FORMATS` a file with this beginning is in."""
    return "ics" if looks_like_calendar(head) else mail_format(head)


def _array(source: Source) -> str | None:
    """The first objects of an array tell by their keys; a broken one doesn't hide what the next is."""
    with source.open() as stream:
        cursor = JsonCursor(stream.read)
        try:
            for number, _ in enumerate(cursor.elements()):
                found = _kind(cursor.value().data)
                if found or number == _OBJECTS_LOOKED_AT:
                    return found
        except InvalidInput:
            return None
    return None


def _whole(source: Source) -> str | None:
    """Some exports are one object for the whole file, where other files have one per line."""
    with source.open() as stream:
        cursor = JsonCursor(stream.read)
        try:
            for key in cursor.members():
                if key in {"agents", "agent_type", "core_memory"}:
                    return "letta"
                if key == "results" and cursor.peek() == b"[":
                    return "mem0"
                if (key == "messages" and cursor.peek() == b"[") or (key == "chats" and cursor.peek() == b"{"):
                    return "telegram"
        except InvalidInput:
            return None
    return None


def _lines(source: Source) -> str | None:
    with source.open() as stream:
        for number, data in numbered_lines(stream, MAX_RECORD_BYTES):
            if data is not None and parse_header(data.decode("utf-8", "replace")):
                return "whatsapp"
            found = _kind(data)
            if found or number == _OBJECTS_LOOKED_AT:
                return found
    return None


def _kind(data: bytes | None) -> str | None:
    """What an object by itself is."""
    try:
        entry = json.loads(data) if data and data.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    return next((name for name, is_one in _KINDS if is_one(entry)), None)


_KINDS: tuple[tuple[str, Callable[[dict[str, object]], bool]], ...] = (
    ("jsonl", lambda entry: entry.get("type") in LINE_TYPES or isinstance(entry.get("text"), str)),
    ("mem0", lambda entry: isinstance(entry.get("memory"), str) and ("id" in entry or "hash" in entry)),
    ("langgraph", lambda entry: isinstance(entry.get("namespace"), list) and "value" in entry),
    ("longmemeval", lambda entry: "haystack_sessions" in entry),
    ("chatgpt", lambda entry: isinstance(entry.get("mapping"), dict)),
    ("locomo", lambda entry: isinstance(entry.get("conversation"), dict)),
)
