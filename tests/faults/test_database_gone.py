"""A database that is gone for a while: clients repeat their calls, the worker goes on when it is back."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from perdure.errors import DatabaseUnavailable
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure import Space
    from perdure.store.embedded import EmbeddedServer

CALLERS, EACH = 4, 12


@pytest.mark.parametrize("seconds", [1.5, pytest.param(30.0, marks=pytest.mark.long)])
async def test_captures_and_drains_survive_a_database_that_is_gone(
    fault_server: EmbeddedServer, new_space: Callable[[], str], seconds: float
) -> None:
    settings = {"worker": True, "idle_drain_s": 0.0, "heartbeat_interval_s": 1.0, "lease_s": 2.0}
    async with open_memory(fault_server.urls, HashedEmbedder(), **settings) as memory:
        space = memory.space(new_space())
        await space.capture(user="The parrot is called Polly", operation_id="first")
        talking = [asyncio.create_task(_caller(space, number)) for number in range(CALLERS)]
        await asyncio.sleep(0.3)
        stop(fault_server.data_dir)
        gone = time.monotonic()
        while time.monotonic() - gone < seconds:
            start = time.perf_counter()
            recall = await space.recall("What is the parrot called?", deadline_s=0.5)
            assert time.perf_counter() - start < 1.5
            assert recall.degraded
            assert not recall.memories
            await asyncio.sleep(0.2)
        from perdure.store.embedded import EmbeddedServer

        back = await asyncio.to_thread(EmbeddedServer.open, fault_server.data_dir)
        try:
            async with asyncio.timeout(60):
                assert await asyncio.gather(*talking) == [EACH] * CALLERS
                while (await space.stats()).pending:
                    await asyncio.sleep(0.1)
        finally:
            await asyncio.to_thread(back.close)
        said = Counter(memory.summary for memory in await space.list(limit=1000))
        wanted = {f"Caller {caller} says number {n}" for caller in range(CALLERS) for n in range(EACH)}
        assert said == Counter(wanted | {"The parrot is called Polly"})
        assert await space.failed() == ()
        for caller in range(CALLERS):
            told = [m for m in await space.list(limit=1000) if m.summary.startswith(f"Caller {caller} ")]
            assert [m.summary for m in sorted(told, key=lambda m: m.id)] == [
                f"Caller {caller} says number {n}" for n in range(EACH)
            ]


async def _caller(space: Space, number: int) -> int:
    """Captures one exchange after another, each until it is acknowledged; returns how many were."""
    for said in range(EACH):
        while True:
            try:
                await space.capture(
                    user=f"Caller {number} says number {said}",
                    conversation_id=f"talk-{number}",
                    operation_id=f"caller-{number}-{said}",
                )
            except DatabaseUnavailable:
                await asyncio.sleep(0.1)
            else:
                break
        await asyncio.sleep(0.05)
    return EACH


def stop(data_dir: Path) -> None:
    """Ends a server as its host does when that shuts down: orderly, but whatever its clients are at."""
    postmaster = psutil.Process(int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0]))
    os.kill(postmaster.pid, signal.SIGINT)
    postmaster.wait(30)
