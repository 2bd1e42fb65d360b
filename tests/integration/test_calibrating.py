"""A family that nobody has measured is calibrated from the space's own memories."""

from __future__ import annotations

import pytest

from perdure import Space
from perdure.resources import calibration_of
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory


def sentence(number: int) -> str:
    return f"The {number}th note says that item {number * 7919} went to shelf {number * 104729}"


async def test_an_unknown_family_is_calibrated_once_the_space_holds_enough(urls, space: Space) -> None:
    embedder = HashedEmbedder(48, name="unmeasured", calibration=None)
    async with open_memory(urls, embedder) as memory:
        mine = memory.space(f"{space.name}-unmeasured")
        for number in range(5):
            await mine.save(sentence(number))
        row = await memory.find_space(mine.name)
        assert row is not None

        async def told(tx):
            return await calibration_of(tx, memory.resources, row)

        assert await memory.resources.database.in_space(row.id, told) is None
        for number in range(5, 30):
            await mine.save(sentence(number))
        found = await memory.resources.database.in_space(row.id, told)
        assert found is not None
        # Sentences of one pattern share most of their letters: unrelated ones lie far above zero.
        assert 0.2 < found.unrelated_mean < 0.9
        hit = (await mine.search(sentence(3))).hits[0]
        assert hit.memory.summary == sentence(3)
        assert hit.similarity == pytest.approx(1, abs=0.02)
        assert await memory.resources.database.in_space(row.id, told) is found


async def test_a_measured_family_keeps_what_it_ships_with(memory, space: Space, embedder: HashedEmbedder) -> None:
    await space.save("anything")
    row = await memory.find_space(space.name)
    assert row is not None

    async def told(tx):
        return await calibration_of(tx, memory.resources, row)

    assert await memory.resources.database.in_space(row.id, told) is embedder.calibration
