"""What a cosine means in a space is measured on its own memories, kept for every process, and measured again."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest

from perdure import Memory, Space
from perdure.calibrating import QUERIES, freshen, refresh
from perdure.embedding import Calibration, Unrelated
from perdure.resources import calibration_of, unrelated_of
from perdure.store.calibrations import Measured, read_measured
from perdure.store.spaces import SpaceRow, read_state
from perdure.types import Message
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

OBJECTS = ["ladder", "kettle", "bicycle", "piano", "stove", "carpet", "window", "mirror", "lamp", "drawer"]
VERBS = ["bought", "painted", "mended", "lost", "found", "sold", "lent", "washed", "moved", "broke"]
PLACES = ["Leeds", "Porto", "Hanoi", "Malta", "Turin", "Bergen", "Quito", "Kyoto", "Cairo", "Perth"]


def sentence(number: int) -> str:
    """Sentences about different things that share a few letter groups, as memories do."""
    thing, verb, place = OBJECTS[number % 10], VERBS[number // 10 % 10], PLACES[number // 100 % 10]
    return f"{verb.title()} the {thing} number {number * 7919} in {place}"


@pytest.fixture
def unmeasured() -> HashedEmbedder:
    """A family that ships no calibration."""
    return HashedEmbedder(48, name="unmeasured", calibration=None)


@pytest.fixture
async def unknown(urls, unmeasured: HashedEmbedder) -> AsyncIterator[Memory]:
    async with open_memory(urls, unmeasured) as memory:
        yield memory


async def fill(memory: Memory, name: str, start: int, end: int) -> SpaceRow:
    messages = [Message(str(number), sentence(number)) for number in range(start, end)]
    await memory.space(name).import_messages(messages, source="test")
    row = await memory.find_space(name)
    assert row is not None
    return row


async def told(memory: Memory, row: SpaceRow) -> Calibration | None:
    async def read(tx):
        return await calibration_of(tx, memory.resources, row)

    return await memory.resources.database.in_space(row.id, read)


async def where(memory: Memory, row: SpaceRow) -> Unrelated | None:
    async def read(tx):
        state = await read_state(tx)
        return await unrelated_of(tx, memory.resources, row, state.memories if state else 0)

    return await memory.resources.database.in_space(row.id, read)


async def kept(memory: Memory, row: SpaceRow) -> Measured | None:
    async def read(tx):
        return await read_measured(tx, memory.resources.family.id)

    return await memory.resources.database.in_space(row.id, read)


def name() -> str:
    return f"space-{secrets.token_hex(6)}"


async def test_an_unknown_family_in_a_small_space_is_not_guessed_at(unknown: Memory) -> None:
    row = await fill(unknown, name(), 0, 5)
    assert await told(unknown, row) is None
    assert await where(unknown, row) is None
    assert not await refresh(unknown.resources, row)


async def test_until_it_is_measured_pairs_of_memories_stand_in(unknown: Memory) -> None:
    row = await fill(unknown, name(), 0, 30)
    found = await told(unknown, row)
    assert found is not None
    assert await kept(unknown, row) is None
    hit = (await unknown.space(row.name).search(sentence(3))).hits[0]
    assert hit.memory.summary == sentence(3)
    assert hit.similarity == pytest.approx(1, abs=0.02)


async def test_a_space_is_measured_on_its_own_memories_and_a_second_process_sees_it(urls, unknown: Memory) -> None:
    row = await fill(unknown, name(), 0, 60)
    assert await refresh(unknown.resources, row)
    found = await kept(unknown, row)
    assert found is not None
    assert found.memories == 60
    assert found.unrelated.query_identical == pytest.approx(1, abs=1e-3)
    assert -0.1 < found.unrelated.query_mean < 0.6
    assert found.unrelated.query_spread > 0.01
    calibration = await told(unknown, row)
    assert calibration is not None
    assert calibration.unrelated == found.unrelated

    elsewhere = HashedEmbedder(48, name="unmeasured", calibration=None)
    async with open_memory(urls, elsewhere) as second:
        there = await second.find_space(row.name)
        assert there is not None
        assert await where(second, there) == found.unrelated
        assert not await refresh(second.resources, there)
        assert elsewhere.calls == 0


async def test_it_is_measured_again_when_the_space_has_doubled(unknown: Memory) -> None:
    row = await fill(unknown, name(), 0, 60)
    await refresh(unknown.resources, row)
    await fill(unknown, row.name, 60, 110)
    assert not await refresh(unknown.resources, row)
    await fill(unknown, row.name, 110, 125)
    before = await where(unknown, row)
    assert await refresh(unknown.resources, row)
    after = await kept(unknown, row)
    assert after is not None
    assert after.memories == 125
    assert after.unrelated != before
    assert await where(unknown, row) == after.unrelated


async def test_a_measured_family_keeps_its_thresholds_and_learns_its_spaces(
    memory: Memory, space: Space, embedder: HashedEmbedder
) -> None:
    assert embedder.calibration is not None
    row = await fill(memory, space.name, 0, 20)
    assert await told(memory, row) is embedder.calibration
    assert await where(memory, row) == embedder.calibration.unrelated
    await fill(memory, space.name, 20, 60)
    assert await refresh(memory.resources, row)
    assert await told(memory, row) is embedder.calibration
    found = await kept(memory, row)
    assert found is not None
    assert await where(memory, row) == found.unrelated


async def test_a_recall_starts_measuring_and_waits_for_none_of_it(memory: Memory, embedder: HashedEmbedder) -> None:
    row = await fill(memory, name(), 0, 60)
    await memory.resources.noise.load()
    calls = embedder.calls
    await memory.space(row.name).recall("Where is the ladder?")
    assert embedder.calls == calls + 1
    assert await kept(memory, row) is None
    await asyncio.gather(*memory.resources.measuring.values())
    assert embedder.calls == calls + 1 + QUERIES
    assert await kept(memory, row) is not None
    await memory.space(row.name).recall("Where is the piano?")
    assert not memory.resources.measuring


async def test_what_cannot_be_measured_is_left_and_does_not_hold_up_closing(urls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder) as memory:
        row = await fill(memory, name(), 0, 60)
        embedder.outage = True
        await freshen(memory.resources, row)
        embedder.outage = False
        assert await kept(memory, row) is None
        await memory.space(row.name).recall("Where is the ladder?")
        assert not memory.resources.measuring
        memory.resources.measured.clear()
        await memory.space(row.name).recall("Where is the ladder?")
        assert memory.resources.measuring
        embedder.hang_s = 30
        async with asyncio.timeout(5):
            await memory.close()


async def test_without_the_gate_a_measured_family_measures_nothing(urls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder, relevance_gate=False) as memory:
        row = await fill(memory, name(), 0, 60)
        await freshen(memory.resources, row)
        assert await kept(memory, row) is None


async def test_the_worker_measures_what_it_has_drained(urls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder) as memory:
        row = await fill(memory, name(), 0, 60)
        await memory.space(row.name).capture(user="The ladder stands in the shed", assistant="Noted.")
        from perdure.worker import Worker

        await Worker(memory.resources).tick(heartbeat=True)
        assert await kept(memory, row) is not None


async def test_sample_turns_are_embedded_once_for_all_processes(urls) -> None:
    family = f"shelf-{secrets.token_hex(4)}"
    first, second = HashedEmbedder(40, name=family), HashedEmbedder(40, name=family)
    async with open_memory(urls, first) as memory:
        await memory.resources.noise.load()
    assert first.calls > 0
    async with open_memory(urls, second) as memory:
        await memory.resources.noise.load()
        (vector,) = await second.embed(["When is my appointment?"], "query")
        assert second.calls == 1
        found = memory.resources.noise.of(vector, vector)
        assert found is not None
        assert found.asking > 0
