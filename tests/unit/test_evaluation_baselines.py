"""The baselines are what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from perdure.evaluation.baselines import DEPTH, Baselines, fused
from perdure.rules import lexical
from perdure.store.survey import SurveyedMemory
from perdure.text import query_terms, terms

TEXTS = ("The ferry leaves at noon", "Ferry tickets are cheap, the ferry is old", "I planted tomatoes", "Noon is hot")


def unit(*numbers: float) -> np.ndarray:
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


def memories(texts: tuple[str, ...] = TEXTS, roots: tuple[int, ...] | None = None) -> list[SurveyedMemory]:
    ids = range(10, 10 + len(texts))
    return [
        SurveyedMemory(i, root, text, None, unit(1, place))
        for place, (i, root, text) in enumerate(zip(ids, roots or tuple(ids), texts, strict=True))
    ]


def test_bm25_is_the_reference_formula_over_the_words_of_the_texts() -> None:
    query = "ferry at noon"
    words = [terms(text) for text in TEXTS]
    average = sum(map(len, words)) / len(words)
    idfs = {term: lexical.idf(sum(term in text for text in words), len(words)) for term in query_terms(query)}
    scores = {
        10 + place: lexical.score({term: text.count(term) for term in idfs}, idfs, len(text), average)
        for place, text in enumerate(words)
    }
    expected = [found for found in sorted(scores, key=lambda found: -scores[found]) if scores[found] > 0]
    assert Baselines(memories()).rankings(query, unit(1, 0))["bm25"] == expected


def test_a_text_without_a_word_of_the_query_is_not_in_the_ranking_of_words() -> None:
    assert 12 not in Baselines(memories()).rankings("ferry at noon", unit(1, 0))["bm25"]


def test_dense_orders_by_cosine() -> None:
    ranked = Baselines(memories()).rankings("nothing of this", unit(1, 2.1))
    assert ranked["dense"] == [12, 13, 11, 10]


def test_fusion_adds_reciprocal_places() -> None:
    assert fused([[1, 2, 3], [3, 1]]) == [1, 3, 2]
    assert fused([[1, 2], [2, 1]]) == [1, 2]
    assert fused([[], [7]]) == [7]


def test_a_text_of_several_chunks_has_one_place_that_of_its_best_chunk() -> None:
    ranked = Baselines(memories(roots=(10, 11, 12, 10))).rankings("noon", unit(0, 1))
    assert ranked["dense"] == [10, 12, 11]
    assert ranked["bm25"] == [10]


def test_a_space_without_memories_or_vectors_ranks_nothing_by_meaning() -> None:
    assert Baselines([]).rankings("ferry", unit(1, 0)) == {"bm25": [], "dense": [], "rrf": []}
    bare = [SurveyedMemory(1, 1, "the ferry", "Ada", None)]
    assert Baselines(bare).rankings("ferry", unit(1, 0)) == {"bm25": [1], "dense": [], "rrf": [1]}


def test_who_said_it_is_among_the_words() -> None:
    said = [SurveyedMemory(1, 1, "the ferry", "Ada", None), SurveyedMemory(2, 2, "the ferry", "Ben", None)]
    assert Baselines(said).rankings("Ben", unit(1, 0))["bm25"] == [2]


@pytest.mark.parametrize("name", ["bm25", "dense", "rrf"])
def test_rankings_are_as_deep_as_a_search(name: str) -> None:
    many = memories(tuple(f"ferry {number}" for number in range(DEPTH + 50)))
    assert len(Baselines(many).rankings("ferry", unit(1, 0))[name]) == DEPTH
