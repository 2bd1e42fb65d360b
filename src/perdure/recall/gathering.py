"""What several queries found, as one list: the best of each memory, by score, nothing said twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perdure.rules.distinct import Standing, distinct
from perdure.store.ranking import RankedRow
from perdure.text import fold
from perdure.types import Hit, MemoryType, StoredMemory


@dataclass(frozen=True, slots=True)
class Found:
    """A hit, and the ranked row that it was made of."""

    hit: Hit
    row: RankedRow


def best_first(found: Iterable[Found]) -> list[Found]:
    """One entry per memory, by the formula's score whichever query brought it; equal ones newest first."""
    best: dict[int, Found] = {}
    for one in found:
        known = best.get(one.hit.memory.id)
        if known is None or one.hit.score > known.hit.score:
            best[one.hit.memory.id] = one
    return sorted(best.values(), key=lambda one: (-one.hit.score, -one.hit.memory.id))


def without_repeats(ordered: Sequence[Found]) -> list[Found]:
    """The same order without what says again what stands before it."""
    kept = set(distinct([standing(one.hit.memory) for one in ordered]).kept)
    return [one for one in ordered if one.hit.memory.id in kept]


def standing(memory: StoredMemory) -> Standing:
    """A memory as far as others may repeat it."""
    constituents = memory.related_ids if memory.memory_type is MemoryType.EPISODE else ()
    said = (" ".join(fold(memory.summary).split()), fold(memory.speaker or ""))
    return Standing(memory.id, said, memory.chunk_of or memory.id, frozenset(constituents))
