"""Clusters by average link, from pairs of neighbours: which memories belong to one episode.

Average link was chosen over connected components because a day of talk is a chain of small steps: components would
make one episode of it all. The result depends on the pairs alone, never on their order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Links:
    """What a cluster knows of its neighbours: the sum of the similarities given, and how many pairs gave one."""

    size: int = 1
    members: list[int] = field(default_factory=list)
    sums: dict[int, float] = field(default_factory=dict)
    known: dict[int, int] = field(default_factory=dict)


def average_link(
    pairs: Iterable[tuple[int, int, float]], *, at_least: float, unrelated: float = 0.0
) -> list[tuple[int, ...]]:
    """Groups of two or more, each with its members in ascending order, the groups ordered by their first member.

    Two clusters are joined while the mean similarity of their members, each of the one with each of the other, is
    `at_least`; the two that are most alike first, of equal ones those with the lowest ids. O(n log n) for n pairs.

    Args:
        pairs: (id, id, similarity), each pair once in either direction; pairs that nobody names count as `unrelated`.
        at_least: the similarity of an episode, as a cosine (mission: 0.7 in the reference family).
        unrelated: the similarity of two texts that have nothing to do with each other.
    """
    clusters = _neighbours(pairs)
    heap = [
        entry
        for one, links in clusters.items()
        for other in links.sums
        if one < other and (entry := _entry(clusters, one, other, unrelated))[0] <= -at_least
    ]
    heapq.heapify(heap)
    while heap:
        _, one, other, sizes = heapq.heappop(heap)
        if one not in clusters or other not in clusters or sizes != (clusters[one].size, clusters[other].size):
            continue
        _join(clusters, one, other)
        for third in clusters[one].sums:
            entry = _entry(clusters, min(one, third), max(one, third), unrelated)
            if entry[0] <= -at_least:
                heapq.heappush(heap, entry)
    return sorted(tuple(sorted(links.members)) for links in clusters.values() if links.size > 1)


def _neighbours(pairs: Iterable[tuple[int, int, float]]) -> dict[int, _Links]:
    clusters: dict[int, _Links] = {}
    # Sorted, because sums of floats depend on their order.
    for one, other, similarity in sorted(pairs):
        if one == other:
            continue
        for here, there in ((one, other), (other, one)):
            links = clusters.setdefault(here, _Links(members=[here]))
            links.sums[there] = similarity
            links.known[there] = 1
    return clusters


def _entry(
    clusters: dict[int, _Links], one: int, other: int, unrelated: float
) -> tuple[float, int, int, tuple[int, int]]:
    left, right = clusters[one], clusters[other]
    among = left.size * right.size
    mean = (left.sums[other] + (among - left.known[other]) * unrelated) / among
    return -mean, one, other, (left.size, right.size)


def _join(clusters: dict[int, _Links], one: int, other: int) -> None:
    """Makes one cluster of two, under the lower id; clusters only grow, so sizes tell whether an entry is stale."""
    into, gone = clusters[one], clusters.pop(other)
    into.size += gone.size
    into.members += gone.members
    del into.sums[other], into.known[other]
    for third, total in gone.sums.items():
        if third == one:
            continue
        neighbour = clusters[third]
        into.sums[third] = neighbour.sums[one] = into.sums.get(third, 0.0) + total
        into.known[third] = neighbour.known[one] = into.known.get(third, 0) + gone.known[third]
        del neighbour.sums[other], neighbour.known[other]
