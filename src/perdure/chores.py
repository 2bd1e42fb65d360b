"""What a heartbeat does, in its order: drain, recall for tasks, keep up, think. Each has a share of the time."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from perdure.calibrating import freshen
from perdure.cognition import think
from perdure.errors import DatabaseUnavailable, without_words
from perdure.ingest import drain_pending_triage
from perdure.resources import Resources
from perdure.store.crossing import DueSpace, find_due_spaces, find_spaces_with_news, find_unkept_spaces
from perdure.store.database import Transaction
from perdure.store.spaces import SpaceRow, read_space
from perdure.upkeep import keep_up

SHARE: Final = 64
"""Rows kept verbatim in one space before the next one has its turn."""
JUDGED_SHARE: Final = 8
"""The same where a language model judges each of them, which takes seconds."""
PAGE: Final = 1000
"""Spaces that one look finds at once."""

log = logging.getLogger("perdure.worker")


@dataclass(frozen=True, slots=True)
class Chores:
    """Work over all spaces in the name of one worker.

    `stopping` says that no further piece of it may be begun. What goes wrong in one space keeps no other from its turn;
    DatabaseUnavailable is raised where the finders meet it.
    """

    resources: Resources
    holder: str
    stopping: Callable[[], bool]

    async def drain(self, *, quiet: timedelta | None, until: float) -> int:
        """Drains what is due, in fair shares; returns the number of exchanges settled.

        Only spaces in which nothing came in for so long (`quiet`; None: all of them). A space in which nothing could be
        done is left until the next time.
        """
        judged = self.resources.models.can("triage")
        beside = max(1, self.resources.models.slots("triage"))

        async def drain(space: SpaceRow) -> int:
            report = await drain_pending_triage(
                self.resources,
                space,
                self.holder,
                jitter=random.random(),
                most=JUDGED_SHARE if judged else SHARE,
                until=until,
            )
            if report.outage:
                log.warning("space %d waits: %s", space.id, report.outage)
            elif report.done:
                await freshen(self.resources, space)
            return report.done + report.failed + report.followed_up

        async def due(tx: Transaction, skipped: Collection[int]) -> list[int]:
            since = None if quiet is None else tx.now - quiet
            found: list[DueSpace] = await find_due_spaces(tx, quiet_since=since, skipped=skipped, limit=PAGE)
            return [row.space_id for row in found]

        return await self._over_spaces(due, drain, until=until, beside=beside, again=True)

    async def keep_up(self, *, until: float) -> int:
        """Keeps up the spaces that nobody has kept up for the interval; returns how many."""
        interval = self.resources.settings.upkeep_interval

        async def keep(space: SpaceRow) -> int:
            report = await keep_up(self.resources, space, self.holder, until=until, stopping=self.stopping)
            return int(report.finished and not report.busy)

        async def due(tx: Transaction, skipped: Collection[int]) -> list[int]:
            return await find_unkept_spaces(tx, before=tx.now - interval, skipped=skipped, limit=PAGE)

        return await self._over_spaces(due, keep, until=until)

    async def think(self, *, until: float, starting: bool) -> int:
        """Thinks about the spaces where a run is due; returns how many conclusions were written.

        `starting`: the worker has only begun, and looks at who the user is where no run is due.
        """
        if not self.resources.models.can("consolidation"):
            return 0

        async def conclude(space: SpaceRow) -> int:
            run = partial(think, self.resources, space, self.holder, until=until, stopping=self.stopping)
            report = await run()
            if report.trigger is None and starting:
                report = await run(trigger="start")
            if report.outage:
                log.warning("space %d is not thought about: %s", space.id, report.outage)
            return sum(report.conclusions.values())

        async def due(tx: Transaction, skipped: Collection[int]) -> list[int]:
            return await find_spaces_with_news(tx, skipped=skipped, limit=PAGE)

        return await self._over_spaces(due, conclude, until=until)

    async def _over_spaces(
        self,
        due: Callable[[Transaction, Collection[int]], Awaitable[list[int]]],
        work: Callable[[SpaceRow], Awaitable[int]],
        *,
        until: float,
        beside: int = 1,
        again: bool = False,
    ) -> int:
        """Does `work` in the spaces that `due` finds, until there are none; returns the sum of what was done.

        Each space has one turn, and with `again` further ones for as long as something is done in it.
        """
        clock = self.resources.database.clock
        done = 0
        skipped: set[int] = set()

        async def find(tx: Transaction) -> list[int]:
            return await due(tx, skipped)

        while not self._over(clock.monotonic(), until):
            found = await self.resources.database.across(find, as_worker=True)
            if not found:
                break
            for ids in _batched(found, beside):
                if self._over(clock.monotonic(), until):
                    break
                outcomes = await asyncio.gather(*(self._in(space_id, work) for space_id in ids))
                done += sum(filter(None, outcomes))
                skipped.update(
                    space_id for space_id, progress in zip(ids, outcomes, strict=True) if not (again and progress)
                )
                if None in outcomes:
                    break
        return done

    def _over(self, now: float, until: float) -> bool:
        return self.stopping() or now >= until

    async def _in(self, space_id: int, work: Callable[[SpaceRow], Awaitable[int]]) -> int | None:
        """What was done in one space. None: the database did not answer; the next look says if it is more than that."""

        async def read(tx: Transaction) -> SpaceRow | None:
            return await read_space(tx, space_id)

        try:
            space = await self.resources.database.across(read)
            return 0 if space is None else await work(space)
        except DatabaseUnavailable as error:
            log.warning("space %d waits for the database: %s", space_id, error.message)
            return None
        except Exception as error:
            log.error("space %d could not be worked on: %s", space_id, without_words(error))  # noqa: TRY400
        return 0


def _batched(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
