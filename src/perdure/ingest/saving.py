"""What a person or a tool call asks for directly: save, update, pin. Everything valid is kept, at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from perdure.embedding import Matrix
from perdure.errors import Conflict, InvalidInput, NotFound
from perdure.ingest.drafts import Draft, chunk_of, content_hash, draft_of, prepare
from perdure.ingest.keys import is_tools, stored_postings
from perdure.ingest.operations import first_outcome, require_first_outcome
from perdure.ingest.outcomes import ids_of, outcome_to_data
from perdure.ingest.words import own_words
from perdure.ingest.writing import write_texts
from perdure.resources import Resources
from perdure.rules.audience import may_see
from perdure.store.audit import note
from perdure.store.changes import change, change_text, pin
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.history import write_history
from perdure.store.memories import MemoryRow, find_duplicates, read_rows, siblings
from perdure.store.operations import remember_operation, set_outcome
from perdure.store.queue import Queue, enqueue
from perdure.store.spaces import SpaceRow, lock_space
from perdure.text import mask, masked_fields
from perdure.types import MemoryType, Outcome, Stored, StoredMemory, Trust

USER = "user"
"""Who changes a memory through the host's own doors."""
MEMORY = "memory"
"""The kind of evidence that is a memory itself; its external id is that memory's."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What to change about a memory; None leaves a field as it is."""

    text: str | None = None
    salience: float | None = None
    memory_type: MemoryType | None = None
    tags: tuple[str, ...] | None = None
    entities: tuple[str, ...] | None = None
    metadata: Mapping[str, object] | None = None


async def replayed(
    resources: Resources, space: SpaceRow | None, operation_id: str, fingerprint: bytes
) -> tuple[Outcome | None, datetime]:
    """What the first call with this operation id returned, None if there was none; and the time.

    Raises:
        Conflict: the operation id was used before for something else.
    """

    async def look(tx: SpaceTransaction) -> tuple[Outcome | None, datetime]:
        return await first_outcome(tx, operation_id, fingerprint), tx.now

    async def time(tx: Transaction) -> datetime:
        return tx.now

    if space is None:
        return None, await resources.database.across(time)
    return await resources.database.in_space(space.id, look)


async def save_draft(
    resources: Resources,
    make_space: Callable[[], Awaitable[SpaceRow]],
    draft: Draft,
    operation_id: str,
    fingerprint: bytes,
) -> Outcome:
    """Stores one text without triage; retrievable as soon as this returns. An exact duplicate is merged.

    The draft's texts have come through `mask`. Whether it outdates an older memory is asked afterwards, where a model
    can be asked.
    `make_space` is asked for the space once the text is embedded, so that a failure leaves no empty space behind.
    """
    (text,) = await prepare([draft], resources.embedder, resources.settings.max_chunk_bytes)
    space = await make_space()

    async def write(tx: SpaceTransaction) -> Outcome:
        if not await remember_operation(tx, operation_id, fingerprint, {}):
            return await require_first_outcome(tx, operation_id, fingerprint)
        (outcome,) = await write_texts(tx, resources, space, [text])
        if isinstance(outcome, Stored) and resources.models.can("contradiction"):
            await enqueue(
                tx,
                Queue.FOLLOWUP,
                "contradiction",
                {"ids": list(outcome.ids)},
                audience=draft.audience,
                speaker=draft.speaker,
                occurred_at=draft.source_date,
            )
        await set_outcome(tx, operation_id, outcome_to_data(outcome))
        await note(tx, "save", ids_of([outcome]))
        return outcome

    return await resources.database.in_space(space.id, write, writer=True)


async def update_memory(
    resources: Resources,
    space: SpaceRow,
    memory_id: int,
    changes: Changes,
    *,
    audience: str | None,
    changed_by: str,
) -> StoredMemory:
    """Changes one memory and keeps what it was in its history. What isn't named in `changes` stays as it is by then.

    Raises:
        NotFound: no such memory for this audience.
        InvalidInput: the new text would not fit into one memory.
        Conflict: the text was changed by somebody else meanwhile, or another memory holds the new one.
        EmbeddingUnavailable, EmbeddingFailed, FamilyMismatch: the new text can't be embedded for this space.
    """

    async def read(tx: SpaceTransaction) -> MemoryRow:
        return await require_row(tx, space, memory_id, audience)

    changes = _masked_changes(changes)
    before: MemoryRow | None = None
    vector: Matrix | None = None
    if changes.text is not None:
        before = await resources.database.in_space(space.id, read)
        if changes.text != before.memory.summary:
            vector = await _embed_whole(resources, _changed(before.memory, changes))

    async def write(tx: SpaceTransaction) -> StoredMemory:
        state = await lock_space(tx)
        row = await require_row(tx, space, memory_id, audience)
        _require_words(row)
        if before is not None and row.memory.summary != before.memory.summary:
            raise Conflict(f"Memory {memory_id} was changed meanwhile.", hint="Read it again, then update it.")
        draft = _vouched_for(_changed(row.memory, changes), row.memory, changed_by)
        if draft == _changed(row.memory, Changes()):
            return row.memory
        ids = await siblings(tx, [memory_id])
        if vector is not None:
            resources.require_family(space, state)
            if len(ids) == 1:
                await _require_no_twin(tx, memory_id, draft)
        last = memory_id == max(ids)
        after = chunk_of(draft, draft.text, vector, whole=len(ids) == 1, last=last)
        await write_history(tx, row, "update", changed_by)
        await change(tx, row, after, (stored_postings(row), after.postings(memory_id)))
        if vector is not None:
            await change_text(tx, memory_id, after, resources.family.id, root=row.memory.chunk_of)
        await note(tx, "update", [memory_id])
        return (await require_row(tx, space, memory_id, audience)).memory

    return await resources.database.in_space(space.id, write, writer=True)


