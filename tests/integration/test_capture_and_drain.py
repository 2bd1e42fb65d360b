"""A captured exchange is never lost, never doubled, and drained in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from perdure import Conflict, InvalidInput, Memory, Nothing, Pending, SimulatedClock, Space
from perdure.ingest.drain import drain_pending_triage
from perdure.store.claiming import claim
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue, backlog
from perdure.store.spaces import lock_space
from perdure.worker import Worker
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock(START)


@pytest.fixture
async def memory(urls, embedder: HashedEmbedder, clock: SimulatedClock) -> AsyncIterator[Memory]:
    async with open_memory(urls, embedder, clock=clock) as memory:
        yield memory


async def texts(space: Space) -> list[str]:
    return [memory.summary for memory in reversed(await space.list())]


async def test_capture_returns_at_once_and_drain_makes_memories_of_both_sides(space: Space) -> None:
    outcome = await space.capture(
        user="I moved to Lisbon in May",
        assistant="How do you like it there?",
        tools=[
            {"name": "weather", "content": "Lisbon: 24 degrees", "trust": "tool"},
            {"name": "web", "content": "x", "ok": False},
        ],
        speaker="Ada",
        conversation_id="c1",
        operation_id="op-1",
        occurred_at="2026-02-28T10:00:00+01:00",
    )
    assert isinstance(outcome, Pending)
    assert await space.list() == ()
    report = await space.drain()
    assert (report.done, report.failed, report.waiting) == (1, 0, 0)
    stored = {memory.speaker: memory for memory in await space.list()}
    assert {speaker: memory.summary for speaker, memory in stored.items()} == {
        "Ada": "I moved to Lisbon in May",
        "assistant": "How do you like it there?",
        "weather": "Lisbon: 24 degrees",
    }
    assert {memory.trust for memory in stored.values()} == {"user", "assistant", "tool"}
    assert stored["Ada"].source_date == datetime(2026, 2, 28, 9, tzinfo=UTC)
    (evidence,) = await space.evidence(stored["Ada"].id)
    assert (evidence.kind, evidence.external_id) == ("exchange", "op-1")
    speakers = {name: (await space.evidence(memory.id))[0].speaker for name, memory in stored.items()}
    assert speakers == {"Ada": "Ada", "assistant": "assistant", "weather": None}


async def test_a_replayed_capture_returns_the_first_outcome_even_after_the_drain(space: Space) -> None:
    first = await space.capture(user="Tea, not coffee", operation_id="op-1")
    assert await space.capture(user="Tea, not coffee", operation_id="op-1") == first
    await space.drain()
    assert await space.capture(user="Tea, not coffee", operation_id="op-1") == first
    assert (await space.drain()).done == 0
    assert len(await space.list()) == 1
    with pytest.raises(Conflict):
        await space.capture(user="Coffee after all", operation_id="op-1")


async def test_a_capture_repeated_with_another_recall_is_the_same_capture(space: Space) -> None:
    await space.save("Ada moved to Lisbon in May")
    recall = await space.recall("Where does Ada live, Lisbon?")
    assert recall.ids
    first = await space.capture(user="Where?", assistant="In Lisbon", recall=recall, operation_id="op-1")
    assert await space.capture(user="Where?", assistant="In Lisbon", operation_id="op-1") == first


@pytest.mark.parametrize(
    "other",
    [{"speaker": "Bob"}, {"conversation_id": "c2"}, {"occurred_at": "2026-01-01"}, {"tools": [{"content": "x"}]}],
)
async def test_an_operation_id_stands_for_all_that_was_said(space: Space, other: dict[str, object]) -> None:
    await space.capture(user="Tea, not coffee", speaker="Ada", operation_id="op-1")
    with pytest.raises(Conflict):
        await space.capture(**{"user": "Tea, not coffee", "speaker": "Ada", "operation_id": "op-1"} | other)


@pytest.mark.parametrize("user", ["👍", "...", "", None, "  "])
async def test_an_exchange_without_a_letter_or_digit_is_nothing(memory: Memory, space: Space, user: str | None) -> None:
    assert isinstance(await space.capture(user=user), Nothing)
    assert await memory.find_space(space.name) is None


async def test_incognito_leaves_nothing_behind(memory: Memory, space: Space) -> None:
    assert await space.capture(user="My secret plan", incognito=True) == Nothing("incognito")
    assert await memory.find_space(space.name) is None


async def test_a_captured_text_of_one_megabyte_is_refused_by_name(memory: Memory, space: Space) -> None:
    with pytest.raises(InvalidInput, match="assistant"):
        await space.capture(user="hello", assistant="x" * 1_000_000)
    assert await memory.find_space(space.name) is None


async def test_what_recall_put_into_the_prompt_is_not_captured_again(space: Space) -> None:
    await space.save("The gate opens on Monday")
    recall = await space.recall("What is the gate code?")
    assert recall.memories
    await space.capture(user="gate?", assistant=f"{recall.tail}\nIt is on your list.", recall=recall)
    await space.drain()
    assert await texts(space) == ["The gate opens on Monday", "gate?", "It is on your list."]


async def test_an_exchange_that_waits_is_visible_to_recall(space: Space) -> None:
    await space.capture(user="The plumber comes on Friday", operation_id="op-1")
    recall = await space.recall("When does the plumber come?")
    assert [item.text for item in recall.pending] == ["The plumber comes on Friday"]
    assert "The plumber comes on Friday" in recall.tail
    assert (await space.recall("thanks!")).pending == ()


async def test_an_outage_of_the_embedder_uses_up_no_attempt_and_drains_in_order_afterwards(
    space: Space, embedder: HashedEmbedder, clock: SimulatedClock
) -> None:
    for number in range(5):
        await space.capture(user=f"message number {number}", conversation_id="c")
    embedder.outage = True
    for _ in range(10):
        report = await space.drain()
        assert (report.done, report.failed, report.waiting) == (0, 0, 5)
        clock.advance(timedelta(minutes=5))
    assert report.outage
    embedder.outage = False
    assert (await space.drain()).done == 5
    ids = {memory.summary: memory.id for memory in await space.list()}
    assert sorted(ids, key=ids.__getitem__) == [f"message number {number}" for number in range(5)]


async def test_a_poisoned_exchange_moves_to_failed_operations_after_its_third_failure_and_blocks_only_its_conversation(
    space: Space, embedder: HashedEmbedder, clock: SimulatedClock
) -> None:
    embedder.poison = "POISON"
    await space.capture(user="this one is POISON", conversation_id="bad")
    await space.capture(user="after the bad one", conversation_id="bad")
    await space.capture(user="elsewhere", conversation_id="good")
    first = await space.drain()
    assert (first.done, first.failed, first.waiting) == (1, 0, 2)
    assert await texts(space) == ["elsewhere"]
    for _ in range(2):
        clock.advance(timedelta(minutes=30))
        last = await space.drain()
    assert (last.failed, last.waiting) == (1, 0)
    assert set(await texts(space)) == {"elsewhere", "after the bad one"}
    assert (await space.stats()).failed == 1


async def test_a_poisoned_exchange_of_no_conversation_holds_up_no_other(space: Space, embedder: HashedEmbedder) -> None:
    embedder.poison = "POISON"
    await space.capture(user="this one is POISON")
    for number in range(40):  # more than one batch
        await space.capture(user=f"unnamed number {number}")
    report = await space.drain()
    assert (report.done, report.failed, report.waiting) == (40, 0, 1)
    await space.capture(user="said after that")
    assert (await space.drain()).done == 1


async def test_two_workers_share_a_queue_without_a_double_and_keep_the_order_of_a_conversation(
    memory: Memory, space: Space, urls, embedder: HashedEmbedder, clock: SimulatedClock
) -> None:
    for number in range(90):
        await space.capture(user=f"line {number:03d} of the story", conversation_id=f"c{number % 3}")
    async with open_memory(urls, embedder, clock=clock) as other:
        reports = await asyncio.gather(space.drain(), other.space(space.name).drain())
    assert sum(report.done for report in reports) == 90
    stored = await space.list(limit=1000)
    assert len(stored) == 90
    for conversation in ("c0", "c1", "c2"):
        mine = sorted((m for m in stored if m.conversation_id == conversation), key=lambda m: m.id)
        assert [m.summary for m in mine] == sorted(m.summary for m in mine)


async def test_a_drain_ends_in_time_and_the_next_one_goes_on(space: Space, embedder: HashedEmbedder) -> None:
    for number in range(70):
        await space.capture(user=f"message number {number}")
    embedder.hang_s = 0.3
    first = await space.drain(timeout_s=0.1)
    assert (first.done, first.waiting) == (32, 38)
    assert (await space.drain()).done == 38


async def test_a_worker_that_hung_past_its_lease_stores_nothing(
    memory: Memory, space: Space, clock: SimulatedClock
) -> None:
    await space.capture(user="only once")
    row = await memory.find_space(space.name)
    assert row is not None

    async def take(tx: SpaceTransaction) -> int:
        await lock_space(tx)
        return len(await claim(tx, Queue.TRIAGE, "hung", limit=10, visibility=timedelta(seconds=120)))

    assert await memory.resources.database.in_space(row.id, take) == 1
    assert (await drain_pending_triage(memory.resources, row, "second")).done == 0
    clock.advance(timedelta(seconds=121))
    assert (await drain_pending_triage(memory.resources, row, "second")).done == 1
    assert await texts(space) == ["only once"]


async def test_the_worker_drains_a_quiet_space_and_every_space_at_a_heartbeat(
    fresh_database, embedder: HashedEmbedder, clock: SimulatedClock
) -> None:
    async with open_memory(fresh_database, embedder, clock=clock) as memory:
        space = memory.space("quiet")
        worker = Worker(memory.resources)
        await space.capture(user="said just now")
        assert await worker.tick(heartbeat=False) == 0
        clock.advance(timedelta(seconds=31))
        assert await worker.tick(heartbeat=False) == 1
        await space.capture(user="said after that")
        assert await worker.tick(heartbeat=True) == 1
        assert await texts(space) == ["said just now", "said after that"]


async def test_an_open_memory_runs_a_worker_that_ends_with_it(fresh_database, embedder: HashedEmbedder) -> None:
    async with open_memory(fresh_database, embedder, worker=True, idle_drain_s=0) as memory:
        space = memory.space("with-a-worker")
        await space.capture(user="the worker will find this")
        async with asyncio.timeout(20):
            while not await space.list():
                await asyncio.sleep(0.05)
    async with open_memory(fresh_database, embedder) as memory:
        row = await memory.find_space("with-a-worker")
        assert row is not None
        waiting = await memory.resources.database.in_space(row.id, backlog)
        assert waiting.pending == 0


async def test_after_a_cancelled_drain_the_next_one_settles_its_rows_at_once(
    space: Space, embedder: HashedEmbedder
) -> None:
    for words in ("I moved to Lisbon", "I have a cat called Turing"):
        await space.capture(user=words, conversation_id="c1")
    embedder.hang_s = 60
    before = embedder.calls
    draining = asyncio.create_task(space.drain())
    while embedder.calls == before:
        await asyncio.sleep(0.01)
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    embedder.hang_s = 0
    report = await space.drain()
    assert (report.done, report.failed, report.waiting) == (2, 0, 0)
