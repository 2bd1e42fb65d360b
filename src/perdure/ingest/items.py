"""Mails and events: what a source hands in is marked as in and queued, with the source's place, in one transaction.

So an item can be neither lost nor doubled: a run that was killed reads its last batch again, and finds it in or not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perdure.door import MAX_EXTERNAL_ID_BYTES, optional_name, require_flag, require_key, require_metadata, require_time
from perdure.errors import InvalidInput
from perdure.ingest.saving import masked_metadata
from perdure.ingest.words import keepable
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.checkpoints import write_checkpoint
from perdure.store.database import SpaceTransaction
from perdure.store.processed import mark_processed, processed
from perdure.store.queue import Entry, Queue, enqueue_all
from perdure.store.spaces import SpaceRow, lock_space
from perdure.text import MAX_TEXT_BYTES, clean, has_letter_or_digit
from perdure.types import SourceItem

MAIL: Final = "email"
KINDS: Final = (MAIL, "calendar")
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class ItemReport:
    """What one batch came to: items queued, in already, without a word, and refused."""

    enqueued: int = 0
    known: int = 0
    empty: int = 0
    refused: tuple[InvalidInput, ...] = ()

    def __add__(self, other: ItemReport) -> ItemReport:
        return ItemReport(
            self.enqueued + other.enqueued,
            self.known + other.known,
            self.empty + other.empty,
            self.refused + other.refused,
        )

    @property
    def seen(self) -> int:
        return self.enqueued + self.known + self.empty + len(self.refused)


def read_items(given: Sequence[object]) -> tuple[list[SourceItem], tuple[InvalidInput, ...]]:
    """The items as they may be stored, and what was refused: what is no item, or has a bad field.

    Recalled text is cut out and secrets are masked.
    """
    items: list[SourceItem] = []
    refused: list[InvalidInput] = []
    for number, item in enumerate(given):
        try:
            items.append(_item(item, f"items[{number}]"))
        except InvalidInput as error:
            refused.append(error)
    return items, tuple(refused)


async def import_items(
    resources: Resources,
    space: SpaceRow,
    source: str,
    items: Sequence[SourceItem],
    *,
    checkpoint: Mapping[str, object] | None,
    audience: str | None,
) -> ItemReport:
    """Queues the items of one batch that are not in yet, marks them as in and keeps the source's place, all or nothing.

    Args:
        source: the name of the mailbox or calendar. An event is known by (space, audience, source, id), a mail by
            (space, audience, id) wherever it is read; under the same id with other words it is a revision.
        items: have come through `read_items`. Revisions of one event are worked off in this order.
        checkpoint: where the source goes on; None leaves it where it was.

    Raises:
        DatabaseUnavailable: nothing of this batch was kept; repeat it.
    """

    async def write(tx: SpaceTransaction) -> ItemReport:
        # Two that read the same mailbox at once come one after the other.
        await lock_space(tx)
        report = ItemReport()
        for kind in KINDS:
            batch = {_name_of(item): item for item in reversed(items) if item.kind == kind}
            report += await _enqueue_new(
                tx, source, kind, list(reversed(batch.values())), audience, for_model=resources.models.can("triage")
            )
        if checkpoint is not None:
            await write_checkpoint(tx, source, audience, checkpoint)
        if report.enqueued:
            await note(tx, "import_items", touched=report.enqueued)
        return replace(report, known=len(items) - report.enqueued - report.empty)

    return await resources.database.in_space(space.id, write, writer=True)


async def _enqueue_new(
    tx: SpaceTransaction, source: str, kind: str, items: Sequence[SourceItem], audience: str | None, *, for_model: bool
) -> ItemReport:
    # A mail is the same wherever it is read; what names an event is unique within its calendar.
    label = kind if kind == MAIL else f"{kind}:{source}"
    known = await processed(tx, label, [item.external_id for item in items], audience)
    new = [item for item in items if not _is_in(item, known)]
    saying = [item for item in new if item.cancelled or has_letter_or_digit(item.text)]
    entries = [_entry(source, item) for item in saying]
    await enqueue_all(tx, Queue.TRIAGE, kind, entries, audience=audience, for_model=for_model)
    contents = [_content_of(item) for item in new] if kind == MAIL else None
    await mark_processed(tx, label, [item.external_id for item in new], audience, contents)
    return ItemReport(enqueued=len(saying), empty=len(new) - len(saying))


def _entry(source: str, item: SourceItem) -> Entry:
    series = item.external_id if item.kind == MAIL else item.series
    payload = {
        "source": source,
        "external_id": item.external_id,
        "series": series,
        "title": item.title,
        "text": item.text,
        "cancelled": item.cancelled,
        "metadata": dict(item.metadata),
    }
    return Entry(payload, series or "", item.speaker, item.occurred_at)


def _content_of(item: SourceItem) -> bytes:
    """A digest of what a mail says; one that was read half, or corrected, says something else."""
    return hashlib.blake2b(" ".join(item.text.split()).encode(), digest_size=_DIGEST_BYTES).digest()


def _name_of(item: SourceItem) -> tuple[str, bytes]:
    """What is the same for one and the same item: of events the source says so, of mails their words, too."""
    return item.external_id, _content_of(item) if item.kind == MAIL else b""


def _is_in(item: SourceItem, known: Mapping[str, frozenset[bytes]]) -> bool:
    contents = known.get(item.external_id)
    return contents is not None and (not contents or _content_of(item) in contents)


def _item(item: object, place: str) -> SourceItem:
    if not isinstance(item, SourceItem):
        raise InvalidInput(place, item, f"it has to be a SourceItem, not {type(item).__name__}")
    if item.kind not in KINDS:
        raise InvalidInput(f"{place}.kind", item.kind, f"it has to be one of {', '.join(KINDS)}")
    series = item.series
    return replace(
        item,
        external_id=require_key(item.external_id, f"{place}.external_id", MAX_EXTERNAL_ID_BYTES),
        text=_words(item.text, f"{place}.text"),
        occurred_at=require_time(item.occurred_at, f"{place}.occurred_at"),
        title=_words(item.title, f"{place}.title"),
        speaker=optional_name(item.speaker, f"{place}.speaker"),
        series=None if series is None else require_key(series, f"{place}.series", MAX_EXTERNAL_ID_BYTES),
        cancelled=require_flag(item.cancelled, f"{place}.cancelled"),
        metadata=masked_metadata(require_metadata(item.metadata)),
    )


def _words(text: object, field: str) -> str:
    """As `require_text`, but what says nothing may come in: it is counted, and a cancelled event needs no words."""
    cleaned = clean(text, field)
    size = len(cleaned.encode())
    if size > MAX_TEXT_BYTES:
        raise InvalidInput(field, text, f"it has {size:,} bytes of UTF-8, at most {MAX_TEXT_BYTES:,} are taken at once")
    return keepable(cleaned)
