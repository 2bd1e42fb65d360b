"""From a file to its messages, in whatever format it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perdure.connect import chatgpt, jsonl, langgraph_store, letta, locomo, longmemeval, mem0, telegram_export, whatsapp
from perdure.connect.detect import checked_format, detect_format
from perdure.connect.markdown import MarkdownReader
from perdure.connect.reading import Progress, ReadOptions, Rejected, Source, Tally
from perdure.types import Message

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable
    from pathlib import Path

_READERS: dict[str, Callable[[Source, ReadOptions, Tally], Iterator[Message | Rejected]]] = {
    "jsonl": jsonl.read,
    "locomo": locomo.read,
    "longmemeval": longmemeval.read,
    "chatgpt": chatgpt.read,
    "telegram": telegram_export.read,
    "whatsapp": whatsapp.read,
    "mem0": mem0.read,
    "letta": letta.read,
    "langgraph": langgraph_store.read,
}


class MessageReader(Iterator[Message | Rejected]):
    """Iterates over the messages of a file in flat memory, and tells how far it is and what it left out.

    Iterating raises InvalidInput, naming line and byte, where the file is too damaged to go on; what stood before
    that place has been handed out by then.
    """

    def __init__(self, path: Path, format: str, options: ReadOptions) -> None:  # noqa: A002  # the word of the API
        self.format = format
        self._source, self._tally = Source(path), Tally()
        self._items = _READERS[format](self._source, options, self._tally)

    def __next__(self) -> Message | Rejected:
        try:
            return next(self._items)
        except StopIteration:
            self._source.finish()
            raise

    @property
    def progress(self) -> Progress:
        """Bytes of the file on disk consumed so far, and all of them."""
        return Progress(self._source.bytes_read, self._source.total_bytes)

    @property
    def skipped(self) -> Counter[str]:
        """How many things were left out on purpose so far, by reason."""
        return self._tally.skipped

    @property
    def notes(self) -> list[str]:
        """Assumptions that a person should see; complete once the first message has been read."""
        return self._tally.notes

    def close(self) -> None:
        """Close the file before its end; safe to repeat."""
        self._source.close()


Reader = MessageReader | MarkdownReader
"""What hands out messages: of a file, or of a folder of notes."""


def read_messages(
    path: Path,
    format: str | None = None,  # noqa: A002  # the word of the API
    *,
    options: ReadOptions | None = None,
) -> Reader:
    """The messages of a file, each a `Message` or a `Rejected` one.

    `format` is one of `FORMATS`, or None to judge by content. Raises InvalidInput for a missing, empty or binary file,
    and for an unknown format.
    """
    name = checked_format(detect_format(path) if format is None else format)
    if name == MarkdownReader.format:
        return MarkdownReader(path, options or ReadOptions())
    return MessageReader(path, name, options or ReadOptions())
