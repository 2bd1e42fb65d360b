"""Perdure's own format: one JSON object per line, messages to import and queries to evaluate with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.connect.json_stream import decode_json
from perdure.connect.reading import Rejected, attempt, line_too_long, numbered_lines, utf8_at
from perdure.connect.values import checked_id, checked_time, mapping, optional_name, optional_space
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from perdure.connect.reading import ReadOptions, Source, Tally

LINE_TYPES = ("message", "query")


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """The lines of type message; queries are counted and passed over."""
    for item in typed_lines(source):
        if isinstance(item, Rejected):
            yield item
            continue
        line, entry = item
        if entry["type"] == "query":
            tally.skip("query")
        else:
            yield _message_at(line, entry, options.zone)


def typed_lines(source: Source) -> Iterator[tuple[int, dict[str, object]] | Rejected]:
    """Each line's number and object, whose `type` is one of `LINE_TYPES`; empty lines are passed over."""
    with source.open() as stream:
        for number, data in numbered_lines(stream):
            if data is None:
                yield line_too_long(number)
            elif data.strip():
                try:
                    yield number, _entry(data, number)
                except InvalidInput as error:
                    yield Rejected.at(number, error)


def _entry(data: bytes, number: int) -> dict[str, object]:
    entry = mapping("line", decode_json(utf8_at(data, number), line=number, pairs=_each_key_once))
    if entry.get("type") not in LINE_TYPES:
        raise InvalidInput("type", entry.get("type"), f"it must be one of {', '.join(LINE_TYPES)}")
    return entry


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidInput("key", twice, "each key may stand once in an object")
    return value


def _message_at(line: int, entry: dict[str, object], zone: tzinfo) -> Message | Rejected:
    return attempt(line, lambda: _message(entry, zone, line))


def _message(entry: dict[str, object], zone: tzinfo, line: int) -> Message:
    time = entry.get("time")
    return Message(
        external_id=checked_id("id", entry.get("id")),
        text=require_text(entry.get("text"), "text"),
        speaker=optional_name("speaker", entry.get("speaker")),
        occurred_at=None if time is None else checked_time("time", time, zone),
        conversation_id=optional_name("conversation", entry.get("conversation")),
        space=optional_space("space", entry.get("space")),
        line=line,
    )
