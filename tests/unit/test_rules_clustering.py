"""Clusters depend on what is alike, never on the order in which it is told."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.clustering import average_link

Pair = tuple[int, int, float]

similarities = st.floats(0.5, 1.0).map(lambda value: round(value, 3))


@st.composite
def graphs(draw: st.DrawFn) -> list[Pair]:
    among = list(itertools.combinations(range(1, draw(st.integers(2, 9)) + 1), 2))
    chosen = draw(st.lists(st.sampled_from(among), unique=True))
    return [(one, other, draw(similarities)) for one, other in chosen]


def mean_between(pairs: list[Pair], left: tuple[int, ...], right: tuple[int, ...]) -> float:
    known = {frozenset((one, other)): similarity for one, other, similarity in pairs}
    return sum(known.get(frozenset((a, b)), 0.0) for a in left for b in right) / (len(left) * len(right))


def test_pairs_that_are_alike_are_one_group() -> None:
    assert average_link([(1, 2, 0.9), (3, 4, 0.8), (1, 4, 0.1)], at_least=0.7) == [(1, 2), (3, 4)]


def test_a_pair_at_the_threshold_belongs_together_and_one_below_does_not() -> None:
    assert average_link([(1, 2, 0.7)], at_least=0.7) == [(1, 2)]
    assert average_link([(1, 2, 0.699)], at_least=0.7) == []


def test_a_chain_of_small_steps_does_not_become_one_group() -> None:
    chain = [(number, number + 1, 0.75) for number in range(1, 20)]
    assert max(map(len, average_link(chain, at_least=0.7))) == 2


def test_what_nobody_names_counts_as_unrelated() -> None:
    triangle = [(1, 2, 0.95), (2, 3, 0.9)]
    assert average_link(triangle, at_least=0.8) == [(1, 2)]
    assert average_link(triangle, at_least=0.8, unrelated=0.75) == [(1, 2, 3)]


def test_a_memory_is_no_neighbour_of_itself() -> None:
    assert average_link([(1, 1, 1.0)], at_least=0.5) == []


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_and_direction_of_pairs_change_nothing(pairs: list[Pair], rng: random.Random) -> None:
    shuffled = [(b, a, s) if rng.random() < 0.5 else (a, b, s) for a, b, s in pairs]
    rng.shuffle(shuffled)
    assert average_link(shuffled, at_least=0.7) == average_link(pairs, at_least=0.7)


@given(graphs())
def test_no_two_groups_are_left_that_belong_together(pairs: list[Pair]) -> None:
    groups = average_link(pairs, at_least=0.7)
    members = [member for group in groups for member in group]
    assert len(members) == len(set(members))
    alone = [(each,) for each in {one for pair in pairs for one in pair[:2]} - set(members)]
    for left, right in itertools.combinations([*groups, *alone], 2):
        assert mean_between(pairs, left, right) < 0.7 + 1e-9


@pytest.mark.parametrize("size", [40])
def test_one_topic_of_many_is_one_group(size: int) -> None:
    pairs = [(a, b, 0.8) for a, b in itertools.combinations(range(size), 2)]
    assert average_link(pairs, at_least=0.7) == [tuple(range(size))]
