"""Draining the queue: claimed exchanges become memories, in order of capture, exactly once.

Without a language model the route is verbatim: what was said is kept as it was said. No embedding call happens inside a
transaction; a row leaves the queue in the very transaction that stores its memories.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from perdure.errors import DatabaseUnavailable, EmbeddingUnavailable, FamilyMismatch, PerdureError
from perdure.ingest.drafts import Draft, prepare
from perdure.ingest.writing import write_texts
from perdure.resources import Resources
from perdure.rules.backoff import retry_delay_s
from perdure.store.database import SpaceTransaction
from perdure.store.failed import record_failure
from perdure.store.memories import NewText
from perdure.store.queue import Queue, QueuedWork, backlog, claim, finish, retry_later
from perdure.store.spaces import SpaceRow, lock_space
from perdure.text import ASSISTANT, has_letter_or_digit
from perdure.types import Evidence, Trust

BATCH = 32
OUTAGE_PAUSE = timedelta(seconds=15)
LET_GO_S = 0.5
"""How long a cancelled drain tries to give its rows back; below the time that the worker leaves it."""
CANCELLED = "the drain was cancelled"
VERBATIM = "verbatim-1"

log = logging.getLogger("perdure.ingest")


@dataclass(frozen=True, slots=True)
class DrainReport:
    """What one drain did: exchanges stored, moved to failed_operations, and still waiting (backing off or leased)."""

    done: int
    failed: int
    waiting: int
    outage: str | None = None


class LeaseLost(PerdureError):
    """Another worker took the row over; this one's work on it is rolled back."""

    code = "lease_lost"


class Outage(Exception):
    """Something outside did not answer: the rows wait and no attempt is used up."""


async def drain_pending_triage(
    resources: Resources,
    space: SpaceRow,
    holder: str,
    *,
    jitter: float = 0.5,
    most: int | None = None,
    until: float | None = None,
) -> DrainReport:
    """Drains what is due in one space, batch by batch, until nothing due is left or `most` rows were taken.

    Args:
        resources: the opened database, embedder and settings.
        space: the space to drain.
        holder: the name of this worker in leases; unique per worker.
        jitter: 0..1, spreads retries.
        most: stop after about this many rows, so that other spaces get their share; None for all.
        until: begin no batch after this time of the clock's `monotonic`; None for no end. The first one is always done.

    Raises:
        DatabaseUnavailable: the database went away; leases run out and the rows are taken up again.
    """
    done = failed = 0
    outage: str | None = None
    clock = resources.database.clock
    late = False
    while outage is None and not late and (most is None or done + failed < most):
        rows = await _claim(resources, space, holder)
        if not rows:
            break
        try:
            finished, gave_up = await _settle(resources, space, holder, rows, jitter)
            done, failed = done + finished, failed + gave_up
        except Outage as error:
            outage = str(error)
            await _give_back(resources, space, holder, rows, outage)
        except asyncio.CancelledError:
            await _let_go(resources, space, holder, rows)
            raise
        late = until is not None and clock.monotonic() >= until

    async def count(tx: SpaceTransaction) -> int:
        return (await backlog(tx)).pending

    return DrainReport(done, failed, await resources.database.in_space(space.id, count), outage)


def verbatim_drafts(row: QueuedWork) -> list[Draft]:
    """What an exchange says, kept as it was said: the user's words, the reply and each tool's answer."""
    payload = row.payload
    operation = str(payload["operation_id"])

    def draft(text: str, trust: Trust, speaker: str | None) -> Draft:
        return Draft(
            text=text,
            source="conversation",
            trust=trust,
            source_date=row.occurred_at,
            speaker=speaker,
            audience=row.audience,
            conversation_id=row.conversation_id or None,
            made_by=VERBATIM,
            # A tool answers, but it is nobody who said something.
            evidence=(
                Evidence("exchange", operation, None if trust is Trust.TOOL else speaker, row.occurred_at, text[:500]),
            ),
        )

    said = [
        draft(payload["user"], Trust.USER, row.speaker),
        draft(payload["assistant"], Trust.ASSISTANT, ASSISTANT),
        *(draft(tool["content"], Trust.TOOL, tool["name"] or "tool") for tool in payload["tools"] if tool["ok"]),
    ]
    return [one for one in said if has_letter_or_digit(one.text)]


