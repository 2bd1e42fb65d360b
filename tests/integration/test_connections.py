"""Connections: writers leave some for the turns, and dead ones are replaced before anybody notices."""

from __future__ import annotations

import asyncio
import logging
import time

import psycopg
import pytest

from perdure import DatabaseUnavailable, Memory, Space
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import lock_space
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory


async def hold(memory: Memory, space: Space, held: asyncio.Event, release: asyncio.Event) -> None:
    """Another writer of the space, as another process would be: it holds the lock on a connection of its own."""
    row = await memory.find_space(space.name)
    assert row is not None

    async def work(tx: SpaceTransaction) -> None:
        await lock_space(tx)
        held.set()
        await release.wait()

    await memory.resources.database.in_space(row.id, work)


async def test_many_saves_behind_a_locked_space_leave_recall_and_capture_quick(
    urls, embedder: HashedEmbedder, memory: Memory, space: Space
) -> None:
    await space.save("The landlord raises the rent in January")
    held, release = asyncio.Event(), asyncio.Event()
    async with open_memory(urls, embedder) as other:
        holder = asyncio.create_task(hold(other, space, held, release))
        await held.wait()
        saves = [asyncio.create_task(space.save(f"parallel text number {number}")) for number in range(12)]
        await asyncio.sleep(0.3)
        start = time.perf_counter()
        recall = await space.recall("When does the landlord raise the rent?")
        await space.capture(user="The rent is too high")
        assert time.perf_counter() - start < 1
        assert (recall.degraded, len(recall.memories)) == ((), 1)
        assert not any(save.done() for save in saves)
        release.set()
        await asyncio.gather(holder, *saves)
    assert (await space.stats()).memories == 13


async def test_locked_spaces_however_many_leave_connections_for_the_others(
    urls, embedder: HashedEmbedder, memory: Memory, space: Space
) -> None:
    spaces = [memory.space(f"{space.name}-{number}") for number in range(10)]
    for each in (space, *spaces):
        await each.save("The landlord raises the rent in January")
    release = asyncio.Event()
    async with open_memory(urls, embedder, database_pool_size=20) as other:
        events = [asyncio.Event() for _ in spaces]
        pairs = zip(spaces, events, strict=True)
        holders = [asyncio.create_task(hold(other, each, held, release)) for each, held in pairs]
        await asyncio.gather(*(event.wait() for event in events))
        saves = [asyncio.create_task(each.save("Something else")) for each in spaces]
        await asyncio.sleep(0.3)
        start = time.perf_counter()
        assert (await space.recall("When does the landlord raise the rent?")).memories
        assert time.perf_counter() - start < 1
        release.set()
        await asyncio.gather(*holders, *saves)


async def test_a_writer_waits_for_its_turn_no_longer_than_its_timeout(memory: Memory, space: Space) -> None:
    await space.save("The landlord raises the rent in January")
    row = await memory.find_space(space.name)
    assert row is not None
    database = memory.resources.database
    release = asyncio.Event()

    async def wait(tx: SpaceTransaction) -> None:
        await release.wait()

    first = asyncio.create_task(database.in_space(row.id, wait, writer=True))
    await asyncio.sleep(0.05)
    with pytest.raises(DatabaseUnavailable):
        await database.in_space(row.id, lock_space, writer=True, timeout_s=0.2)
    release.set()
    await first
    await database.in_space(row.id, lock_space, writer=True)


async def test_dead_connections_are_replaced_within_the_call_that_finds_them(
    fresh_database, embedder: HashedEmbedder, test_server, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_memory(fresh_database, embedder) as memory:
        space = memory.space("ada")
        await space.save("The landlord raises the rent in January")
        await asyncio.gather(*(space.recall("When does the landlord raise the rent?") for _ in range(30)))
        for _ in range(2):
            with psycopg.connect(test_server.server_url, autocommit=True) as admin:
                ended = admin.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE usename IN ('perdure_app', 'perdure_worker') AND datname = %s",
                    (memory.resources.database._urls.app.rpartition("dbname=")[2].split()[0],),
                ).fetchone()
            assert ended is not None
            assert ended[0] >= 4
            start = time.perf_counter()
            recall = await space.recall("When does the landlord raise the rent?")
            assert (recall.degraded, len(recall.memories)) == ((), 1)
            await asyncio.gather(*(space.save(f"text {number} of {start}") for number in range(8)))
            await space.capture(user="The rent is too high")
            assert time.perf_counter() - start < 3
            await asyncio.gather(*(space.recall("When does the landlord raise the rent?") for _ in range(30)))
        assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
