"""The heartbeat reaches every space, whatever is wrong with some of them, and ends when it is told to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from perdure import DatabaseUnavailable, Memory, SimulatedClock, chores, worker
from perdure.rules.identity import card
from perdure.types import Stored
from perdure.worker import Worker
from tests.doubles.chat_server import HANG, ChatServer
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.test_cognition import update


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
    monkeypatch.setattr(chores, "PAGE", 3)
    for number in range(7):
        await block(memory, f"blocked-{number}")
    clock.advance(timedelta(seconds=1))
    await memory.space("fine").capture(user="words that can be drained")
    assert await Worker(memory.resources).tick(heartbeat=True) == 1
    assert len(await memory.space("fine").list()) == 1


async def test_spaces_that_talk_do_not_hide_the_quiet_ones(
    memory: Memory, clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "PAGE", 2)
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
    drain = chores.drain_pending_triage

    async def broken(resources, space, *arguments, **options):
        if space.id == bad:
            raise error
        return await drain(resources, space, *arguments, **options)

    monkeypatch.setattr(chores, "drain_pending_triage", broken)
    assert await Worker(memory.resources).tick(heartbeat=True) == 1
    assert len(await memory.space("good").list()) == 1
    assert "a secret" not in caplog.text


async def test_a_tick_that_fails_is_logged_without_the_row_it_quotes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_arguments, **_options):
        raise psycopg.errors.CheckViolation("Failing row contains (1, a secret).")

    monkeypatch.setattr(chores, "find_due_spaces", broken)
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

    monkeypatch.setattr(chores, "find_due_spaces", stubborn)
    worker = Worker(memory.resources)
    worker.start()
    await asyncio.sleep(0.1)
    start = time.perf_counter()
    await worker.stop(patience_s=0.1)
    assert time.perf_counter() - start < 4
    release.set()
    await asyncio.sleep(0.05)


async def test_a_heartbeat_drains_keeps_up_and_says_what_it_did(memory: Memory, clock: SimulatedClock) -> None:
    space = memory.space("kept")
    await space.save("The museum had free coffee that day.", salience=2)
    clock.advance(timedelta(days=91))
    await space.capture(user="words that can be drained")
    worker = Worker(memory.resources)
    await worker.beat()
    assert [each.summary for each in await space.list()] == ["words that can be drained"]
    status = await memory.worker_status()
    (told,) = status.workers
    assert (told.doing, told.drained, told.trouble, told.beat_at) == ("waiting", 1, None, clock.now())
    assert told.kept_up >= 1
    assert status.waiting == 0


async def test_a_chore_that_fails_keeps_no_other_from_its_turn(
    memory: Memory, clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_arguments: object, **_options: object) -> list[int]:
        raise ValueError("a secret")

    space = memory.space("kept")
    await space.save("A faint note.", salience=1)
    clock.advance(timedelta(days=91))
    monkeypatch.setattr(chores, "find_due_spaces", broken)
    await Worker(memory.resources).beat()
    assert await space.list() == ()
    (told,) = (await memory.worker_status()).workers
    assert told.trouble == "drain: ValueError"


async def test_two_workers_beat_at_once_and_do_each_thing_once(memory: Memory, clock: SimulatedClock) -> None:
    spaces = [memory.space(f"kept-{number}") for number in range(6)]
    for space in spaces:
        await space.save("A faint note.", salience=1)
    clock.advance(timedelta(days=91))
    for space in spaces:
        await space.capture(user="words that can be drained")
    workers = [Worker(memory.resources) for _ in range(2)]
    await asyncio.gather(*(worker.beat() for worker in workers))
    for space in spaces:
        assert [each.summary for each in await space.list()] == ["words that can be drained"]
    assert sum(told.drained for told in (await memory.worker_status()).workers) == 6


async def test_a_worker_that_stops_in_good_order_is_listed_no_longer(memory: Memory) -> None:
    worker = Worker(memory.resources)
    worker.start()
    await asyncio.sleep(0.1)
    assert len((await memory.worker_status()).workers) == 1
    await worker.stop()
    assert not (await memory.worker_status()).workers


async def test_what_waits_is_counted_over_all_spaces(memory: Memory, clock: SimulatedClock) -> None:
    for number in range(3):
        await memory.space(f"waits-{number}").capture(user="words that can be drained")
        clock.advance(timedelta(minutes=1))
    status = await memory.worker_status()
    assert status.waiting == 3
    assert status.oldest == clock.now() - timedelta(minutes=3)
    assert [(each.queue, each.waiting, each.leased) for each in status.queues] == [("pending_triage", 3, 0)]


@pytest.fixture
async def thinking(
    fresh_database, embedder: HashedEmbedder, clock: SimulatedClock, chat: ChatServer
) -> AsyncIterator[Memory]:
    """A memory with a language model in both roles."""
    roles = {"thinker_url": chat.url, "subagent_url": chat.url}
    async with open_memory(fresh_database, embedder, clock=clock, **roles) as memory:
        yield memory


async def test_a_worker_that_begins_reads_what_a_space_was_told_before(thinking: Memory, chat: ChatServer) -> None:
    chat.answer("bootstrap", {"facts": [{"text": "Ada lives in Boston.", "category": "fact", "tags": []}]})
    chat.answer("consolidation", {"profile_updates": [update("location", "Boston", [1])]})
    space = thinking.space("ada")
    await space.bootstrap("Hello, I'm Ada and live in Boston.")
    await space.drain()
    await space.save("The tea is green.", salience=5)
    await space.save("It rained.", salience=4)
    beating = Worker(thinking.resources)
    await beating.beat()
    assert card((await space.identity()).profile) == "location: Boston"
    (request,) = chat.asked("consolidation")
    assert "tea" in request.user
    assert "rained" not in request.user
    await beating.beat()
    assert len(chat.asked("consolidation")) == 1


async def test_an_upheaval_changes_the_card_at_the_next_beat_and_can_be_taken_back(
    thinking: Memory, chat: ChatServer, clock: SimulatedClock
) -> None:
    space = thinking.space("ada")
    beating = Worker(thinking.resources)
    for text in ("Ada and Bob plan a wedding in Oslo", "Ada and Bob look for a flat in Oslo"):
        await space.save(text, speaker="Ada")
        clock.advance(timedelta(days=1))
    await beating.beat()
    event = "Ada and Bob broke up in Oslo, the wedding is off"
    chat.answer("triage", {"salience": 9, "paradigm_shift": True, "summary": event})
    chat.answer("transition", "Plans made with Bob are off.")
    chat.answer("consolidation", {"profile_updates": [update("recurring_topics", "starting anew", [1])]})
    await space.capture(user=event, speaker="Ada")
    await beating.beat()
    await beating.beat()
    assert card((await space.identity()).profile) == "recurring_topics: starting anew"
    runs = {run.layer: run for run in await space.cognition_runs()}
    assert {(layer, run.trigger) for layer, run in runs.items()} >= {
        ("transition", "shift"),
        ("consolidation", "shift"),
    }
    asked = len(chat.asked("consolidation"))
    await beating.beat()
    assert len(chat.asked("consolidation")) == asked
    await space.undo_run(runs["transition"].id)
    assert not await space.list(memory_type="transition")


async def test_a_worker_ends_within_five_seconds_in_the_midst_of_a_question(
    fresh_database, embedder: HashedEmbedder, chat: ChatServer
) -> None:
    chat.answer("consolidation", HANG)
    often = {"thinker_url": chat.url, "heartbeat_interval_s": 1.0}
    async with open_memory(fresh_database, embedder, **often) as memory:
        space = memory.space("ada")
        outcome = await space.save("Ada lives in Boston.", salience=9)
        assert isinstance(outcome, Stored)
        beating = Worker(memory.resources)
        beating.start()
        async with asyncio.timeout(30):
            while not chat.asked("consolidation"):
                await asyncio.sleep(0.05)
        start = time.perf_counter()
        await beating.stop()
        assert time.perf_counter() - start < 5.5
        chat.answer("consolidation", {"profile_updates": [update("location", "Boston", [1])]})
        assert (await space.think()).conclusions == {"consolidation": 1}, "the lease was given back"


async def test_a_chore_that_hangs_is_cut_off_and_the_next_has_its_turn(
    memory: Memory, clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(*_arguments: object, **_options: object) -> list[int]:
        await asyncio.Event().wait()
        return []

    space = memory.space("kept")
    await space.save("A faint note.", salience=1)
    clock.advance(timedelta(days=91))
    monkeypatch.setattr(chores, "find_due_spaces", hangs)
    monkeypatch.setattr(worker, "SHARES", dict.fromkeys(worker.SHARES, 0.001))
    monkeypatch.setattr(worker, "LONGEST_S", 0.3)
    await Worker(memory.resources).beat()
    (told,) = (await memory.worker_status()).workers
    assert told.trouble == "drain: TimeoutError"
