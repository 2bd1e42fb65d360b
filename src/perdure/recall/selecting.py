"""Which of the candidates of a turn take a place in its prompt: past the gate, nothing twice, within the budget.

Decides and asks nobody; what it needs to know of vectors comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from perdure.context import Line, tail_tokens
from perdure.embedding import Calibration
from perdure.recall.gathering import standing
from perdure.recall.saying import said
from perdure.rules.alike import Verdict, compared
from perdure.rules.distinct import Comparing, distinct
from perdure.types import Hit, LeftOut, PendingItem, StoredMemory

CANDIDATES: Final = 12
"""Memories that are looked at to fill three places: what repeats one of them mostly stands right behind it."""

PER_PLACE: Final = 4
"""The same for each place, where more than three are asked for."""


@dataclass(slots=True)
class Budget:
    """What may be said in the prompt: the lines that were taken, and whether one more fits."""

    tokens: int | None
    time_zone: str
    lines: list[Line] = field(default_factory=list)

    def take(self, line: Line) -> int | None:
        """Takes a line that fits, whole; otherwise says how many tokens it would have cost."""
        cost = tail_tokens([*self.lines, line], self.time_zone)
        if self.tokens is not None and cost > self.tokens:
            return cost - self.spent
        self.lines.append(line)
        return None

    @property
    def spent(self) -> int:
        return tail_tokens(self.lines, self.time_zone)


@dataclass(frozen=True, slots=True)
class Selection:
    """What goes into the prompt, best first, what was left out of it, and what it costs."""

    hits: tuple[Hit, ...] = ()
    pending: tuple[PendingItem, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    tokens: int = 0


def candidates_for(limit: int) -> int:
    """How many memories to look at for `limit` places."""
    return max(CANDIDATES, PER_PLACE * limit)


def comparing(
    memories: Sequence[StoredMemory],
    vectors: Mapping[int, npt.NDArray[np.float32]],
    calibration: Calibration | None,
) -> Comparing | None:
    """Compares memories by what they say, where they have a vector; None where nobody knows what a cosine means."""
    if calibration is None:
        return None
    says = {memory.id: said(memory) for memory in memories if memory.id in vectors}

    def beside(later: int, earlier: int) -> Verdict:
        if later not in says or earlier not in says:
            return Verdict.OTHER
        cosine = float(vectors[later] @ vectors[earlier])
        return compared(says[later], says[earlier], calibration.calibrated_similarity(cosine))

    return beside


def select(
    hits: Sequence[Hit],
    passing: Collection[int],
    pending: Sequence[PendingItem],
    budget: Budget,
    *,
    limit: int,
    beside: Comparing | None,
) -> Selection:
    """Takes memories in their order, then what may repeat one of them, then exchanges that wait, as long as they fit.

    `passing` are the ids past the gate. What the gate stops uses up its place: memories from further back come in only
    for what repeats others or doesn't fit.
    """
    order = distinct([standing(hit.memory) for hit in hits], beside)
    of = {hit.memory.id: hit for hit in hits}
    left_out: list[LeftOut] = []
    taken: set[int] = set()
    places = limit
    for memory_id in order.kept:
        if places == 0:
            break
        if memory_id in passing and (cost := budget.take(of[memory_id])) is not None:
            left_out.append(LeftOut(memory_id, "over_budget", tokens=cost))
            continue
        places -= 1
        taken |= {memory_id} & set(passing)
    for memory_id in order.waiting:
        if memory_id not in passing:
            continue
        if len(taken) < limit and budget.take(of[memory_id]) is None:
            taken.add(memory_id)
        else:
            left_out.append(LeftOut(memory_id, "alike", beside=order.repeats[memory_id]))
    left_out += [
        LeftOut(memory_id, "repeated", beside=twin)
        for memory_id, twin in order.repeats.items()
        if memory_id in passing and twin in taken and memory_id not in order.waiting
    ]
    shown = [hit for hit in hits if hit.memory.id in taken]
    budget.lines = [*shown]
    waiting = tuple(item for item in pending if budget.take(item) is None)
    return Selection(tuple(shown), waiting, tuple(left_out), budget.spent)
