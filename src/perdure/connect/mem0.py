"""What mem0 hands out: the answer of `get_all` (`{"results": [...]}`), a bare array of memories, or one per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.connect.json_stream import JsonCursor, Record, records
from perdure.connect.reading import Rejected, attempt
from perdure.connect.values import checked_id, checked_time, mapping, optional_space
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from perdure.connect.reading import ReadOptions, Source, Stream, Tally


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """Each memory as a message of the space that its `user_id` names; what is empty is left out."""
    with source.open() as stream:
        whole = stream.head().lstrip()[:1] == b"{" and not _by_lines(source)
        for record in _results(stream) if whole else records(stream):
            if isinstance(record, Rejected):
                yield record
            elif not str(record.value.get("memory") or "").strip():
                tally.skip("memory without words")
            else:
                yield _message(record, options.zone)


def _message(record: Record, zone: tzinfo) -> Message | Rejected:
    fields = record.value

    def build() -> Message:
        time = fields.get("updated_at") or fields.get("created_at")
        return Message(
            external_id=checked_id("id", fields.get("id") or fields.get("hash")),
            text=require_text(fields["memory"], "memory"),
            occurred_at=None if time is None else checked_time("created_at", time, zone),
            space=optional_space("user_id", fields.get("user_id")),
            line=record.line,
        )

    return attempt(record.line, build)


def _by_lines(source: Source) -> bool:
    """Whether the first object is a memory by itself, and not one that holds them all."""
    with source.open() as stream:
        cursor = JsonCursor(stream.read)
        try:
            return all(key != "results" for key in cursor.members())
        except InvalidInput:
            return True


def _results(stream: Stream) -> Iterator[Record | Rejected]:
    cursor = JsonCursor(stream.read)
    for key in cursor.members():
        if key != "results":
            continue
        for _ in cursor.elements():
            raw = cursor.value()
            try:
                yield Record(mapping("json", raw.decode()), raw.line)
            except InvalidInput as error:
                yield Rejected.at(raw.line, error)
