"""Dormancy: when a fact leaves the ordinary blocks of the prompt, what brings it back, what makes room for a new one.

A stage is never stored: it follows from `decay_days`, the days (UTC) on which a fact was scored and lost since it last
won. `record_recall_day` says in ten lines what the statements of `store/` say in SQL; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from typing import Final

from perdure.rules.fact_ids import FactId

DORMANT_AFTER: Final = 7
"""Counted days from which a fact is dormant (mission: 7)."""
QUICK_RETURN_UPTO: Final = 14
"""Counted days up to which a dormant fact that wins had hardly been away (mission: 7..14)."""
MAX_WINNERS: Final = 3
"""The most winners of a turn, of all scopes together (mission: 3)."""
MIN_COSINE: Final = 0.5
"""The cosine from which a fact can win (mission: 0.5), where the family has no calibrated equivalent."""
MAX_PER_SCOPE: Final = 100
"""The most facts of a scope (mission: 100); what every persona knows (lineage 0) is a scope of its own."""


def is_dormant(decay_days: int, *, pinned: bool, possible: bool) -> bool:
    """Whether a fact is dormant. `possible`: decay is enabled, and pgvector and an embedding model are available.

    >>> is_dormant(7, pinned=False, possible=True), is_dormant(6, pinned=False, possible=True)
    (True, False)
    """
    return possible and not pinned and decay_days >= DORMANT_AFTER


def pick_winners(
    scored: Iterable[tuple[FactId, float]], threshold: float = MIN_COSINE, most: int = MAX_WINNERS
) -> tuple[FactId, ...]:
    """The winners of a turn, best first: cosine at or above the threshold, at most `most` of servers and people.

    Equally near ones are taken in the order of their ids: people's before servers', lower numbers first.

    Args:
        scored: facts and their cosine to the query, -1..1; what isn't a number never wins.
    """
    near = sorted((-cosine, fact) for fact, cosine in scored if cosine >= threshold)
    return tuple(fact for _, fact in near[:most])


def is_quick_return(decay_days: int) -> bool:
    """Whether a fact that won had become dormant only lately: many of them mean that seven days are too few.

    Args:
        decay_days: what the win found and set back.
    """
    return DORMANT_AFTER <= decay_days <= QUICK_RETURN_UPTO


@dataclass(frozen=True, slots=True)
class Count:
    """What is counted of one fact: days, and the last day (UTC) that counted, by losing or by winning."""

    decay_days: int = 0
    last_counted_day: date | None = None
    pinned: bool = False

    def won(self, day: date) -> Count:
        """After a win: nothing guards it. A turn that is written down late doesn't set the day back."""
        return Count(0, max(day, self.last_counted_day or day), self.pinned)

    def lost(self, day: date) -> Count:
        """After a loss: one day more, once a day; a pinned fact never ages."""
        if self.pinned or (self.last_counted_day is not None and self.last_counted_day >= day):
            return self
        return Count(self.decay_days + 1, day)


def record_recall_day(
    counts: Mapping[FactId, Count], *, winners: AbstractSet[FactId], losers: AbstractSet[FactId], day: date
) -> dict[FactId, Count]:
    """The counts after one scored turn. Who neither won nor lost, or isn't there any more, is left alone.

    Args:
        winners: what won, as `pick_winners` says.
        losers: what was scored and didn't win; what has no vector, or was filtered out, is in neither.
        day: the day of the turn in UTC.
    """
    after = dict(counts)
    for fact, count in counts.items():
        if fact in winners:
            after[fact] = count.won(day)
        elif fact in losers:
            after[fact] = count.lost(day)
    return after


@dataclass(frozen=True, slots=True)
class Resident:
    """A fact in a scope, as far as it matters for its room there; `created_at` is any number that grows with time."""

    id: FactId
    lineage: int
    decay_days: int
    pinned: bool
    created_at: float


def pick_victim(residents: Iterable[Resident], winners: Collection[FactId] = ()) -> FactId | None:
    """The fact that makes room in a full scope, or None: the longest dormant, of those the oldest, then the lowest id.

    Never a pinned one, never one that every persona knows (lineage 0), never a winner of this turn. Nothing is
    replaced where dormancy isn't possible: then don't ask.
    """
    dormant = [
        (-resident.decay_days, resident.created_at, resident.id)
        for resident in residents
        if resident.lineage != 0
        and resident.id not in winners
        and is_dormant(resident.decay_days, pinned=resident.pinned, possible=True)
    ]
    return min(dormant)[-1] if dormant else None


@dataclass(frozen=True, slots=True)
class Room:
    """Whether one more fact fits into a scope, and which one has to go for it."""

    fits: bool
    victim: FactId | None = None


def room_for_one(
    residents: Collection[Resident], *, limit: int = MAX_PER_SCOPE, possible: bool, winners: Collection[FactId] = ()
) -> Room:
    """Whether a fact more fits among those of exactly its scope; a full scope gives up a dormant one, if it may.

    Args:
        possible: as for `is_dormant`.
    """
    if len(residents) < limit:
        return Room(fits=True)
    victim = pick_victim(residents, winners) if possible else None
    return Room(fits=victim is not None, victim=victim)
