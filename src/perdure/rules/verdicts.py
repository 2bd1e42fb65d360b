"""What a verdict does to two memories, given who vouches for each, when each was observed, and who may see it.

The later truth wins, by observed time and not by arrival: old news arriving late doesn't overturn newer truth. Lower
trust never supersedes higher, what only one audience may see never supersedes what the whole space may see, and nobody
supersedes what another person said without naming them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

DUPLICATE: Final = "DUPLICATE"
UPDATES: Final = "UPDATES"
CONTRADICTS: Final = "CONTRADICTS"
COMPATIBLE: Final = "COMPATIBLE"

TRUST_RANK: Final[Mapping[str, int]] = {"user": 4, "assistant": 3, "tool": 2, "external": 1, "derived": 0}
"""Who vouches for a memory: user > assistant > tool > external > derived."""


class Effect(StrEnum):
    """What becomes of the new and of the old memory."""

    NOTHING = "nothing"
    MERGE = "merge"
    """The new one adds its evidence to the old one and isn't stored."""
    SUPERSEDE_OLD = "supersede_old"
    SUPERSEDE_NEW = "supersede_new"
    CONFLICT = "conflict"
    """Both stay live and name each other."""
    CONFLICT_UNSEEN = "conflict_unseen"
    """Both stay live; the private one names the other, which mustn't know of it."""


@dataclass(frozen=True, slots=True)
class Side:
    """One memory as far as a verdict is concerned. `observed` is when it was last known to be so.

    `id` tells which came in first where both were observed at the same moment; a new one has a greater id than all
    that are stored. `speaker` is who said it, if that is known, and `names` are the speakers among those concerned whom
    the text names; both folded.
    """

    id: int
    trust: str
    observed: datetime
    audience: str | None = None
    speaker: str | None = None
    names: frozenset[str] = frozenset()

    @property
    def age(self) -> tuple[datetime, int]:
        return self.observed, self.id


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a new memory and with those that stand near it.

    The survivor is the new memory, or the one named by `merge_into`. `superseded` are superseded by the survivor,
    `superseded_by` supersedes it. `conflicts` and the survivor name each other; the survivor alone names `unseen`.
    """

    merge_into: int | None = None
    superseded: tuple[int, ...] = ()
    superseded_by: int | None = None
    conflicts: tuple[int, ...] = ()
    unseen: tuple[int, ...] = ()


def effect(verdict: str, new: Side, old: Side) -> Effect:
    """What `verdict` (one of the four) on `new` against `old` does.

    Raises ValueError for anything that is no verdict.
    """
    if verdict == COMPATIBLE:
        return Effect.NOTHING
    if verdict == DUPLICATE:
        return _of_duplicate(new, old)
    if verdict not in {UPDATES, CONTRADICTS}:
        raise ValueError(f"{verdict!r} is no verdict")
    newer, older = (new, old) if new.age > old.age else (old, new)
    if newer.audience is not None and older.audience is None:
        return Effect.CONFLICT_UNSEEN
    if TRUST_RANK[newer.trust] < TRUST_RANK[older.trust] or _is_anothers(newer, older):
        return Effect.CONFLICT if new.audience == old.audience else Effect.CONFLICT_UNSEEN
    return Effect.SUPERSEDE_OLD if newer is new else Effect.SUPERSEDE_NEW


def plan(new: Side, judged: Sequence[tuple[Side, str]]) -> Plan:
    """All verdicts on one new memory as one plan.

    What is merged speaks with the voice of the memory it is merged into, and is as new as the newer of both: a truth
    that was said again, by somebody trusted as much, is not overturned by what was said in between.
    """
    same = [old for old, verdict in judged if effect(verdict, new, old) is Effect.MERGE]
    target = max(same, key=lambda old: (TRUST_RANK[old.trust], old.age), default=None)
    survivor = new
    if target is not None:
        if TRUST_RANK[new.trust] < TRUST_RANK[target.trust]:
            # Hearsay bears out what somebody more trusted said, and neither renews it nor turns it against anything.
            return Plan(merge_into=target.id)
        observed = max(target.observed, new.observed)
        survivor = replace(target, observed=observed, names=target.names | new.names)

    found: dict[Effect, list[Side]] = {each: [] for each in Effect}
    for old, verdict in judged:
        if old not in same:
            found[effect(verdict, survivor, old)].append(old)
    winner = max(found[Effect.SUPERSEDE_NEW], key=lambda old: old.age, default=None)
    return Plan(
        merge_into=target.id if target else None,
        superseded=tuple(old.id for old in found[Effect.SUPERSEDE_OLD]),
        superseded_by=winner.id if winner else None,
        conflicts=tuple(old.id for old in found[Effect.CONFLICT]) if winner is None else (),
        unseen=tuple(old.id for old in found[Effect.CONFLICT_UNSEEN]) if winner is None else (),
    )


def _is_anothers(one: Side, other: Side) -> bool:
    """Whether two people speak, each for themselves: "I live in Bonn" says nothing of where somebody else lives.

    Where `one` names the other's speaker, it does speak of them.
    """
    both = one.speaker is not None and other.speaker is not None and one.speaker != other.speaker
    return both and one.trust == other.trust == "user" and other.speaker not in one.names


def _of_duplicate(new: Side, old: Side) -> Effect:
    """The same told to another audience is kept apart, and so is what somebody else says in the same words of
    themselves; told by somebody more trusted, it takes the other's place."""
    if new.audience != old.audience or (_is_anothers(new, old) and _is_anothers(old, new)):
        return Effect.NOTHING
    return Effect.SUPERSEDE_OLD if TRUST_RANK[new.trust] > TRUST_RANK[old.trust] else Effect.MERGE


def plan_for_saved(saved: Side, judged: Sequence[tuple[Side, str]]) -> Plan:
    """The same for a memory that somebody asked to save: it stays as it is, whatever else is said.

    It takes the place of what it outdates and of what says the same; what would supersede it is in conflict with it.
    """
    superseded, conflicts, unseen = [], [], []
    for old, verdict in judged:
        match effect(verdict, saved, old):
            case Effect.SUPERSEDE_OLD:
                superseded.append(old.id)
            case Effect.MERGE if saved.trust == old.trust and saved.age > old.age:
                superseded.append(old.id)
            case Effect.SUPERSEDE_NEW | Effect.CONFLICT if saved.audience == old.audience:
                conflicts.append(old.id)
            case Effect.SUPERSEDE_NEW | Effect.CONFLICT_UNSEEN:
                unseen.append(old.id)
            case _:
                pass
    return Plan(superseded=tuple(superseded), conflicts=tuple(conflicts), unseen=tuple(unseen))
