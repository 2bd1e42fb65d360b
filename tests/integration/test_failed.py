"""What was given up is kept, and comes back with one call, exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from perdure import Memory, NotFound, SimulatedClock, Space
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


@pytest.fixture
async def poisoned(space: Space, embedder: HashedEmbedder, clock: SimulatedClock) -> Space:
    """A space in which two exchanges of one conversation and one of a group were given up."""
    embedder.poison = "POISON"
    group = space._memory.space(space.name, audience="group")
    await space.capture(user="POISON number one", speaker="Ada", conversation_id="c", operation_id="op-1")
    await space.capture(user="POISON number two", speaker="Ada", conversation_id="c", operation_id="op-2")
    await group.capture(user="POISON in the group", conversation_id="g")
    for _ in range(6):
        await space.drain()
        clock.advance(timedelta(minutes=30))
    assert (await space.stats()).failed == 3
    return space


async def test_what_was_given_up_is_listed_without_a_word_of_it(poisoned: Space, clock: SimulatedClock) -> None:
    failed = await poisoned.failed()
    assert {one.op_type for one in failed} == {"triage"}
    assert sorted(one.audience or "" for one in failed) == ["", "", "group"]
    assert all(one.error == "ValueError: poisoned text" for one in failed)
    assert all(START < one.created_at <= clock.now() and one.context_bytes > 50 for one in failed)
    assert "POISON" not in repr(failed)
    assert len(await poisoned.failed(limit=1)) == 1


async def test_its_words_are_shown_to_those_who_may_see_them(poisoned: Space) -> None:
    failed = {one.audience: one.id for one in await poisoned.failed()}
    context = await poisoned.failed_context(failed[None])
    assert context["payload"]["user"].startswith("POISON number")
    assert context["speaker"] == "Ada"
    with pytest.raises(NotFound):
        await poisoned.failed_context(failed["group"])
    group = poisoned._memory.space(poisoned.name, audience="group")
    assert (await group.failed_context(failed["group"]))["payload"]["user"] == "POISON in the group"


async def test_all_of_it_comes_back_with_one_call_in_the_order_of_its_conversation(
    poisoned: Space, embedder: HashedEmbedder
) -> None:
    ids = tuple(one.id for one in await poisoned.failed())
    embedder.poison = None
    assert await poisoned.replay_failed() == ids
    assert await poisoned.failed() == ()
    assert (await poisoned.drain()).done == 3
    stored = sorted((m for m in await poisoned.list()), key=lambda memory: memory.id)
    assert [(m.summary, m.speaker, m.conversation_id) for m in stored] == [
        ("POISON number one", "Ada", "c"),
        ("POISON number two", "Ada", "c"),
    ]
    assert {m.source_date for m in stored} == {START}
    assert [e.external_id for m in stored for e in await poisoned.evidence(m.id)] == ["op-1", "op-2"]
    group = poisoned._memory.space(poisoned.name, audience="group")
    assert len(await group.list()) == 3


async def test_replaying_twice_or_at_once_puts_nothing_back_twice(poisoned: Space, embedder: HashedEmbedder) -> None:
    ids = tuple(one.id for one in await poisoned.failed())
    embedder.poison = None
    assert await poisoned.replay_failed(ids[0]) == ids[:1]
    assert await poisoned.replay_failed(ids[0]) == ()
    both = await asyncio.gather(*(poisoned.replay_failed(*ids) for _ in range(5)))
    assert sorted(number for one in both for number in one) == sorted(ids[1:])
    assert (await poisoned.stats()).pending == 3
    assert (await poisoned.drain()).done == 3
    assert await poisoned.replay_failed() == ()


async def test_what_fails_again_is_given_all_its_attempts_and_kept_again(
    poisoned: Space, clock: SimulatedClock
) -> None:
    (first, *_) = await poisoned.failed()
    await poisoned.replay_failed(first.id)
    for _ in range(2):
        assert (await poisoned.drain()).waiting == 1
        clock.advance(timedelta(minutes=30))
    assert (await poisoned.drain()).failed == 1
    assert len(await poisoned.failed()) == 3


async def test_what_is_dropped_is_gone_and_dropping_it_again_does_nothing(poisoned: Space) -> None:
    (first, *others) = await poisoned.failed()
    assert await poisoned.drop_failed(first.id) == (first.id,)
    assert await poisoned.drop_failed(first.id) == ()
    assert await poisoned.drop_failed() == ()
    assert await poisoned.failed() == tuple(others)
    with pytest.raises(NotFound):
        await poisoned.failed_context(first.id)


async def test_another_space_neither_sees_nor_replays_nor_drops_it(poisoned: Space, memory: Memory) -> None:
    other = memory.space(f"{poisoned.name}-other")
    await other.save("something of its own")
    ids = [one.id for one in await poisoned.failed()]
    assert await other.failed() == ()
    assert await other.replay_failed(*ids) == ()
    assert await other.drop_failed(*ids) == ()
    assert len(await poisoned.failed()) == 3


async def test_one_audience_neither_sees_nor_replays_nor_drops_what_failed_in_another(
    poisoned: Space, memory: Memory
) -> None:
    private, group = (memory.space(poisoned.name, audience=name) for name in ("private", "group"))
    await private.capture(user="POISON of a private talk", conversation_id="private talk")
    for _ in range(3):
        await private.drain()
        poisoned._memory.resources.database.clock.advance(timedelta(minutes=30))  # type: ignore[attr-defined]
    (mine,) = [one for one in await private.failed() if one.audience == "private"]
    assert mine.id not in {one.id for one in await group.failed()}
    assert await group.replay_failed(mine.id) == ()
    assert await group.drop_failed(mine.id) == ()
    assert mine in await poisoned.failed()  # whoever operates the whole space sees all of them
    assert await private.drop_failed(mine.id) == (mine.id,)
