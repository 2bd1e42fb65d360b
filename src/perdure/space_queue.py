"""Operating a space: its queue, what it counts, and what was given up."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Mapping

from perdure import door, ingest
from perdure.errors import NotFound
from perdure.ingest import DrainReport
from perdure.space_handle import SpaceHandle
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.documents import count_documents
from perdure.store.failed import count_failed, drop_failed, list_failed, read_context, requeue_failed
from perdure.store.queue import backlog
from perdure.store.spaces import read_state
from perdure.store.usage import UsageRow, read_usage, used_today
from perdure.types import FailedOperation, Id, SpaceStats

MAX_DRAIN_S = 86_400
DRAIN_POLL_S = 0.2
MAX_DAYS = 366
MAX_FAILED_LISTED = 10_000


class SpaceQueue(SpaceHandle):
    """A handle on one space, bound to an audience, with the verbs that keep its queue going."""

    async def drain(self, timeout_s: float = 60.0) -> DrainReport:
        """Works off this space's queue now and waits for what another worker holds; for scripts and tests.

        Args:
            timeout_s: seconds after which no batch (of 32 exchanges) is begun and nobody is waited for any more; the
                batch at hand is finished. The first batch is worked off in any case.

        Returns:
            What was done, and how much still waits (backing off, or the embedder is unreachable).
        """
        longest = door.require_seconds(timeout_s, "timeout_s", MAX_DRAIN_S)
        space = await self._memory.find_space(self.name)
        if space is None:
            return DrainReport(0, 0, 0)
        clock = self._resources.database.clock
        end = clock.monotonic() + longest
        total = DrainReport(0, 0, 0)
        while True:
            total += await ingest.drain_pending_triage(
                self._resources,
                space,
                f"drain-{uuid.uuid4()}",
                jitter=random.random(),
                until=end,
            )
            leased = (await self._in(space, backlog)).leased
            if not leased or clock.monotonic() >= end:
                return total
            await asyncio.sleep(DRAIN_POLL_S)

    async def stats(self) -> SpaceStats:
        """Counts of this space: what it holds, what waits or failed, its embedding family, what models were asked."""
        space = await self._require_space()
        settings = self._resources.settings

        async def read(tx: SpaceTransaction) -> SpaceStats:
            state = await read_state(tx)
            waiting = await backlog(tx)
            used = await used_today(tx)
            return SpaceStats(
                space=space.name,
                memories=state.memories if state else 0,
                pending=waiting.pending,
                oldest_pending=waiting.oldest,
                failed=await count_failed(tx),
                family=self._resources.family_names.get(state.family_id) if state and state.family_id else None,
                created_at=space.created_at,
                waiting={str(queue): count for queue, count in waiting.of.items()},
                model_calls=used.calls,
                model_tokens=used.tokens,
                paused=settings.budget_spent(used.calls, used.tokens)
                or await ingest.left_to_models(tx, self._resources),
                documents=await count_documents(tx),
            )

        return await self._in(space, read)

    async def usage(self, *, days: int = 7) -> tuple[UsageRow, ...]:
        """What language models were asked in the last 1..366 days (UTC): by day, call site and model, newest first."""
        most = door.require_number(days, "days", 1, MAX_DAYS)
        space = await self._memory.find_space(self.name)
        if space is None:
            return ()

        async def read(tx: SpaceTransaction) -> tuple[UsageRow, ...]:
            return tuple(await read_usage(tx, most))

        return await self._in(space, read)

    async def failed(self, *, limit: int = 1000, after: int | None = None) -> tuple[FailedOperation, ...]:
        """What was given up after its last attempt, oldest first: 1..10000 of them; `after` is the id of the last seen.

        What was said is not in them; `failed_context` has it. A handle of an audience sees, replays and drops its own
        and those of the whole space; a handle of the whole space, which an operator holds, all of them.
        """
        most = door.require_number(limit, "limit", 1, MAX_FAILED_LISTED)
        seen = 0 if after is None else door.require_id(after, "after")
        space = await self._memory.find_space(self.name)
        if space is None:
            return ()

        async def read(tx: SpaceTransaction) -> tuple[FailedOperation, ...]:
            return tuple(await list_failed(tx, most, self.audience, after=seen))

        return await self._in(space, read)

    async def failed_context(self, failed_id: int) -> Mapping[str, object]:
        """All that is known of one failed operation, what was said included.

        Raises:
            NotFound: it is not there for this audience.
        """
        wanted = door.require_id(failed_id)
        space = await self._require_space()

        async def read(tx: SpaceTransaction) -> Mapping[str, object] | None:
            return await read_context(tx, wanted, self.audience)

        context = await self._in(space, read)
        if context is None:
            hint = "It was replayed or dropped, or belongs to another audience; `perdure failed list` shows the ids."
            raise NotFound(f"Space {space.name!r} has no failed operation {wanted}.", hint=hint)
        return context

    async def replay_failed(self, *failed_ids: int) -> tuple[Id, ...]:
        """Puts failed exchanges back into the queue, as if they had been captured now; without ids all of them.

        Safe to repeat: what is back in the queue already, or was dropped, is not put back again.

        Returns:
            The ids that were put back.
        """
        wanted = [door.require_id(failed_id) for failed_id in failed_ids]
        space = await self._require_space()

        async def write(tx: SpaceTransaction) -> tuple[int, ...]:
            found = await requeue_failed(tx, wanted or None, self.audience)
            await note(tx, "replay_failed", found)
            return tuple(found)

        return await self._in(space, write)

    async def drop_failed(self, *failed_ids: int) -> tuple[Id, ...]:
        """Erases failed operations with what was said. Cannot be undone; safe to repeat.

        Returns:
            The ids that were there.
        """
        wanted = [door.require_id(failed_id) for failed_id in failed_ids]
        space = await self._require_space()

        async def write(tx: SpaceTransaction) -> tuple[int, ...]:
            found = await drop_failed(tx, wanted, self.audience)
            await note(tx, "drop_failed", found)
            return tuple(found)

        return await self._in(space, write)
