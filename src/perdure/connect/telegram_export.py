"""The `result.json` of Telegram Desktop: one chat, or a full account with its list of chats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.connect.json_stream import JsonCursor
from perdure.connect.reading import Rejected, attempt
from perdure.connect.values import checked_id, checked_name, checked_time, from_epoch, mapping, optional_name
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from perdure.connect.json_stream import Raw
    from perdure.connect.reading import ReadOptions, Source, Tally

_CHAT_LISTS = ("chats", "left_chats")


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """The text messages of every chat in the file, chat by chat."""
    with source.open() as stream:
        yield from _chat(JsonCursor(stream.read), options, tally)


def _chat(cursor: JsonCursor, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """One chat object, or the export's outermost object, which holds lists of chats."""
    about: dict[str, object] = {}
    for key in cursor.members():
        opening = cursor.peek()
        if key == "messages" and opening == b"[":
            conversation = options.conversation or str(about.get("id") or about.get("name") or "telegram")
            for _ in cursor.elements():
                yield from _message_at(cursor.value(), conversation, options.zone, tally)
        elif key in _CHAT_LISTS and opening == b"{":
            for inner in cursor.members():
                if inner == "list" and cursor.peek() == b"[":
                    for _ in cursor.elements():
                        yield from _chat(cursor, options, tally)
        elif key in {"id", "name"} and opening not in {b"{", b"["}:
            about[key] = cursor.value().decode()


def _message_at(raw: Raw, conversation: str, zone: tzinfo, tally: Tally) -> Iterator[Message | Rejected]:
    try:
        fields = mapping("message", raw.decode())
    except InvalidInput as error:
        yield Rejected.at(raw.line, error)
        return
    if fields.get("type") != "message":
        tally.skip("service message")
    elif not _words(fields).strip():
        tally.skip("message without text")
    else:
        yield attempt(raw.line, lambda: _message(fields, conversation, zone, raw.line))


def _message(fields: dict[str, object], conversation: str, zone: tzinfo, line: int) -> Message:
    forwarded = optional_name("forwarded_from", fields.get("forwarded_from") or None)
    words, chat = require_text(_words(fields), "text"), checked_name("chat", conversation)
    return Message(
        # Message ids count per chat, so the chat belongs to the id.
        external_id=checked_id("id", f"{chat}/{checked_id('id', fields.get('id'))}"),
        text=f"[forwarded from {forwarded}] {words}" if forwarded else words,
        speaker=optional_name("from", fields.get("from") or fields.get("from_id") or None),
        occurred_at=_time(fields, zone),
        conversation_id=chat,
        line=line,
    )


def _time(fields: dict[str, object], zone: tzinfo) -> datetime | None:
    """`date_unixtime` is exact; `date`, all that older exports have, is in the exporting computer's zone."""
    exact = fields.get("date_unixtime")
    if isinstance(exact, (str, int)) and not isinstance(exact, bool):
        return from_epoch("date_unixtime", exact)
    date = fields.get("date")
    return None if date is None else checked_time("date", date, zone)


def _words(fields: dict[str, object]) -> str:
    """The text, which is a string or a list of strings and of entities (links, mentions, bold runs) with their text."""
    text = fields.get("text")
    parts = text if isinstance(text, list) else [text]
    return "".join(
        part if isinstance(part, str) else str(part.get("text") or "") if isinstance(part, dict) else ""
        for part in parts
    )
