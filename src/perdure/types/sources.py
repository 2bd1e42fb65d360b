"""What sources hand in: messages, mails, events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from perdure.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an imported or captured conversation, as sources hand it in.

    `external_id` is the source's own id; with space and source it makes an import idempotent. `line` is where the
    message stands in its file, if it has lines.
    """

    external_id: str
    text: str
    speaker: str | None = None
    occurred_at: datetime | None = None
    conversation_id: str | None = None
    space: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A mail, or one instance of an event, as a source hands it in; `text` is what is judged and may be kept.

    `external_id` names this very item (of an event: this revision), so that it comes in once. `series` names what its
    revisions have in common: a newer revision replaces what was kept of the one before; None for what never changes.
    `occurred_at` is when it was sent, or begins. `cancelled` closes what was kept of the series.
    """

    kind: Literal["email", "calendar"]
    external_id: str
    text: str
    occurred_at: datetime
    title: str = ""
    speaker: str | None = None
    series: str | None = None
    cancelled: bool = False
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Items of a source in its order, and where to go on after them: JSON that only the source understands.

    `refused` says what stood among them and could not be read; it isn't met again after the checkpoint.
    """

    items: tuple[SourceItem, ...]
    checkpoint: Mapping[str, object] | None = None
    refused: tuple[InvalidInput, ...] = ()


class ItemSource(Protocol):
    """A mailbox or a calendar. Reading blocks; whoever reads it from an event loop does so in a thread."""

    @property
    def name(self) -> str:
        """Under which its items are known; the same for the same account and folder, file or address."""

    @property
    def notes(self) -> Sequence[str]:
        """What a person should know of the reading so far, such as a time zone that had to be guessed."""

    def batches(self, checkpoint: Mapping[str, object] | None, *, now: datetime) -> Iterator[SourceBatch]:
        """What came after `checkpoint` (None: everything), in its order."""

    def close(self) -> None:
        """Ends the connection; safe to repeat."""
