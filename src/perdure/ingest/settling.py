"""How work leaves its queue: done, given back, or given up; each in one transaction.

What models were asked is recorded with it, whatever came of it; only a drain that loses its database leaves that
uncounted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from perdure.errors import (
    DatabaseUnavailable,
    EmbeddingUnavailable,
    FamilyMismatch,
    ModelFailed,
    ModelUnavailable,
    PerdureError,
)
from perdure.ingest.lanes import Next
from perdure.ingest.outcomes import ids_of
from perdure.ingest.usefulness import learn_of
from perdure.ingest.work import ROUNDS, Ready, Unjudged
from perdure.llm import Ledger
from perdure.resources import Resources
from perdure.rules.backoff import retry_delay_s
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.failed import record_failure
from perdure.store.queue import QueuedWork, finish, retry_later
from perdure.store.spaces import SpaceRow, lock_space
from perdure.store.usage import record_usage, recording
from perdure.text import mask
from perdure.types import Outcome

OUTAGE_PAUSE = timedelta(seconds=15)
CONTENDED = "memories near to it kept coming in; it is judged again later"
LET_GO_S = 0.5
"""How long a cancelled drain tries to give its rows back; below the time that the worker leaves it."""
CANCELLED = "the drain was cancelled"

log = logging.getLogger("perdure.ingest")


class LeaseLost(PerdureError):
    """Another worker took the row over; this one's work on it is rolled back."""

    code = "lease_lost"


class Contended(Exception):
    """Whatever was judged, something new had come in by then."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Ends pieces of work of one space in the name of one holder of leases."""

    resources: Resources
    space: SpaceRow
    holder: str
    jitter: float

    async def finish(
        self, works: Sequence[QueuedWork], ready: Ready, ledger: Ledger, following: Next | None = None
    ) -> tuple[Outcome, ...]:
        """Writes what is ready, takes the rows, all of one queue, off it, and takes what is to be done next.

        Raises:
            LeaseLost: somebody else has a row by now. Contended: see there. Nothing was written.
        """

        async def write(tx: SpaceTransaction) -> tuple[Outcome, ...]:
            await lock_space(tx)
            if not await finish(tx, works, self.holder, recording(tx, ledger.uses)):
                named = ", ".join(f"{work.kind} {work.id}" for work in works)
                raise LeaseLost(f"The lease on {named} ran out.")
            outcomes = await ready.write(tx)
            await learn_of(tx, self.resources, self.space, works, outcomes)
            await note(tx, "drain", ids_of(outcomes), touched=len(works))
            if following is not None:
                await following.take(tx)
            return tuple(outcomes)

        for _ in range(ROUNDS):
            try:
                outcomes = await self.resources.database.in_space(self.space.id, write, writer=True)
            except Unjudged as found:
                if ready.judge is None:
                    raise
                await ready.judge(found.ids)
            else:
                ledger.stored()
                return outcomes
        raise Contended(CONTENDED)

    async def fail(self, work: QueuedWork, error: Exception, ledger: Ledger) -> bool:
        """Counts a failed attempt; True if it was the last one and the row moved to failed_operations.

        False, too, where another worker has the row by now.
        """
        attempts = work.attempts + 1
        text = mask(f"{type(error).__name__}: {error}").text
        answer = mask(error.answer).text if isinstance(error, ModelFailed) else None

        async def write(tx: SpaceTransaction) -> bool:
            if attempts < self.resources.settings.max_attempts:
                later = tx.now + timedelta(seconds=retry_delay_s(attempts, self.jitter))
                await record_usage(tx, ledger.uses)
                await retry_later(tx, work, self.holder, failed=True, not_before=later, error=text)
                return False
            if not await finish(tx, [work], self.holder, recording(tx, ledger.uses)):
                return False
            await record_failure(tx, work, text, answer)
            return True

        last = await self.resources.database.in_space(self.space.id, write)
        ledger.stored()
        return last

    async def count(self, ledger: Ledger) -> None:
        """Records what models were asked for work that somebody else has taken over."""

        async def write(tx: SpaceTransaction) -> None:
            await record_usage(tx, ledger.uses)

        if ledger.uses:
            await self.resources.database.in_space(self.space.id, write)
            ledger.stored()

    async def give_back(
        self, works: Sequence[QueuedWork], why: str, ledger: Ledger | None = None, *, pause: timedelta = OUTAGE_PAUSE
    ) -> None:
        """Ends the leases without counting an attempt; the rows are due again after `pause`."""
        told = mask(why).text

        async def write(tx: SpaceTransaction) -> None:
            if ledger is not None:
                await record_usage(tx, ledger.uses)
            for work in works:
                await retry_later(tx, work, self.holder, failed=False, not_before=tx.now + pause, error=told)

        await self.resources.database.in_space(self.space.id, write)
        if ledger is not None:
            ledger.stored()

    async def let_go(self, works: Sequence[QueuedWork], ledger: Ledger) -> None:
        """Ends the leases of a cancelled drain at once, and records what was asked for it.

        A database that doesn't answer in time lets the leases run out.
        """
        if not works:
            return
        giving = asyncio.create_task(self.give_back(works, CANCELLED, ledger, pause=timedelta(0)))
        try:
            done, _ = await asyncio.wait({giving}, timeout=LET_GO_S)
        except asyncio.CancelledError:
            giving.cancel()
            raise
        if not done:
            giving.cancel()
        elif giving.exception() is not None:
            log.info("the leases of a cancelled drain run out by themselves")


def outage_of(error: Exception) -> str | None:
    """What is out of reach, if the error says nothing about the work at hand; the database's own is raised again."""
    if isinstance(error, DatabaseUnavailable):
        raise error
    return str(error) if isinstance(error, ModelUnavailable | EmbeddingUnavailable | FamilyMismatch) else None
