"""What is being worked on is recalled for at each heartbeat, for those who may see it, and counts once a day."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from perdure import InvalidInput, Memory, Space
from perdure.recall import recall_for_tasks
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

RENT = "The landlord raises the rent in January"
TASK = "Write a letter to the landlord about the rent"
TICK = timedelta(seconds=300)


@pytest.fixture
async def memory(urls, embedder: HashedEmbedder, noon: SkippingClock) -> AsyncIterator[Memory]:
    async with open_memory(urls, embedder, clock=noon) as memory:
        yield memory


@pytest.fixture
def space(memory: Memory) -> Space:
    return memory.space(f"space-{secrets.token_hex(6)}")


async def tick(memory: Memory, *, heartbeat: bool = True) -> None:
    await recall_for_tasks(memory.resources, heartbeat=heartbeat, stopping=lambda: False)


def summaries(found) -> list[str]:
    return [memory.summary for memory in found.memories]


async def test_a_task_is_recalled_for_at_the_first_look_and_again_at_each_heartbeat(
    memory: Memory, space: Space, noon: SkippingClock
) -> None:
    await space.save(RENT)
    await space.set_task(TASK)
    unlooked = await space.task_recall()
    assert unlooked is not None
    assert (unlooked.task, unlooked.memories, unlooked.recalled_at, unlooked.stale) == (TASK, (), None, True)

    await tick(memory, heartbeat=False)
    first = await space.task_recall()
    assert first is not None
    assert (summaries(first), first.recalled_at, first.stale) == ([RENT], noon.now(), False)

    await space.save("The letter to the landlord about the rent goes by post")
    noon.advance(TICK)
    await tick(memory, heartbeat=False)
    assert summaries(await space.task_recall()) == [RENT]
    await tick(memory)
    assert len(summaries(await space.task_recall())) == 2


async def test_without_a_worker_the_last_recall_goes_stale(memory: Memory, space: Space, noon: SkippingClock) -> None:
    await space.save(RENT)
    await space.set_task(TASK)
    await tick(memory)
    noon.advance(2 * TICK)
    assert not (await space.task_recall()).stale
    noon.advance(TICK)
    late = await space.task_recall()
    assert (late.stale, summaries(late)) == (True, [RENT])


async def test_the_three_best_come_to_mind_without_a_gate_and_nothing_twice(memory: Memory, space: Space) -> None:
    for room in ("kitchen", "cellar", "attic", "bathroom"):
        await space.save(f"The landlord repairs the {room}")
    await memory.space(space.name, audience="ada").save("The landlord repairs the attic")
    await space.set_task("Tidy up")
    await memory.space(space.name, audience="ada").set_task("Write to the landlord of the attic")
    await tick(memory)
    assert len((await space.task_recall()).memories) == 3
    found = summaries(await memory.space(space.name, audience="ada").task_recall())
    assert len(found) == len(set(found)) == 3


async def test_a_task_and_what_comes_to_mind_for_it_stay_within_their_audience(memory: Memory, space: Space) -> None:
    ada, ben = (memory.space(space.name, audience=who) for who in ("ada", "ben"))
    await ada.save(RENT)
    await ben.save("Ben pays the rent in cash")
    await ada.set_task(TASK)
    await space.set_task(TASK)
    await tick(memory)
    assert summaries(await ada.task_recall()) == [RENT]
    assert summaries(await space.task_recall()) == []
    assert await ben.task_recall() is None


async def test_a_heartbeat_counts_a_memory_as_retrieved_once_a_day(
    memory: Memory, space: Space, noon: SkippingClock
) -> None:
    stored = await space.save(RENT)
    await space.set_task(TASK)
    for _ in range(5):
        await tick(memory)
        noon.advance(TICK)
    assert (await space.get(stored.ids[0])).retrieval_count == 1
    noon.advance(timedelta(days=1))
    await tick(memory)
    assert (await space.get(stored.ids[0])).retrieval_count == 2


async def test_two_workers_that_tick_at_once_count_it_once(memory: Memory, space: Space) -> None:
    stored = await space.save(RENT)
    await space.set_task(TASK)
    await asyncio.gather(*(tick(memory) for _ in range(4)))
    assert (await space.get(stored.ids[0])).retrieval_count == 1


async def test_what_was_forgotten_or_superseded_meanwhile_is_not_handed_out(memory: Memory, space: Space) -> None:
    stored = await space.save(RENT)
    await space.set_task(TASK)
    await tick(memory)
    await space.forget(stored.ids[0])
    assert (await space.task_recall()).memories == ()


async def test_another_task_begins_anew_and_the_same_goes_on(memory: Memory, space: Space) -> None:
    await space.save(RENT)
    await space.set_task(TASK)
    await tick(memory)
    await space.set_task(TASK)
    assert (await space.task_recall()).recalled_at is not None
    await space.set_task("Repair the bicycle")
    assert (await space.task_recall()).recalled_at is None
    await space.set_task(None)
    assert await space.task_recall() is None


async def test_a_space_is_made_by_its_first_task_and_not_by_having_none(memory: Memory) -> None:
    nobody = memory.space(f"space-{secrets.token_hex(6)}")
    await nobody.set_task(None)
    assert await nobody.task_recall() is None
    assert nobody.name not in {row.name for row in await memory.spaces()}


async def test_an_embedder_that_is_down_leaves_the_last_recall_and_the_next_tick_makes_it_anew(
    memory: Memory, space: Space, embedder: HashedEmbedder, noon: SkippingClock
) -> None:
    await space.save(RENT)
    await space.set_task(TASK)
    await tick(memory)
    noon.advance(3 * TICK)
    embedder.outage = True
    await tick(memory)
    kept = await space.task_recall()
    assert (summaries(kept), kept.stale) == ([RENT], True)
    embedder.outage = False
    await tick(memory)
    assert not (await space.task_recall()).stale


async def test_a_secret_in_a_task_is_masked(space: Space) -> None:
    await space.set_task("Log in with the password hunter2-Xy9!k and pay the rent")
    assert "hunter2" not in (await space.task_recall()).task


async def test_a_running_worker_recalls_for_a_task(urls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder, worker=True, idle_drain_s=0) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        await space.save(RENT)
        await space.set_task(TASK)
        async with asyncio.timeout(10):
            while (await space.task_recall()).stale:
                await asyncio.sleep(0.05)
        assert summaries(await space.task_recall()) == [RENT]


@pytest.mark.parametrize("task", ["", "  ", 7, "x" * 1_000_000])
async def test_what_is_no_task_is_refused(space: Space, task: object) -> None:
    with pytest.raises(InvalidInput, match="task"):
        await space.set_task(task)