async def _claim(resources: Resources, space: SpaceRow, holder: str) -> list[QueuedWork]:
    async def take(tx: SpaceTransaction) -> list[QueuedWork]:
        await lock_space(tx)
        return await claim(
            tx, Queue.TRIAGE, holder, limit=BATCH, visibility=timedelta(seconds=resources.settings.lease_s)
        )

    return await resources.database.in_space(space.id, take, writer=True)


async def _settle(
    resources: Resources, space: SpaceRow, holder: str, rows: Sequence[QueuedWork], jitter: float
) -> tuple[int, int]:
    """Stores the rows together; if that fails, one by one, so that one bad row keeps only its conversation waiting."""
    try:
        await _store(resources, space, holder, rows)
    except LeaseLost:
        return 0, 0
    except Exception as error:
        _raise_outage(error)
        log.info("a batch of %d exchanges failed (%s); trying them one by one", len(rows), type(error).__name__)
    else:
        return len(rows), 0

    done = failed = 0
    blocked: set[str] = set()
    for row in rows:
        # Exchanges that name no conversation don't follow each other.
        if row.conversation_id and row.conversation_id in blocked:
            await _give_back(resources, space, holder, [row], "waits for an earlier exchange of its conversation")
            continue
        try:
            await _store(resources, space, holder, [row])
            done += 1
        except LeaseLost:
            blocked.add(row.conversation_id)
        except Exception as error:
            _raise_outage(error)
            if await _failed(resources, space, holder, row, error, jitter=jitter):
                failed += 1
            else:
                blocked.add(row.conversation_id)
    return done, failed


async def _store(resources: Resources, space: SpaceRow, holder: str, rows: Sequence[QueuedWork]) -> None:
    drafts = [draft for row in rows for draft in verbatim_drafts(row)]
    texts: list[NewText] = []
    if drafts:
        texts = await prepare(drafts, resources.embedder, resources.settings.max_chunk_bytes)

    async def write(tx: SpaceTransaction) -> None:
        await write_texts(tx, resources, space, texts)
        for row in rows:
            if not await finish(tx, row, holder):
                raise LeaseLost(f"The lease on exchange {row.id} ran out.")

    await resources.database.in_space(space.id, write, writer=True)


def _raise_outage(error: Exception) -> None:
    if isinstance(error, DatabaseUnavailable):
        raise error
    if isinstance(error, EmbeddingUnavailable | FamilyMismatch):
        raise Outage(str(error)) from error


async def _failed(
    resources: Resources, space: SpaceRow, holder: str, row: QueuedWork, error: Exception, *, jitter: float
) -> bool:
    """Counts a failed attempt; True if it was the last one and the row moved to failed_operations."""
    attempts = row.attempts + 1
    text = f"{type(error).__name__}: {error}"

    async def write(tx: SpaceTransaction) -> bool:
        if attempts < resources.settings.max_attempts:
            later = tx.now + timedelta(seconds=retry_delay_s(attempts, jitter))
            await retry_later(tx, row, holder, failed=True, not_before=later, error=text)
            return False
        if await finish(tx, row, holder):
            await record_failure(tx, row, text)
        return True

    return await resources.database.in_space(space.id, write)


async def _let_go(resources: Resources, space: SpaceRow, holder: str, rows: Sequence[QueuedWork]) -> None:
    """Ends the leases of a cancelled drain at once; a database that doesn't answer in time lets them run out."""
    giving = asyncio.create_task(_give_back(resources, space, holder, rows, CANCELLED))
    try:
        done, _ = await asyncio.wait({giving}, timeout=LET_GO_S)
    except asyncio.CancelledError:
        giving.cancel()
        raise
    if not done:
        giving.cancel()
    elif giving.exception() is not None:
        log.info("the leases of a cancelled drain run out by themselves")


async def _give_back(resources: Resources, space: SpaceRow, holder: str, rows: Sequence[QueuedWork], why: str) -> None:
    pause = timedelta(0) if why == CANCELLED else OUTAGE_PAUSE

    async def write(tx: SpaceTransaction) -> None:
        for row in rows:
            await retry_later(tx, row, holder, failed=False, not_before=tx.now + pause, error=why)

    await resources.database.in_space(space.id, write)
