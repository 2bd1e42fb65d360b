"""Importing: a stream of messages from a file becomes memories, each exactly once.

A message is marked as processed in the transaction that stores it, so an import that was killed goes on where it
stopped, and a second run of the same import stores nothing. What was refused stays unmarked: mended in the file, it is
imported next time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from perdure.door import MAX_EXTERNAL_ID_BYTES, optional_name, optional_time, require_key
from perdure.errors import InvalidInput
from perdure.ingest.drafts import Draft, prepare
from perdure.ingest.old_news import Told
from perdure.ingest.outcomes import ids_of
from perdure.ingest.words import own_words
from perdure.ingest.writing import write_news
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.memories import EXCERPT_CHARS
from perdure.store.processed import mark_processed, processed
from perdure.store.spaces import SpaceRow, lock_space
from perdure.text import has_letter_or_digit, is_assistant, require_text
from perdure.types import Evidence, Message, Trust

BATCH = 128
MOST_OPEN = 64


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What one batch came to: messages stored, merged into an earlier one, known, empty, and refused.

    `known` are in already, or were, and were forgotten or replaced since they were said.
    """

    stored: int = 0
    merged: int = 0
    known: int = 0
    empty: int = 0
    refused: tuple[InvalidInput, ...] = ()

    def __add__(self, other: BatchReport) -> BatchReport:
        return BatchReport(
            self.stored + other.stored,
            self.merged + other.merged,
            self.known + other.known,
            self.empty + other.empty,
            self.refused + other.refused,
        )

    @property
    def seen(self) -> int:
        return self.stored + self.merged + self.known + self.empty + len(self.refused)


def batches(messages: Iterable[Message], size: int = BATCH) -> Iterator[tuple[str | None, list[Message]]]:
    """Messages of one space, at most `size` at a time; those of a space keep their order.

    Where messages of many spaces take turns, `MOST_OPEN` spaces are gathered at once; one more, and the batch that
    was begun first is handed out as it is. A file that turns out too damaged to go on (InvalidInput) ends it once all
    that stood before is handed out.
    """
    gathered: dict[str | None, list[Message]] = {}
    damage: InvalidInput | None = None
    try:
        for message in messages:
            if message.space not in gathered and len(gathered) == MOST_OPEN:
                oldest = next(iter(gathered))
                yield oldest, gathered.pop(oldest)
            batch = gathered.setdefault(message.space, [])
            batch.append(message)
            if len(batch) == size:
                yield message.space, gathered.pop(message.space)
    except InvalidInput as error:
        damage = error
    yield from gathered.items()
    if damage is not None:
        raise damage


def read_messages(given: Sequence[object]) -> tuple[list[Message], tuple[InvalidInput, ...]]:
    """The messages as they may be stored, and what was refused: what is no message, or has a bad field.

    A refusal names the field and, where there is one, the line.
    """
    messages: list[Message] = []
    refused: list[InvalidInput] = []
    for number, item in enumerate(given):
        try:
            messages.append(_message(item, f"messages[{number}]"))
        except InvalidInput as error:
            line = item.line if isinstance(item, Message) else None
            refused.append(error.at_line(line) if isinstance(line, int) else error)
    return messages, tuple(refused)


async def import_batch(
    resources: Resources, space: SpaceRow, source: str, messages: Sequence[Message], audience: str | None = None
) -> BatchReport:
    """Stores the messages of one batch that are not in yet; they have come through `read_messages`.

    Args:
        source: the name of the import; ids are unique within (space, audience, source).

    Raises:
        EmbeddingUnavailable, DatabaseUnavailable: nothing of this batch was stored; repeat the import.
        FamilyMismatch: the space belongs to another embedding model.
    """
    label = f"import:{source}"
    ids = [message.external_id for message in messages]

    async def read(tx: SpaceTransaction) -> tuple[set[str], datetime]:
        return set(await processed(tx, label, ids, audience)), tx.now

    known, now = await resources.database.in_space(space.id, read)
    fresh: dict[str, Message] = {}
    for message in messages:
        if message.external_id not in known:
            fresh.setdefault(message.external_id, message)
    drafts = {
        external_id: _draft(message, label, audience, now)
        for external_id, message in fresh.items()
        if has_letter_or_digit(message.text)
    }
    texts = await prepare(list(drafts.values()), resources.embedder, resources.settings.max_chunk_bytes)

    async def write(tx: SpaceTransaction) -> BatchReport:
        # Another process may have imported the same file meanwhile: look again, now that nobody else can write.
        await lock_space(tx)
        again = await processed(tx, label, list(drafts), audience)
        todo = [
            Told(draft, text, fresh[external_id].occurred_at)
            for (external_id, draft), text in zip(drafts.items(), texts, strict=True)
            if external_id not in again
        ]
        outcomes = await write_news(tx, resources, space, todo)
        await mark_processed(tx, label, list(fresh), audience)
        if todo:
            await note(tx, "import_messages", ids_of(outcomes))
        became = Counter(outcome.status for outcome in outcomes)
        known = len(messages) - len(fresh) + len(again) + became["nothing"]
        return BatchReport(became["stored"], became["merged"], known)

    report = await resources.database.in_space(space.id, write, writer=True)
    return replace(report, empty=len(fresh) - len(drafts))


def _message(item: object, place: str) -> Message:
    if not isinstance(item, Message):
        raise InvalidInput(place, item, f"it has to be a Message, not {type(item).__name__}")
    return replace(
        item,
        text=own_words(require_text(item.text)),
        external_id=require_key(item.external_id, "external_id", MAX_EXTERNAL_ID_BYTES),
        speaker=optional_name(item.speaker, "speaker"),
        occurred_at=optional_time(item.occurred_at, "occurred_at"),
        conversation_id=optional_name(item.conversation_id, "conversation_id"),
    )


def _draft(message: Message, label: str, audience: str | None, now: datetime) -> Draft:
    by_assistant = message.speaker is not None and is_assistant(message.speaker)
    # A message without a time is dated by its import: nothing better is known.
    occurred_at = message.occurred_at or now
    return Draft(
        text=message.text,
        source=label,
        trust=Trust.ASSISTANT if by_assistant else Trust.USER,
        source_date=occurred_at,
        speaker=message.speaker,
        audience=audience,
        # A file without conversations is one: what stands next to each other belongs together.
        conversation_id=message.conversation_id or label,
        evidence=(Evidence(label, message.external_id, message.speaker, occurred_at, message.text[:EXCERPT_CHARS]),),
        made_by="import-1",
    )
