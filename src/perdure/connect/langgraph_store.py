"""Items of a LangGraph store (`namespace`, `key`, `value`), as an array or one per line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from perdure.connect.json_stream import records
from perdure.connect.reading import Rejected, attempt
from perdure.connect.values import checked_id, checked_time, mapping, optional_name, sequence
from perdure.errors import InvalidInput
from perdure.text import has_letter_or_digit, require_text, truncate_bytes
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perdure.connect.json_stream import Record
    from perdure.connect.reading import ReadOptions, Source, Tally

WORDS: Final = ("text", "content", "memory", "data", "value", "summary")
"""Fields of a value in which its words are looked for, the first that is text; else all of it is told."""
MAX_NAME_BYTES: Final = 200


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """Each item as a message of the conversation that its namespace names."""
    with source.open() as stream:
        for record in records(stream):
            if isinstance(record, Rejected):
                yield record
                continue
            found = _message(record, options)
            if isinstance(found, Message) and not has_letter_or_digit(found.text):
                tally.skip("item without words")
            else:
                yield found


def _message(record: Record, options: ReadOptions) -> Message | Rejected:
    fields = record.value

    def build() -> Message:
        labels = [str(label) for label in sequence("namespace", fields.get("namespace"))]
        key = fields.get("key")
        if not isinstance(key, str):
            raise InvalidInput("key", key, "it has to be text")
        time = fields.get("updated_at") or fields.get("created_at")
        return Message(
            external_id=checked_id("key", json.dumps([*labels, key], ensure_ascii=False)),
            text=require_text(_told(mapping("value", fields.get("value"))), "value"),
            occurred_at=None if time is None else checked_time("updated_at", time, options.zone),
            conversation_id=optional_name("namespace", truncate_bytes("/".join(labels), MAX_NAME_BYTES) or None),
            line=record.line,
        )

    return attempt(record.line, build)


def _told(value: dict[str, object]) -> str:
    for name in WORDS:
        words = value.get(name)
        if isinstance(words, str) and words.strip():
            return words
    return "\n".join(
        f"{name}: {item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"
        for name, item in value.items()
    )
