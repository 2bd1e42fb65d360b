"""A crowd is grouped as the rule would group all of its pairs."""

from __future__ import annotations

import numpy as np
import pytest

from perdure.cognition import neighbours
from perdure.cognition.neighbours import clusters_of
from perdure.embedding import Matrix
from perdure.rules.clustering import average_link

AT_LEAST = 0.7


def day(seed: int, number: int, topics: int, spread: float = 0.55) -> dict[int, Matrix]:
    random = np.random.default_rng(seed)
    centres = random.standard_normal((topics, 32))
    vectors = centres[random.integers(topics, size=number)] + spread * random.standard_normal((number, 32))
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return {int(each) + 1: unit[row] for row, each in enumerate(random.permutation(number))}


def by_the_rule(vectors: dict[int, Matrix]) -> list[tuple[int, ...]]:
    ids = sorted(vectors)
    pairs = [(one, other, float(vectors[one] @ vectors[other])) for one in ids for other in ids if one < other]
    return average_link(pairs, at_least=AT_LEAST)


@pytest.mark.parametrize("seed", range(6))
def test_a_crowd_comes_to_what_the_rule_comes_to_with_all_pairs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = day(seed, 120, topics=5)
    monkeypatch.setattr(neighbours, "MOST_NEIGHBOURS", 5)
    found = clusters_of(vectors, at_least=AT_LEAST, unrelated=0.0)
    assert found == by_the_rule(vectors)
    assert max(map(len, found)) > 6
    turned = dict(reversed(vectors.items()))
    assert clusters_of(turned, at_least=AT_LEAST, unrelated=0.0) == found


def test_a_large_topic_of_a_day_is_one_cluster() -> None:
    vectors = day(1, 400, topics=1, spread=0.3)
    assert clusters_of(vectors, at_least=AT_LEAST, unrelated=0.0) == [tuple(sorted(vectors))]


def test_beside_a_crowd_the_rule_groups_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "MOST_NEIGHBOURS", 5)
    crowd = day(1, 40, topics=1, spread=0.3)
    two = {1000 + number: vector for number, vector in enumerate(day(2, 2, topics=1, spread=0.1).values())}
    assert clusters_of(crowd | two, at_least=AT_LEAST, unrelated=0.0) == [tuple(sorted(crowd)), (1000, 1001)]


def test_nothing_is_no_cluster() -> None:
    assert clusters_of({}, at_least=AT_LEAST, unrelated=0.0) == []
