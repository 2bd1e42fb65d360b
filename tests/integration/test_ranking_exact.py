"""The exact path is the formula, row by row, whatever is filtered."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import psycopg
import pytest

from benchmarks.corpus import EPOCH
from perdure.errors import InvalidInput
from perdure.rules.lexical import Bm25
from perdure.rules.ranking import SEED, Distance, RankingProfile, TextTerm
from perdure.rules.turns import TurnWeights
from perdure.types import Filters, MemoryType
from tests.integration.ranking_spaces import LoadedSpace, ranked_in_python

TUNED = RankingProfile(
    "tuned",
    distance=Distance.CALIBRATED,
    text=TextTerm.BM25,
    text_divisor=0.0,
    text_weight=0.6,
    salience=0.02,
    bm25=Bm25(b=0.5, rarity=1.5),
    turns=TurnWeights(),
)

FILTERS = {
    "nothing": Filters(),
    "a tag": Filters(tags=("tag",)),
    "a rare tag": Filters(tags=("rare tag",)),
    "two tags that no memory has both": Filters(tags=("tag", "rare tag")),
    "a type that is hidden otherwise": Filters(memory_type=MemoryType.REFLECTION),
    "a source": Filters(source="conversation"),
    "a source nobody has": Filters(source="email"),
    "a speaker": Filters(speaker="speaker 2"),
    "a conversation": Filters(conversation_id="conversation 1"),
    "metadata": Filters(metadata={"shelf": 3}),
    "a time range": Filters(since=EPOCH - timedelta(days=90), until=EPOCH - timedelta(days=30)),
    "all at once": Filters(
        tags=("tag",), speaker="speaker 1", metadata={"shelf": 1}, since=EPOCH - timedelta(days=400)
    ),
}


@pytest.mark.parametrize("profile", [SEED, TUNED], ids=lambda profile: profile.name)
@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS.keys())
async def test_exact_ranking_is_the_formula_of_the_rules(
    small: LoadedSpace, profile: RankingProfile, filters: Filters
) -> None:
    for query in small.corpus.queries(5):
        asked = small.query(query, profile, filters=filters)
        ranked = await small.rank(asked)
        expected = ranked_in_python(small, asked)[:10]
        assert ranked.path == "exact"
        assert [row.rank for row in ranked.rows] == pytest.approx([found.total for _, found in expected], abs=2e-5)
        by_id = dict(expected)
        for row in ranked.rows:
            if row.memory_id in by_id:
                assert row.contributions == pytest.approx(by_id[row.memory_id].terms, abs=2e-5)
        assert {row.memory_id for row in ranked.rows} == set(by_id)


async def test_the_terms_of_a_row_add_up_to_its_rank(small: LoadedSpace) -> None:
    for query in small.corpus.queries(5):
        for row in (await small.rank(small.query(query, TUNED))).rows:
            assert math.fsum(row.contributions.values()) == pytest.approx(row.rank, abs=1e-9)
            assert row.similarity == pytest.approx(1 - row.distance)
            assert set(row.matched_terms) == set(query.terms) & set(small.item(row.memory_id).words)
            assert row.entity_match == (small.item(row.memory_id).entity in query.entity_keys)


@pytest.mark.parametrize("audience", [None, "group"])
async def test_only_rows_of_the_audience_come_back(small: LoadedSpace, audience: str | None) -> None:
    query = small.corpus.queries(1)[0]
    asked = small.query(query, SEED, audience=audience, limit=100)
    ranked = await small.rank(asked)
    assert [row.memory_id for row in ranked.rows] == [
        memory_id for memory_id, _ in ranked_in_python(small, asked)[:100]
    ]
    seen = {small.item(row.memory_id).audience for row in ranked.rows}
    assert seen == ({None} if audience is None else {None, "group"})


async def test_superseded_and_hidden_memories_stay_hidden(small: LoadedSpace) -> None:
    for query in small.corpus.queries(5):
        rows = (await small.rank(small.query(query, SEED, limit=100))).rows
        assert not any(small.item(row.memory_id).superseded for row in rows)
        assert not any(small.item(row.memory_id).memory_type == "reflection" for row in rows)


@pytest.mark.parametrize("profile", [SEED, TUNED], ids=lambda profile: profile.name)
async def test_without_a_vector_words_and_priors_decide(small: LoadedSpace, profile: RankingProfile) -> None:
    query = small.corpus.queries(1)[0]
    asked = small.query(query, profile)
    blind = type(asked)(**{**{name: getattr(asked, name) for name in asked.__slots__}, "vector": None})
    ranked = await small.rank(blind)
    expected = ranked_in_python(small, blind)[:10]
    assert [row.memory_id for row in ranked.rows] == [memory_id for memory_id, _ in expected]


async def test_a_query_without_words_or_entities_ranks_by_the_rest(small: LoadedSpace) -> None:
    query = small.corpus.queries(1)[0]
    asked = small.query(type(query)(query.kind, query.vector, (), ()), SEED)
    ranked = await small.rank(asked)
    assert [row.memory_id for row in ranked.rows] == [memory_id for memory_id, _ in ranked_in_python(small, asked)[:10]]
    assert all(row.text_rank == 0 and row.matched_terms == () for row in ranked.rows)


@pytest.mark.parametrize(
    "term", ["it's", "a & !b", "back\\slash", "'", "(", ":*", "<->", "'); DROP TABLE memories; --"]
)
async def test_operators_in_a_term_are_data(small: LoadedSpace, term: str) -> None:
    query = small.corpus.queries(1)[0]
    asked = small.query(type(query)(query.kind, query.vector, (term, *query.terms), (term,)), SEED)
    assert len((await small.rank(asked)).rows) == 10


BAD_VECTORS = {
    "too short": np.ones(3, dtype=np.float32),
    "of two axes": np.ones((1, 32), dtype=np.float32),
    "NaN": np.full(32, np.nan, dtype=np.float32),
    "infinite": np.full(32, np.inf, dtype=np.float32),
    "zero": np.zeros(32, dtype=np.float32),
}


@pytest.mark.parametrize("vector", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
async def test_a_vector_that_cannot_be_compared_is_refused_by_name(small: LoadedSpace, vector: np.ndarray) -> None:
    query = small.corpus.queries(1)[0]
    with pytest.raises(InvalidInput) as raised:
        await small.rank(small.query(type(query)(query.kind, vector, query.terms, ()), SEED))
    assert raised.value.field == "vector"


@pytest.mark.parametrize("limit", [0, 101, -1])
async def test_a_limit_out_of_range_is_refused_by_name(small: LoadedSpace, limit: int) -> None:
    with pytest.raises(InvalidInput) as raised:
        await small.rank(small.query(small.corpus.queries(1)[0], SEED, limit=limit))
    assert raised.value.field == "limit"


async def test_a_space_that_is_empty_answers_with_nothing(small: LoadedSpace) -> None:
    query = small.query(small.corpus.queries(1)[0], SEED)
    with psycopg.connect(small.owner_url, autocommit=True) as owner:
        owner.execute("INSERT INTO spaces (id, name, created_at) VALUES (999999, 'empty', now())")
    empty = LoadedSpace(small.database, 999_999, 0, small.family, small.corpus, [], small.owner_url)
    assert (await empty.rank(query)).rows == ()
