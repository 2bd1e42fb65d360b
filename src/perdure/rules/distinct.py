"""What is worth saying once is said once: the same text, chunks of one text, an episode beside what it was made of.

With vectors at hand also what says the same in other words (`alike`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perdure.rules.alike import Verdict

Comparing = Callable[[int, int], Verdict]
"""What the first of two memories is beside the second, which stands before it."""


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


@dataclass(frozen=True, slots=True)
class Distinct:
    """Ids in their order: what remains, and what waits because it may repeat something, until the rest had its turn.

    `repeats` says of what waits, and of what is left out, which memory it repeats.
    """

    kept: tuple[int, ...]
    waiting: tuple[int, ...]
    repeats: Mapping[int, int]


def distinct(ordered: Sequence[Standing], comparing: Comparing | None = None) -> Distinct:
    """What remains when whatever repeats one that stands before it is left out."""
    before: list[Standing] = []
    waiting: list[int] = []
    repeats: dict[int, int] = {}
    for one in ordered:
        twin = next(_repeated(one, before), None)
        if twin is not None:
            repeats[one.id] = twin
            continue
        verdicts = {other.id: comparing(one.id, other.id) for other in before} if comparing else {}
        same = next((other for other, verdict in verdicts.items() if verdict is Verdict.SAME), None)
        perhaps = next((other for other, verdict in verdicts.items() if verdict is Verdict.PERHAPS), None)
        if same is not None:
            repeats[one.id] = same
            continue
        before.append(one)
        if perhaps is not None:
            repeats[one.id] = perhaps
            waiting.append(one.id)
    return Distinct(tuple(one.id for one in before if one.id not in repeats), tuple(waiting), repeats)


def _repeated(one: Standing, before: Sequence[Standing]) -> Iterator[int]:
    """Those before it that say what it says, are of the same text, or sum it up, or that it sums up."""
    for other in before:
        same = other.text == one.text or other.root == one.root
        if same or {one.id, one.root} & other.sums_up or {other.id, other.root} & one.sums_up:
            yield other.id
