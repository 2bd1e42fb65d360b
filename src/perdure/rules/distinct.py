"""What is worth saying once is said once: the same text, chunks of one text, an episode beside what it was made of."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """A memory in an order, as far as others may repeat it.

    Attributes:
        id: the memory.
        text: what it says and who said it, spelled so that the same is equal.
        root: the first chunk of its text, itself for a text of one chunk.
        sums_up: an episode's constituents; empty for everything else.
    """

    id: int
    text: Hashable
    root: int
    sums_up: frozenset[int] = frozenset()


def distinct(ordered: Sequence[Standing]) -> list[int]:
    """The ids that remain, in their order, when whatever repeats one that stands before it is left out."""
    kept: list[int] = []
    texts: set[Hashable] = set()
    roots: set[int] = set()
    summed_up: set[int] = set()
    for one in ordered:
        repeats = one.text in texts or one.root in roots
        if repeats or one.id in summed_up or one.root in summed_up or one.sums_up & (roots | set(kept)):
            continue
        kept.append(one.id)
        texts.add(one.text)
        roots.add(one.root)
        summed_up |= one.sums_up
    return kept
