"""The heartbeat reaches every space, whatever is wrong with some of them, and ends when it is told to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from perdure import DatabaseUnavailable, Memory, SimulatedClock
from perdure import worker as worker_module
from perdure.worker import Worker
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
async def memory(fresh_database, embedder: HashedEmbedder, clock: SimulatedClock) -> AsyncIterator[Memory]:
    async with open_memory(fresh_database, embedder, clock=clock) as memory:
        yield memory


async def block(memory: Memory, name: str) -> None:
    """A space whose only due exchange waits for an earlier one of its conversation, which backs off for an hour."""
    space = memory.space(name)
    for text in ("first", "second"):
        await space.capture(user=f"{text} words", conversation_id="c")
    async with memory.resources.database.owner() as owner:
        await owner.execute(
            "UPDATE pending_triage SET not_before = enqueued_at + interval '1 hour' WHERE space_id = %s AND id ="
            " (SELECT min(id) FROM pending_triage WHERE space_id = %s)",
            ((await memory.ensure_space(name)).id,) * 2,
        )


async def test_spaces_that_can_do_nothing_do_not_hide_the_others(
    memory: Memory, clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "PAGE", 3)
    for number in range(7):
        await block(memory, f"blocked-{number}")
    clock.advance(timedelta(seconds=1))
    await memory.space("fine").capture(user="words that can be drained")
    assert await Worker(memory.resources).tick(heartbeat=True) == 1
    assert len(await memory.space("fine").list()) == 1


async def test_spaces_that_talk_do_not_hide_the_quiet_ones(
    memory: Memory, clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "PAGE", 2)
    for number in range(4):
        await memory.space(f"talks-{number}").capture(user="the oldest words")
    await memory.space("quiet").capture(user="words that can be drained")
    clock.advance(timedelta(seconds=40))
    for number in range(4):
        await memory.space(f"talks-{number}").capture(user="the newest words")
    assert await Worker(memory.resources).tick(heartbeat=False) == 1
    assert len(await memory.space("quiet").list()) == 1


@pytest.mark.parametrize("error", [ValueError("a secret"), DatabaseUnavailable("Locked.")])
async def test_a_space_that_fails_does_not_keep_the_others_waiting(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    for name in ("bad", "good"):
        await memory.space(name).capture(user="words that can be drained")
    bad = (await memory.ensure_space("bad")).id
    drain = worker_module.drain_pending_triage

    async def broken(resources, space, *arguments, **options):
        if space.id == bad:
            raise error
        return await drain(resources, space, *arguments, **options)

    monkeypatch.setattr(worker_module, "drain_pending_triage", broken)
    assert await Worker(memory.resources).tick(heartbeat=True) == 1
    assert len(await memory.space("good").list()) == 1
    assert "a secret" not in caplog.text


async def test_a_tick_that_fails_is_logged_without_the_row_it_quotes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_arguments, **_options):
        raise psycopg.errors.CheckViolation("Failing row contains (1, a secret).")

    monkeypatch.setattr(worker_module, "find_due_spaces", broken)
    worker = Worker(memory.resources)
    worker.start()
    await asyncio.sleep(0.1)
    await worker.stop()
    assert "CheckViolation (SQLSTATE 23514)" in caplog.text
    assert "a secret" not in caplog.text


async def test_a_worker_that_cannot_be_cancelled_does_not_hold_up_stopping(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = asyncio.Event()

    async def stubborn(*_arguments, **_options):
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return []

    monkeypatch.setattr(worker_module, "find_due_spaces", stubborn)
    worker = Worker(memory.resources)
    worker.start()
    await asyncio.sleep(0.1)
    start = time.perf_counter()
    await worker.stop(patience_s=0.1)
    assert time.perf_counter() - start < 4
    release.set()
    await asyncio.sleep(0.05)
