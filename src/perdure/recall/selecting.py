"""Which of the candidates of a turn take a place in its prompt: past the gate, nothing twice, within the budget.

Decides and asks nobody; what it needs to know of vectors comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from perdure.context import Line, frame_tokens, line_tokens
from perdure.embedding import Calibration
from perdure.recall.gathering import standing
from perdure.recall.saying import said, said_by
from perdure.rules.alike import NEAR, Said, Verdict, compared
from perdure.rules.distinct import Comparing, distinct
from perdure.types import Hit, LeftOut, PendingItem, StoredMemory

CANDIDATES: Final = 12
"""Memories that are looked at to fill three places: what repeats one of them mostly stands right behind it."""

PER_PLACE: Final = 4
"""The same for each place, where more than three are asked for."""


@dataclass(slots=True)
class Budget:
    """What the tail of the prompt may cost in tokens, None for any, and what it costs already."""

    tokens: int | None
    time_zone: str
    spent: int = 0

    def take(self, line: Line) -> int | None:
        """Takes a line that fits, whole; otherwise says how many tokens it would have cost."""
        cost = line_tokens(line, self.time_zone)
        frame = 0 if self.spent else frame_tokens()
        if self.tokens is not None and self.spent + frame + cost > self.tokens:
            return cost
        self.spent += frame + cost
        return None


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
    known = [memory for memory in memories if memory.id in vectors]
    if len(known) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        return None
    place = {memory.id: number for number, memory in enumerate(known)}
    stacked = np.stack([vectors[memory.id] for memory in known])
    cosines = (stacked @ stacked.T).tolist()
    by = [said_by(memory) for memory in known]

    @cache
    def says(number: int) -> Said:
        return said(known[number])

    def beside(later: int, earlier: int) -> Verdict:
        one, other = place.get(later), place.get(earlier)
        if one is None or other is None:
            return Verdict.OTHER
        similarity = calibration.calibrated_similarity(cosines[one][other])
        if similarity < NEAR or by[one] != by[other]:
            return Verdict.OTHER
        return compared(says(one), says(other), similarity)

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
    left_out: dict[int, LeftOut] = {}
    taken: set[int] = set()
    places = limit
    for memory_id in order.kept:
        if places == 0:
            break
        if memory_id not in passing:
            places -= 1
        elif (cost := budget.take(of[memory_id])) is None:
            places -= 1
            taken.add(memory_id)
        else:
            left_out[memory_id] = LeftOut(memory_id, "over_budget", tokens=cost)
    told = set(taken)
    for memory_id, twin in order.repeats.items():
        waits = memory_id in order.waiting
        # What repeats something too dear may say it in fewer words.
        if memory_id not in passing or not (waits or twin in told or twin in left_out):
            continue
        if twin in told and not waits:
            left_out[memory_id] = LeftOut(memory_id, "repeated", beside=twin)
        elif len(taken) == limit:
            left_out[memory_id] = LeftOut(memory_id, "alike", beside=twin)
        elif (cost := budget.take(of[memory_id])) is None:
            taken.add(memory_id)
            told |= {memory_id, twin}
        else:
            left_out[memory_id] = LeftOut(memory_id, "over_budget", tokens=cost)
    shown = [hit for hit in hits if hit.memory.id in taken]
    waiting = tuple(item for item in pending if budget.take(item) is None)
    return Selection(tuple(shown), waiting, tuple(left_out.values()), budget.spent)
