"""A database that stops answering: frozen, as behind a network that swallows packets, or gone for a while."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from perdure import Memory
from perdure.store import database as database_module
from perdure.store.embedded import EmbeddedServer
from perdure.store.migrate import migrate
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows can't freeze a process by a signal")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer.open(tmp_path_factory.mktemp("frozen")) as server:
        migrate(server.urls.owner)
        yield server


@pytest.fixture
async def memory(server: EmbeddedServer) -> AsyncIterator[Memory]:
    async with open_memory(server.urls, HashedEmbedder()) as memory:
        yield memory


@contextmanager
def frozen(server: EmbeddedServer) -> Iterator[None]:
    """Every process of the server is stopped where it is: first the one that could make others."""
    postmaster = int((server.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    stopped = [postmaster]
    try:
        os.kill(postmaster, signal.SIGSTOP)
        for child in psutil.Process(postmaster).children(recursive=True):
            stopped.append(child.pid)
            os.kill(child.pid, signal.SIGSTOP)
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


async def test_a_frozen_database_costs_a_turn_the_deadline_and_no_more(server: EmbeddedServer, memory: Memory) -> None:
    space = memory.space("ada")
    await space.save("The landlord raises the rent in January")
    assert (await space.recall("When does the landlord raise the rent?")).memories
    with frozen(server):
        start = time.perf_counter()
        recall = await space.recall("When does the landlord raise the rent?", deadline_s=0.5)
        assert time.perf_counter() - start < 1
        assert (recall.memories, recall.tail) == ((), "")
        assert recall.degraded[0].startswith("database")
        start = time.perf_counter()
        recalls = await asyncio.gather(*(space.recall("And the rent?", deadline_s=0.5) for _ in range(20)))
        assert time.perf_counter() - start < 1.5
        assert all(recall.degraded for recall in recalls)
        # The first look-up of a space is inside the deadline too.
        start = time.perf_counter()
        assert (await memory.space("nobody").recall("And the rent?", deadline_s=0.5)).degraded
        assert time.perf_counter() - start < 1
    async with asyncio.timeout(5):
        while not (await space.recall("When does the landlord raise the rent?")).memories:
            await asyncio.sleep(0.1)
        await space.save("The pool is whole again")


async def test_a_memory_closes_although_its_database_is_frozen(server: EmbeddedServer) -> None:
    memory = await open_memory(server.urls, HashedEmbedder(), worker=True, idle_drain_s=0)
    space = memory.space("ada")
    await space.capture(user="The bicycle is blue")
    with frozen(server):
        assert (await space.recall("What colour is the bicycle?", deadline_s=0.3)).degraded
        start = time.perf_counter()
        await memory.close()
        assert time.perf_counter() - start < 15


async def test_a_memory_finds_its_server_again_after_an_outage_longer_than_its_pools_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "RECONNECT_S", 1.0)
    with EmbeddedServer.open(tmp_path / "data") as server:
        migrate(server.urls.owner)
        async with open_memory(server.urls, HashedEmbedder(), database_timeout_s=10) as memory:
            space = memory.space("ada")
            await space.save("The landlord raises the rent in January")
            await asyncio.gather(*(space.recall("When does the landlord raise the rent?") for _ in range(20)))
            os.kill(int((tmp_path / "data" / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            start = time.perf_counter()
            recalls = await asyncio.gather(*(space.recall("And the rent?", deadline_s=0.5) for _ in range(10)))
            assert time.perf_counter() - start < 2
            assert all(recall.degraded for recall in recalls)
            await asyncio.sleep(5)
            with await asyncio.to_thread(EmbeddedServer.open, tmp_path / "data"):
                async with asyncio.timeout(8):
                    await space.save("The server is back")
                assert len(await space.list()) == 2
