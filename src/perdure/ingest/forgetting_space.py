"""Forgetting a space: its name at once, then every row of every table of spaces, found in the catalogue."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime
from typing import Final

from perdure.ingest.forgetting import Erased
from perdure.ingest.forgetting_origins import Progress
from perdure.ingest.receipt import Preview
from perdure.resources import Resources
from perdure.store.audit import note_admin
from perdure.store.catalogue import Table, tables_of_spaces
from perdure.store.database import SpaceTransaction
from perdure.store.erasing_space import (
    count_rows,
    delete_some,
    delete_space,
    server_time,
    still_open,
    take_name,
    unfinished,
)
from perdure.store.keys import let_go_of_space
from perdure.store.spaces import SpaceRow

BATCH: Final = 5000
"""Rows of one table that are removed in one transaction."""
LONGEST_OPEN_S: Final = 40.0
"""Seconds that others' transactions are waited for: none that writes may last longer (store/database.py)."""
POLL_S: Final = 0.2


async def forget_space(resources: Resources, space: SpaceRow | None, progress: Progress | None = None) -> Erased:
    """Erases a space. From the first moment on nobody finds it; killed in between, the next call goes on with it.

    Args:
        space: None, if it has lost its name already.
        progress: gets how many rows are gone, after each batch.

    Returns:
        What went of this space. What had been left of others goes, too, and is nobody's to know.
    """
    database = resources.database
    if space is not None:
        row = space

        async def begin(tx: SpaceTransaction) -> None:
            await take_name(tx, row)
            await let_go_of_space(tx, row.name)

        await database.in_space(row.id, begin, erasing=True)
    erased = Erased()
    for each in await database.across(unfinished):
        if space is not None and each.id == space.id:
            erased.add(await _empty(resources, each, progress))
        else:
            await _empty(resources, each, None)
    return erased


async def preview_space(tx: SpaceTransaction) -> Preview:
    """How many rows of each table would go."""
    counts = {table.name: await count_rows(tx, table) for table in await tables_of_spaces(tx)}
    return Preview(removed={name: n for name, n in sorted(counts.items()) if n})


async def _empty(resources: Resources, space: SpaceRow, progress: Progress | None) -> Erased:
    database = resources.database
    erased = Erased()
    at = await database.across(server_time)

    async def sweep() -> None:
        tables = await database.across(tables_of_spaces)
        for table in reversed(tables):
            while await _some(resources, space, table, erased):
                if progress is not None:
                    progress(erased.tally.removed.total())

    async def end(tx: SpaceTransaction) -> int:
        # Of two who erase it one alone tells of it.
        if gone := await delete_space(tx):
            await note_admin(tx, "forget_space", [space.id], touched=erased.tally.removed["memories"])
        return gone

    await sweep()
    await _wait_for_others(resources, at)
    await sweep()
    erased.tally.removed["spaces"] += await database.in_space(space.id, end, erasing=True)
    erased.touched |= erased.tally.tables
    return erased


async def _some(resources: Resources, space: SpaceRow, table: Table, erased: Erased) -> bool:
    """Removes a batch of rows; False once there are no more."""

    async def write(tx: SpaceTransaction) -> int:
        return await delete_some(tx, table, BATCH)

    gone = await resources.database.in_space(space.id, write, writer=True, erasing=True)
    erased.tally.removed.update(Counter({table.name: gone}))
    return gone >= BATCH


async def _wait_for_others(resources: Resources, at: datetime) -> None:
    """Until nobody can be writing who found the space while it still had its name."""
    clock = resources.database.clock
    until = clock.monotonic() + LONGEST_OPEN_S
    while clock.monotonic() < until and await resources.database.across(lambda tx: still_open(tx, at)):  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)  # nobody tells of the end of another process's transaction
