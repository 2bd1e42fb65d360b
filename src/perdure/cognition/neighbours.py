"""Which memories are near each other, and form a cluster. numpy stays outside of `rules/`, whose grouping is followed.

Where memories have few neighbours the rule groups their pairs. In a crowd, a topic of hundreds of memories in one day,
there are too many pairs for that: the same is worked out with a matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from perdure.embedding import Matrix
from perdure.rules.clustering import average_link

BLOCK: Final = 1024
"""Rows whose similarities are worked out at once: 40 MB beside 10,000 others."""
MOST_NEIGHBOURS: Final = 64
"""Neighbours of one memory, the nearest ones, whose pairs the rule is given; with more it stands in a crowd."""
MOST_AT_ONCE: Final = 4096
"""Memories of one crowd that are grouped together: a matrix of 64 MB. More are taken in stretches of the day."""

Clusters = list[tuple[int, ...]]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Rows of memories that are near each other, `low` < `high`, each pair once; and which rows stand in a crowd."""

    low: Rows
    high: Rows
    similarity: npt.NDArray[np.float32]
    crowded: Rows


def clusters_of(vectors: Mapping[int, Matrix], *, at_least: float, unrelated: float) -> Clusters:
    """Groups of two or more ids, each in ascending order, ordered by their first; by average link.

    Args:
        vectors: unit vectors of one length, by id.
        at_least, unrelated: cosines, as for `rules.clustering.average_link`.
    """
    ids = sorted(vectors)
    if not ids:
        return []
    matrix = np.stack([vectors[each] for each in ids]).astype(np.float32)
    pairs = _pairs_above(matrix, at_least)
    component = _components(len(ids), pairs)
    crowds = np.unique(component[pairs.crowded])
    found: Clusters = []
    for crowd in crowds:
        (rows,) = np.nonzero(component == crowd)
        for start in range(0, len(rows), MOST_AT_ONCE):
            stretch = rows[start : start + MOST_AT_ONCE]
            found += _of_crowd([ids[row] for row in stretch], matrix[stretch], at_least)
    others = ~np.isin(component[pairs.low], crowds)
    named = zip(pairs.low[others], pairs.high[others], pairs.similarity[others], strict=True)
    left = [(ids[low], ids[high], float(similarity)) for low, high, similarity in named]
    return sorted([*found, *average_link(left, at_least=at_least, unrelated=unrelated)])


def _pairs_above(matrix: Matrix, at_least: float) -> _Pairs:
    """The pairs that are `at_least` so similar; of those of a row in a crowd the nearest."""
    ones: list[Rows] = []
    others: list[Rows] = []
    similarities: list[npt.NDArray[np.float32]] = []
    crowded: list[int] = []
    for start in range(0, len(matrix), BLOCK):
        similar = matrix[start : start + BLOCK] @ matrix.T
        for here, row in enumerate(similar, start):
            row[here] = -1.0
            (near,) = np.nonzero(row >= at_least)
            if len(near) > MOST_NEIGHBOURS:
                crowded.append(here)
                # By similarity, and then by id: so that nothing hangs on the order of rows.
                near = near[np.lexsort((near, -row[near]))][:MOST_NEIGHBOURS]
            ones.append(np.full(len(near), here))
            others.append(near)
            similarities.append(row[near])
    one, other = np.concatenate(ones), np.concatenate(others)
    low, high = np.minimum(one, other), np.maximum(one, other)
    _, first = np.unique(low * len(matrix) + high, return_index=True)
    return _Pairs(low[first], high[first], np.concatenate(similarities)[first], np.array(crowded, dtype=np.intp))


def _components(number: int, pairs: _Pairs) -> Rows:
    """For each row the lowest one that pairs link it with, however far."""
    lowest = np.arange(number)
    while True:
        before = lowest.copy()
        np.minimum.at(lowest, pairs.high, lowest[pairs.low])
        np.minimum.at(lowest, pairs.low, lowest[pairs.high])
        lowest = lowest[lowest]
        if (lowest == before).all():
            return lowest


def _of_crowd(ids: Sequence[int], matrix: Matrix, at_least: float) -> Clusters:
    """What `average_link` makes of all pairs of these: the two groups most alike are joined, as long as they may."""
    similar = matrix @ matrix.T
    np.fill_diagonal(similar, -2.0)
    groups: dict[int, list[int]] = {row: [each] for row, each in enumerate(ids)}
    nearest = similar.argmax(axis=1)
    best = similar[np.arange(len(ids)), nearest]
    while True:
        one = int(best.argmax())
        if best[one] < at_least:
            return [tuple(sorted(members)) for members in groups.values() if len(members) > 1]
        one, other = sorted((one, int(nearest[one])))
        left, right = len(groups[one]), len(groups[other])
        mean = (left * similar[one] + right * similar[other]) / (left + right)
        groups[one] += groups.pop(other)
        mean[[one, other]] = -2.0
        similar[one], similar[:, one] = mean, mean
        similar[other], similar[:, other] = -2.0, -2.0
        best[other] = -2.0
        nearer = mean > best
        best[nearer], nearest[nearer] = mean[nearer], one
        (stale,) = np.nonzero(((nearest == one) & ~nearer) | (nearest == other))
        for row in {one, *stale.tolist()} & groups.keys():
            nearest[row] = similar[row].argmax()
            best[row] = similar[row, nearest[row]]
