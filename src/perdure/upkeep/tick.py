"""One tick of upkeep in one space: short statements under a lease, safe at any cadence and from many processes.

Nothing that a tick does depends on when the last one was. Whoever is cut off leaves a space that is partly kept up,
and the next tick does the rest: where the last one left off for want of time, or all of it once more.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from perdure.errors import DatabaseUnavailable, without_words
from perdure.observing import Settled, observe
from perdure.resources import Resources
from perdure.store.aging import age, next_window
from perdure.store.audit import retire_admin_entries, retire_entries
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.items import sweep
from perdure.store.leases import Leased, end, take
from perdure.store.metric_samples import retire_samples
from perdure.store.spaces import SpaceRow
from perdure.store.upkeep import (
    WINDOW,
    Progress,
    finish,
    leave_off,
    read_progress,
    retire_archived,
    retire_changes,
    retire_history,
    retire_operations,
    retire_runs,
    retire_usage,
)
from perdure.upkeep.pruning import prune
from perdure.upkeep.report import Tally, UpkeepReport

RETIRE_EVERY: Final = timedelta(days=1)
"""How often side tables are gone through."""

Drop = Callable[[SpaceTransaction, datetime], Awaitable[int]]
FORMER: Final[dict[str, Drop]] = {
    "memory_history": retire_history,
    "fact_history": retire_changes,
    "fact_archive": retire_archived,
}
"""Tables of what is no more, and how rows are dropped from them that became so before a day."""

log = logging.getLogger("perdure.upkeep")


async def keep_up(
    resources: Resources,
    space: SpaceRow,
    holder: str,
    *,
    audience: str | None = None,
    dry_run: bool = False,
    until: float | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> UpkeepReport:
    """Ages, prunes and retires what is due in one space.

    Args:
        holder: who does it; one at a time may in a space.
        audience: whose memories a report may name.
        dry_run: nothing is changed, and no lease is needed.
        until: the clock's monotonic time at which the tick stops; the next one does the rest.
        stopping: says so, too.

    Raises:
        DatabaseUnavailable: the database didn't answer; what was done until then stays done.
    """
    tally = Tally()
    clock = resources.database.clock

    def late() -> bool:
        return stopping() or (until is not None and clock.monotonic() >= until)

    if dry_run:
        left_off = await _windows(resources, space, tally, audience=audience, dry_run=True, stop=late)
        return tally.report(dry_run=True, finished=left_off is None)
    if not await _take(resources, space, holder):
        return UpkeepReport(busy=True)
    try:
        finished = await _tick(resources, space, holder, tally, audience=audience, stop=late)
    finally:
        await _end(resources, space, holder)
    report = tally.report(dry_run=False, finished=finished)
    observe(Settled("pruned", report.pruned))
    return report


async def _tick(
    resources: Resources,
    space: SpaceRow,
    holder: str,
    tally: Tally,
    *,
    audience: str | None,
    stop: Callable[[], bool],
) -> bool:
    """All of a tick, under the lease; returns whether it came to its end."""

    async def begin(tx: SpaceTransaction) -> tuple[datetime, Progress]:
        return tx.now, await read_progress(tx)

    began, progress = await resources.database.in_space(space.id, begin)
    retiring = progress.retired_at is None or not began - RETIRE_EVERY < progress.retired_at <= began
    left_off = await _windows(
        resources, space, tally, audience=audience, holder=holder, after=progress.reached, stop=stop
    )
    whole = left_off is None and (not retiring or await _retire(resources, space, tally, stop))

    async def write(tx: SpaceTransaction) -> None:
        if left_off is not None:
            await leave_off(tx, left_off, holder)
        elif whole:
            await finish(tx, finished_at=began, retired_at=began if retiring else None)

    await resources.database.in_space(space.id, write)
    return whole


async def _windows(
    resources: Resources,
    space: SpaceRow,
    tally: Tally,
    *,
    audience: str | None,
    stop: Callable[[], bool],
    holder: str | None = None,
    after: int = 0,
    dry_run: bool = False,
) -> int | None:
    """Goes through the rows of the space with ids above `after`, in their order.

    Returns the id after which it left off; None at the end.
    """
    while not stop():
        if holder is not None and not await _take(resources, space, holder):
            break

        async def window(tx: SpaceTransaction, after: int = after) -> int | None:
            return await next_window(tx, after)

        last = await resources.database.in_space(space.id, window)
        if last is None:
            return None
        if resources.settings.memory_decay_enabled and not dry_run:
            await _age(resources, space, after, last, tally)
        await prune(resources, space, after, last, tally, audience=audience, dry_run=dry_run)
        after = last
    return after


async def _age(resources: Resources, space: SpaceRow, after: int, last: int, tally: Tally) -> None:
    """Ages the rows with ids above `after` up to `last`; halves them until a row that is in the way stands alone."""

    async def write(tx: SpaceTransaction) -> int:
        return await age(tx, after, last)

    try:
        tally.aged += await resources.database.in_space(space.id, write)
    except DatabaseUnavailable:
        raise
    except Exception as error:
        if last - after > 1:
            middle = (after + last) // 2
            await _age(resources, space, after, middle, tally)
            await _age(resources, space, middle, last, tally)
            return
        log.error("memory %d could not be aged: %s", last, without_words(error))  # noqa: TRY400 - tracebacks quote
        tally.awkward.append(last)


async def _retire_small(resources: Resources, space: SpaceRow, tally: Tally) -> None:
    """Drops from side tables that are small enough for a statement each."""
    settings, database = resources.settings, resources.database

    async def usage(tx: SpaceTransaction) -> int:
        return await retire_usage(tx, tx.now - timedelta(days=settings.usage_days))

    async def runs(tx: SpaceTransaction) -> int:
        return await retire_runs(tx, tx.now - timedelta(days=settings.usage_days))

    async def samples(tx: SpaceTransaction) -> int:
        return await retire_samples(tx, tx.now - timedelta(days=settings.sample_days))

    async def entries(tx: SpaceTransaction) -> int:
        return await retire_entries(tx, tx.now - timedelta(days=settings.audit_days))

    async def admin_entries(tx: Transaction) -> int:
        return await retire_admin_entries(tx, tx.now - timedelta(days=settings.audit_days))

    tally.retired["store_items"] += await database.in_space(space.id, sweep)
    tally.retired["model_usage"] += await database.in_space(space.id, usage)
    tally.retired["cognition_runs"] += await database.in_space(space.id, runs)
    tally.retired["metric_samples"] += await database.in_space(space.id, samples)
    tally.retired["audit_log"] += await database.in_space(space.id, entries)
    # What belongs to no space goes along with any of them.
    await database.across(admin_entries)


async def _retire(resources: Resources, space: SpaceRow, tally: Tally, stop: Callable[[], bool]) -> bool:
    """Drops what side tables hold beyond their retention; returns whether all of it was gone through."""
    settings, database = resources.settings, resources.database

    await _retire_small(resources, space, tally)
    reached: str | None = ""
    while reached is not None:
        if stop():
            return False

        async def operations(tx: SpaceTransaction, after: str = reached) -> tuple[str | None, int]:
            return await retire_operations(tx, after, tx.now - timedelta(days=settings.operation_days))

        reached, gone = await database.in_space(space.id, operations)
        tally.retired["operations"] += gone
    return await _retire_former(resources, space, tally, stop)


async def _retire_former(resources: Resources, space: SpaceRow, tally: Tally, stop: Callable[[], bool]) -> bool:
    """Drops what memories and facts were before, if that is not kept for good; returns whether all was gone through."""
    days = resources.settings.history_days
    if days is None:
        return True
    for table, drop in FORMER.items():

        async def retire(tx: SpaceTransaction, drop: Drop = drop, kept: float = days) -> int:
            return await drop(tx, tx.now - timedelta(days=kept))

        gone = WINDOW
        while gone >= WINDOW:
            if stop():
                return False
            gone = await resources.database.in_space(space.id, retire)
            tally.retired[table] += gone
    return True


async def _take(resources: Resources, space: SpaceRow, holder: str) -> bool:
    async def work(tx: SpaceTransaction) -> bool:
        return await take(tx, Leased.UPKEEP, holder, resources.settings.lease_s)

    return await resources.database.in_space(space.id, work)


async def _end(resources: Resources, space: SpaceRow, holder: str) -> None:
    async def work(tx: SpaceTransaction) -> None:
        await end(tx, Leased.UPKEEP, holder)

    await resources.database.in_space(space.id, work)
