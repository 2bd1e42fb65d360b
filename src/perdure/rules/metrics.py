"""Retrieval metrics with binary relevance, for one query each; `ranked` is best first and without duplicates."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

Id = TypeVar("Id")


def recall_at(k: int, ranked: Sequence[Id], relevant: Collection[Id]) -> float:
    """The share of `relevant` among the first `k`.

    Raises:
        ValueError: `relevant` is empty; such a query has no recall and belongs outside the average.
    """
    wanted = _wanted(relevant)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def all_at(k: int, ranked: Sequence[Id], relevant: Collection[Id]) -> float:
    """1 if every relevant id is among the first `k`, else 0. Raises as `recall_at`."""
    return float(_wanted(relevant).issubset(ranked[:k]))


def reciprocal_rank(ranked: Sequence[Id], relevant: Collection[Id]) -> float:
    """1 / place of the first relevant id, 0 if there is none. Raises as `recall_at`."""
    wanted = _wanted(relevant)
    return next((1.0 / place for place, found in enumerate(ranked, start=1) if found in wanted), 0.0)


def ndcg_at(k: int, ranked: Sequence[Id], relevant: Collection[Id]) -> float:
    """Normalised discounted cumulative gain of the first `k`, 0..1. Raises as `recall_at`."""
    wanted = _wanted(relevant)
    gain = sum(1.0 / math.log2(place + 1) for place, found in enumerate(ranked[:k], start=1) if found in wanted)
    best = sum(1.0 / math.log2(place + 1) for place in range(1, min(k, len(wanted)) + 1))
    return gain / best


def percentile(values: Iterable[float], q: float) -> float:
    """The `q`-th percentile, `q` in 0..100, linear between neighbours (as numpy's default).

    Raises:
        ValueError: no values, or `q` outside 0..100.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a percentile needs at least one value")
    if not 0 <= q <= 100:  # noqa: PLR2004 - per cent
        raise ValueError(f"q is {q}; it has to lie in 0..100")
    place = (len(ordered) - 1) * q / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def mean(values: Iterable[float]) -> float:
    """The average, 0 of nothing: a category without questions shows 0 beside n = 0."""
    found = list(values)
    return math.fsum(found) / len(found) if found else 0.0


def _wanted(relevant: Collection[Id]) -> set[Id]:
    wanted = set(relevant)
    if not wanted:
        raise ValueError("a query without relevant ids cannot be scored")
    return wanted
