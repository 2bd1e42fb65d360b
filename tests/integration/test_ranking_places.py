"""Where a memory stands is where the plain ranking of every row puts it; chosen rows get the same formula."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.rules.profiles import DEFAULT
from perdure.rules.ranking import SEED, RankingProfile
from perdure.store.ranking import Ranked, RankQuery, rank_these
from perdure.store.why_not import Place, place_of
from perdure.types import Filters, MemoryType
from tests.integration.ranking_spaces import LoadedSpace

every_profile = pytest.mark.parametrize("profile", [SEED, DEFAULT], ids=lambda profile: profile.name)


async def place(space: LoadedSpace, query: RankQuery, memory_id: int) -> Place | None:
    return await space.database.in_space(space.space_id, lambda tx: place_of(tx, query, memory_id))


@every_profile
async def test_a_place_is_that_of_the_plain_ranking(small: LoadedSpace, profile: RankingProfile) -> None:
    for query in small.corpus.queries(3):
        asked = small.query(query, profile, limit=10)
        rows = (await small.rank(small.query(query, profile, limit=60, exact=True))).rows
        for number in (1, 2, 10, 11, 60):
            row = rows[number - 1]
            found = await place(small, asked, row.memory_id)
            assert found is not None
            assert (found.place, found.row.memory_id) == (number, row.memory_id)
            assert found.row.rank == pytest.approx(row.rank, abs=1e-9)
            assert found.row.contributions == pytest.approx(dict(row.contributions), abs=1e-9)
            assert all(1 <= at <= found.visible for at in found.arms.values())


async def test_in_the_dense_arm_the_nearest_row_is_the_first(small: LoadedSpace) -> None:
    (query,) = small.corpus.queries(1)
    asked = small.query(query, replace(SEED, salience=0, usefulness=0, recency=0, text_divisor=0, entity=0))
    first = (await small.rank(asked)).rows[0]
    found = await place(small, asked, first.memory_id)
    assert found is not None
    assert found.arms["dense"] == 1


async def test_in_a_large_space_the_place_is_told_over_every_row(large: LoadedSpace) -> None:
    (query,) = large.corpus.queries(1)
    row = (await large.rank(large.query(query, SEED, limit=40, exact=True))).rows[30]
    found = await place(large, large.query(query, SEED), row.memory_id)
    assert found is not None
    assert found.place == 31
    assert found.visible > 10_000


async def test_what_a_query_may_not_return_has_no_place(small: LoadedSpace) -> None:
    (query,) = small.corpus.queries(1)
    hidden = next(i for i, item in enumerate(small.items) if item.memory_type == MemoryType.REFLECTION)
    private = next(i for i, item in enumerate(small.items) if item.audience is not None)
    gone = next(i for i, item in enumerate(small.items) if item.superseded)
    for i in (hidden, private, gone):
        assert await place(small, small.query(query, DEFAULT), small.first_id + i) is None
    seen = next(
        i for i, item in enumerate(small.items) if item.audience is None and not item.superseded and i != hidden
    )
    nothing = small.query(query, DEFAULT, filters=Filters(tags=("no such tag",)))
    assert await place(small, nothing, small.first_id + seen) is None


@every_profile
async def test_rows_that_were_found_otherwise_get_the_same_formula_by_themselves(
    small: LoadedSpace, profile: RankingProfile
) -> None:
    for query in small.corpus.queries(3):
        alone = replace(profile, turns=None)
        rows = (await small.rank(small.query(query, alone, limit=30, exact=True))).rows
        chosen = [row.memory_id for row in rows[::3]]

        async def these(tx, query=query, chosen=chosen) -> Ranked:
            return await rank_these(tx, small.query(query, profile, limit=30), chosen)

        found = await small.database.in_space(small.space_id, these)
        assert [row.memory_id for row in found.rows] == chosen
        assert [row.rank for row in found.rows] == pytest.approx([row.rank for row in rows[::3]], abs=1e-9)
