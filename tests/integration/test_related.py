"""What a new memory may contradict is found: what is nearest by exact distance, and what shares an entity with it."""

from __future__ import annotations

from datetime import timedelta
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from perdure import Memory, Space
from perdure.store import related
from perdure.store.database import SpaceTransaction
from perdure.store.related import COMMON_ENTITY, Near, nearest_live, sharing_entities
from perdure.types import MemoryType
from tests.integration.ranking_spaces import LoadedSpace, live

Vector = npt.NDArray[np.float32]


def near_vectors(space: LoadedSpace, count: int) -> list[Vector]:
    """Vectors a little beside memories of the space, as a text that says nearly the same has them."""
    random = np.random.default_rng(3)
    found = []
    for number in random.integers(0, len(space.items), count):
        beside = space.items[number].vector + random.standard_normal(space.family.dimensions).astype(np.float32) * 0.05
        found.append((beside / np.linalg.norm(beside)).astype(np.float32))
    return found


async def nearest(space: LoadedSpace, vector: Vector, audience: str | None = None, **asked: Any) -> list[Near]:
    asked = {"below": 0.3, "limit": 3, **asked}
    return await space.database.in_space(
        space.space_id, lambda tx: nearest_live(tx, space.family, vector, audience=audience, **asked)
    )


def in_python(space: LoadedSpace, vector: Vector, audience: str | None = None) -> dict[int, float]:
    """Distance of every memory that may be returned, nearest first."""
    stored = np.stack([item.vector for item in space.items]).astype(np.float16).astype(np.float64)
    asked = vector.astype(np.float16).astype(np.float64)
    distances = 1 - stored @ asked / (np.linalg.norm(stored, axis=1) * np.linalg.norm(asked))
    rows = [
        (space.first_id + i, float(distances[i]))
        for i, item in enumerate(space.items)
        if live(item, audience) and item.memory_type not in {"identity", "reflection", "episode"}
    ]
    return dict(sorted(rows, key=lambda row: row[1]))


@pytest.mark.parametrize("audience", [None, "group"])
async def test_a_small_space_gives_exactly_the_nearest_below_the_threshold(
    small: LoadedSpace, audience: str | None
) -> None:
    for vector in near_vectors(small, 10):
        expected = [row for row in in_python(small, vector, audience).items() if row[1] < 0.3][:3]
        found = await nearest(small, vector, audience)
        assert [row.memory_id for row in found] == [memory_id for memory_id, _ in expected]
        assert [row.distance for row in found] == pytest.approx([distance for _, distance in expected], abs=1e-5)


@pytest.mark.parametrize("way", ["index", "sketch"])
async def test_a_large_space_gives_them_too_whatever_the_index_brings(
    large: LoadedSpace, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "sketch":
        monkeypatch.setattr(related, "BY_INDEX", related.BY_INDEX.replace("%(rows)s", "1"))
    shares = []
    for vector in near_vectors(large, 40):
        distances = in_python(large, vector)
        expected = {memory_id for memory_id, distance in list(distances.items())[:3] if distance < 0.3}
        found = await nearest(large, vector)
        assert [row.distance for row in found] == sorted(row.distance for row in found)
        assert all(row.distance == pytest.approx(distances[row.memory_id], abs=1e-5) for row in found)
        shares.append(len(expected & {row.memory_id for row in found}) / max(1, len(expected)))
    assert mean(shares) >= 0.98


async def test_nothing_is_near_when_nothing_is_below_the_threshold(small: LoadedSpace, large: LoadedSpace) -> None:
    for space in (small, large):
        (vector,) = near_vectors(space, 1)
        assert await nearest(space, vector, below=0.0) == []


async def test_what_is_excluded_or_too_old_is_not_looked_at(large: LoadedSpace) -> None:
    (vector,) = near_vectors(large, 1)
    first, second, *_ = (row.memory_id for row in await nearest(large, vector, below=2.0))
    assert (await nearest(large, vector, below=2.0, excluding=[first]))[0].memory_id == second
    since = max(item.source_date for item in large.items) - timedelta(days=20)
    found = await nearest(large, vector, below=2.0, limit=10, since=since)
    assert len(found) == 10
    assert all(large.item(row.memory_id).source_date >= since for row in found)


async def test_the_planner_is_left_as_it_was(large: LoadedSpace) -> None:
    names = ("enable_seqscan", "enable_sort", "enable_hashjoin", "jit", "hnsw.ef_search", "hnsw.iterative_scan")

    async def read(tx: SpaceTransaction) -> list[dict[str, Any]]:
        return [await tx.fetch_one(f"SELECT current_setting('{name}') AS value") for name in names]

    async def look(tx: SpaceTransaction) -> None:
        before = await read(tx)
        await nearest_live(tx, large.family, near_vectors(large, 1)[0], audience=None, below=0.3, limit=3)
        assert await read(tx) == before

    await large.database.in_space(large.space_id, look)


async def sharing(space: Space, *keys: str, audience: str | None = None, limit: int = 3) -> list[int]:
    row = await space._memory.find_space(space.name)
    assert row is not None
    return await space._memory.resources.database.in_space(
        row.id, lambda tx: sharing_entities(tx, keys, audience=audience, limit=limit)
    )


async def test_live_memories_that_share_an_entity_come_newest_first(memory: Memory, space: Space) -> None:
    ids = [(await space.save(f"number {n}", entities=["Bose"])).ids[0] for n in range(4)]
    (other,) = (await space.save("a reflection", entities=["Bose"], memory_type=MemoryType.REFLECTION)).ids
    private = memory.space(space.name, audience="private")
    (secret,) = (await private.save("in private", entities=["Bose"])).ids
    assert await sharing(space, "bose", "nobody") == ids[:0:-1]
    assert await sharing(space, "bose", audience="private") == [secret, *ids[:1:-1]]
    assert other not in await sharing(space, "bose", limit=10)
    assert await sharing(space) == []


async def test_an_entity_that_everything_carries_connects_nothing(space: Space) -> None:
    for number in range(COMMON_ENTITY + 1):
        await space.save(f"number {number}", entities=["Ada"])
    (rare,) = (await space.save("the one", entities=["Ada", "Rome"])).ids
    assert await sharing(space, "ada") == []
    assert await sharing(space, "ada", "rome") == [rare]
