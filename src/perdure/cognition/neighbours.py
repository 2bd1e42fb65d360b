"""Which memories are near each other, and form a cluster. numpy stays outside of `rules/`, whose grouping is followed.

Where memories have few neighbours the rule groups their pairs. In a crowd, a topic of hundreds of memories in one day,
there are too many pairs for that: the same is worked out with a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from perdure.embedding import Matrix
from perdure.rules.clustering import average_link

BLOCK: Final = 1024
"""Rows whose similarities are worked out at once: 40 MB beside 10,000 others."""
MOST_NEIGHBOURS: Final = 64
"""Neighbours of one memory, the nearest ones, whose pairs the rule is given; with more it stands in a crowd."""
MOST_AT_ONCE: Final = 4096
"""Memories of one crowd that are grouped together: a matrix of 64 MB. More are taken in stretches of the day."""

Pairs = list[tuple[int, int, float]]
Clusters = list[tuple[int, ...]]


def clusters_of(vectors: Mapping[int, Matrix], *, at_least: float, unrelated: float) -> Clusters:
    """Groups of two or more ids, each in ascending order, ordered by their first; by average link.

    Args:
        vectors: unit vectors of one length, by id.
        at_least, unrelated: cosines, as for `rules.clustering.average_link`.
    """
    pairs, crowded = pairs_above(vectors, at_least)
    if not crowded:
        return average_link(pairs, at_least=at_least, unrelated=unrelated)
    found: Clusters = []
    crowd: set[int] = set()
    for component in _components(pairs):
        if not crowded.isdisjoint(component):
            crowd.update(component)
            for start in range(0, len(component), MOST_AT_ONCE):
                found += _of_crowd(component[start : start + MOST_AT_ONCE], vectors, at_least)
    others = [pair for pair in pairs if pair[0] not in crowd]
    return sorted([*found, *average_link(others, at_least=at_least, unrelated=unrelated)])


def pairs_above(vectors: Mapping[int, Matrix], at_least: float) -> tuple[Pairs, set[int]]:
    """(id, id, cosine) of pairs that are `at_least` so similar, each once; and the ids of those in a crowd.

    Of the pairs of one in a crowd only those with its nearest neighbours are named.
    """
    ids = sorted(vectors)
    if not ids:
        return [], set()
    matrix = np.stack([vectors[each] for each in ids]).astype(np.float32)
    found: dict[tuple[int, int], float] = {}
    crowded: set[int] = set()
    for start in range(0, len(ids), BLOCK):
        similar = matrix[start : start + BLOCK] @ matrix.T
        for offset, row in enumerate(similar):
            here = start + offset
            row[here] = -1.0
            (near,) = np.nonzero(row >= at_least)
            if len(near) > MOST_NEIGHBOURS:
                crowded.add(ids[here])
                # By similarity, and then by id: so that nothing hangs on the order of rows.
                near = near[np.lexsort((near, -row[near]))][:MOST_NEIGHBOURS]
            for there in near.tolist():
                found[min(here, there), max(here, there)] = float(row[there])
    return [(ids[one], ids[other], similarity) for (one, other), similarity in sorted(found.items())], crowded


def _components(pairs: Iterable[tuple[int, int, float]]) -> list[list[int]]:
    """Ids that pairs link with each other, however far; each in ascending order."""
    parent: dict[int, int] = {}

    def root(one: int) -> int:
        while (above := parent.setdefault(one, one)) != one:
            parent[one] = parent[above]
            one = above
        return one

    for one, other, _ in pairs:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    found: dict[int, list[int]] = {}
    for one in sorted(parent):
        found.setdefault(root(one), []).append(one)
    return list(found.values())


def _of_crowd(ids: Sequence[int], vectors: Mapping[int, Matrix], at_least: float) -> Clusters:
    """What `average_link` makes of all pairs of these: the two groups most alike are joined, as long as they may."""
    matrix = np.stack([vectors[each] for each in ids]).astype(np.float32)
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