async def pin_memory(
    resources: Resources, space: SpaceRow, memory_id: int, audience: str | None, *, pinned: bool
) -> None:
    """Pins or unpins a memory with its sibling chunks: a pinned memory never decays and is never pruned."""

    async def write(tx: SpaceTransaction) -> None:
        await lock_space(tx)
        await require_row(tx, space, memory_id, audience)
        rows = await read_rows(tx, space.name, await siblings(tx, [memory_id]))
        await pin(tx, list(rows.values()), "user", pinned=pinned)
        await note(tx, "pin" if pinned else "unpin", rows)

    await resources.database.in_space(space.id, write, writer=True)


async def require_row(tx: SpaceTransaction, space: SpaceRow, memory_id: int, audience: str | None) -> MemoryRow:
    """The row of this id, if this audience may see it."""
    row = (await read_rows(tx, space.name, [memory_id])).get(memory_id)
    if row is None or not may_see(audience, row.memory.audience):
        raise NotFound(f"Space {space.name!r} has no memory {memory_id}.", hint="`perdure list` shows the ids.")
    return row


def _require_words(row: MemoryRow) -> None:
    """Raises Conflict for what nobody said: the identity card is made of other memories."""
    if row.memory.memory_type is MemoryType.IDENTITY:
        raise Conflict(
            f"Memory {row.memory.id} is the identity card, which is made of other memories.",
            hint="Change or forget those; `perdure cognition identity` names them.",
        )


def masked_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Tags or entities with the secrets in them masked; two that are the same then are one."""
    return tuple(dict.fromkeys(mask(label).text for label in labels))


def masked_metadata(metadata: Mapping[str, object]) -> dict[str, object]:
    """Metadata with the secrets of every text, number and name in it masked."""
    return masked_fields(metadata)


def _masked_changes(changes: Changes) -> Changes:
    return replace(
        changes,
        text=None if changes.text is None else own_words(changes.text),
        tags=None if changes.tags is None else masked_labels(changes.tags),
        entities=None if changes.entities is None else masked_labels(changes.entities),
        metadata=None if changes.metadata is None else masked_metadata(changes.metadata),
    )


async def _embed_whole(resources: Resources, draft: Draft) -> Matrix:
    """The vector of a text that has to fit into one memory."""
    limit = resources.settings.max_chunk_bytes
    (text,) = await prepare([draft], resources.embedder, limit)
    if len(text.chunks) != 1:
        told = f"a memory holds at most {limit} bytes; save a longer text as a new memory"
        raise InvalidInput("text", draft.text, told)
    vector = text.chunks[0].vector
    assert vector is not None
    return vector


async def _require_no_twin(tx: SpaceTransaction, memory_id: int, draft: Draft) -> None:
    key = draft.audience, content_hash(draft.text, draft.speaker)
    twin = (await find_duplicates(tx, [key])).get(key, memory_id)
    if twin != memory_id:
        raise Conflict(
            f"Memory {twin} holds the same text already.", hint=f"Forget {memory_id}, or change {twin} instead."
        )


def _vouched_for(draft: Draft, before: StoredMemory, changed_by: str) -> Draft:
    """Whoever writes the words vouches for them: no later mail outdates what the user has put right."""
    theirs = draft.text != before.summary and changed_by == USER and not is_tools(before.source, before.trust)
    return replace(draft, trust=Trust.USER) if theirs else draft


def _changed(memory: StoredMemory, changes: Changes) -> Draft:
    given = {name: getattr(changes, name) for name in Changes.__dataclass_fields__}
    return replace(draft_of(memory), **{name: value for name, value in given.items() if value is not None})
