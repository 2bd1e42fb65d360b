"""What every layer of cognition hands over, and how it is written: outside calls first, then one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from perdure.ingest import MEMORY, Draft, begin_writing, prepare
from perdure.llm import CALL_SITES, Ledger
from perdure.resources import Resources
from perdure.rules.triggers import Trigger
from perdure.settings import Settings
from perdure.store.audit import note
from perdure.store.cognition import Layer, News, ThoughtState, record_run, set_marks, set_wrote
from perdure.store.database import SpaceTransaction
from perdure.store.leases import Leased, held, take
from perdure.store.memories import MemoryRow, NewText, insert_texts, read_rows
from perdure.store.spaces import SpaceRow, lock_space
from perdure.store.usage import record_usage, used_today
from perdure.types import Evidence, StoredMemory

T = TypeVar("T")


class LeaseLost(Exception):
    """Somebody else thinks about this space by now."""


class BudgetSpent(Exception):
    """No further question may be asked today; its words say which budget is used up."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """One run over one space: what it works with, what had happened when it began, and who may write."""

    resources: Resources
    space: SpaceRow
    holder: str
    trigger: Trigger
    began_at: datetime
    state: ThoughtState
    news: News
    ledger: Ledger = field(default_factory=Ledger)

    async def before_asking(self, site: str) -> None:
        """Keeps the lease for as long as this question may take, if one may be asked.

        Raises:
            LeaseLost, BudgetSpent.
        """
        settings = self.resources.settings
        longest = CALL_SITES[site].deadline_s * settings.model_patience + settings.lease_s

        async def work(tx: SpaceTransaction) -> tuple[bool, str | None]:
            return await take(tx, Leased.COGNITION, self.holder, longest), await spent_today(tx, settings)

        held, spent = await self.resources.database.in_space(self.space.id, work)
        if not held:
            raise LeaseLost
        if spent is not None:
            raise BudgetSpent(spent)

    async def read(self, work: Callable[[SpaceTransaction], Awaitable[T]]) -> T:
        """What `work` reads of the space, in a transaction of its own."""
        return await self.resources.database.in_space(self.space.id, work)


@dataclass(frozen=True, slots=True)
class Written:
    """The memories that a conclusion became, and those in whose place they stand.

    `concluded` is False where there was nothing to conclude, and only that was written down.
    """

    ids: tuple[int, ...] = ()
    superseded: tuple[int, ...] = ()
    concluded: bool = True


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a layer came to, all questions asked.

    Attributes:
        told: what it is in a sentence, without a word of any memory.
        read: the memories that it was made of; if one has changed by the time it is written, it isn't.
        marks: at which content each of them is used now.
        write: stores it, with the space locked; gets the run's id.
    """

    layer: Layer
    told: str
    read: tuple[StoredMemory, ...]
    made_by: str | None
    marks: Mapping[int, str]
    write: Callable[[SpaceTransaction, int], Awaitable[Written]]


LayerFunction = Callable[[Thinking], AsyncIterator[Conclusion]]
"""Raises ModelUnavailable or EmbeddingUnavailable for an outage; every other error is a failure of this run."""


async def write_conclusion(thinking: Thinking, conclusion: Conclusion) -> Written | None:
    """Writes a conclusion, its run, its marks and what it cost in one transaction.

    Returns None, and counts the cost alone, if what it rests on has changed meanwhile.

    Raises:
        LeaseLost: nothing was written.
    """

    uses = tuple(thinking.ledger.uses)

    async def write(tx: SpaceTransaction) -> Written | None:
        await lock_space(tx)
        if not await held(tx, Leased.COGNITION, thinking.holder):
            raise LeaseLost
        await record_usage(tx, uses)
        if not await _unchanged(tx, thinking.space, conclusion.read):
            return None
        run_id = await record_run(
            tx,
            conclusion.layer,
            thinking.trigger,
            began_at=thinking.began_at,
            status="done",
            told=conclusion.told,
            made_by=conclusion.made_by,
            read_ids=[memory.id for memory in conclusion.read],
            audience=next((memory.audience for memory in conclusion.read if memory.audience is not None), None),
        )
        written = await conclusion.write(tx, run_id)
        await set_wrote(tx, run_id, written.ids, written.superseded)
        await note(tx, "conclude", written.ids)
        await set_marks(tx, conclusion.layer, conclusion.marks, run_id)
        return written

    written = await thinking.resources.database.in_space(thinking.space.id, write, writer=True)
    del thinking.ledger.uses[: len(uses)]
    return written


async def spent_today(tx: SpaceTransaction, settings: Settings) -> str | None:
    """Why no model may be asked in the background of this space any more today, or None."""
    used = await used_today(tx)
    return settings.budget_spent(used.calls, used.tokens)


async def record_failure(thinking: Thinking, layer: Layer, why: str) -> None:
    """Keeps that a layer failed, and why, in words that come from no memory."""

    async def write(tx: SpaceTransaction) -> None:
        await record_run(tx, layer, thinking.trigger, began_at=thinking.began_at, status="failed", told=why)

    await thinking.resources.database.in_space(thinking.space.id, write)


async def record_questions(thinking: Thinking) -> None:
    """Counts what models were asked of which nothing came."""
    uses, thinking.ledger.uses[:] = list(thinking.ledger.uses), []

    async def write(tx: SpaceTransaction) -> None:
        await record_usage(tx, uses)

    if uses:
        await asyncio.shield(thinking.resources.database.in_space(thinking.space.id, write))


async def prepared(thinking: Thinking, draft: Draft, *, max_chunk_bytes: int | None = None) -> NewText:
    """A conclusion's text, chunked and embedded. Raises EmbeddingUnavailable, EmbeddingFailed."""
    most = max_chunk_bytes or thinking.resources.settings.max_chunk_bytes
    (text,) = await prepare([draft], thinking.resources.embedder, most)
    return text


async def store(tx: SpaceTransaction, resources: Resources, space: SpaceRow, text: NewText) -> tuple[int, ...]:
    """Adds one prepared text, which is never merged with another; returns the ids of its chunks."""
    await begin_writing(tx, resources, space)
    (ids,) = await insert_texts(tx, [text], resources.family.id)
    return ids


def evidence_of(memories: Sequence[StoredMemory]) -> tuple[Evidence, ...]:
    """Memories as what another one rests on; their words stay in them alone."""
    return tuple(Evidence(MEMORY, str(each.id), each.speaker, each.source_date, trust=each.trust) for each in memories)


async def _unchanged(tx: SpaceTransaction, space: SpaceRow, memories: Sequence[StoredMemory]) -> bool:
    rows: Mapping[int, MemoryRow] = await read_rows(tx, space.name, [memory.id for memory in memories])
    return all(
        memory.id in rows
        and rows[memory.id].memory.summary == memory.summary
        and rows[memory.id].memory.superseded_at is None
        and rows[memory.id].memory.audience == memory.audience
        for memory in memories
    )
