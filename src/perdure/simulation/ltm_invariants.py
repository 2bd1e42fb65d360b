"""What must hold of facts in any life: checked after it was lived."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Final

from perdure.simulation.invariants import Invariant
from perdure.simulation.ltm_days import Lived

LESS: Final = 0.8
"""The part of the tokens of all facts that prompts may cost once facts that aren't needed sleep."""
SETTLED: Final = 0.5
"""The part of all days after which that can be told."""
LONG: Final = 30
"""Days of a life of which it can."""


def fact_invariants(lived: Lived) -> Sequence[Invariant]:
    """All promises; that prompts get cheaper is left out of a life too short to tell."""
    return [*_counting(lived), *_telling(lived), *(_costs(lived) if lived.days >= LONG else ())]


def share_shown(lived: Lived) -> float:
    """Tokens of the facts in prompts, by those of all facts, in the latter half of the days; 1 without any turn."""
    settled = [one for one in lived.evenings if one.day >= SETTLED * lived.days]
    shown = [one.shown for one in settled if one.shown is not None]
    everything = [one.everything for one in settled if one.everything]
    return mean(shown) / mean(everything) if shown and everything else 1.0


def _counting(lived: Lived) -> list[Invariant]:
    return [
        Invariant("a fact ages by one day a day at most", lived.twice == 0, f"{lived.twice} aged more"),
        Invariant("what isn't scored ages nothing", lived.unscored == 0, f"{lived.unscored} counts changed"),
        Invariant("a fact that won is active in the next prompt", lived.sleeping == 0, f"{lived.sleeping} were not"),
        Invariant("counts are those of the rules", lived.differing == 0, f"{lived.differing} differed"),
        Invariant("a look leaves no trace", lived.traces == 0, f"{lived.traces} counts changed by one"),
    ]


def _telling(lived: Lived) -> list[Invariant]:
    questions, answered = (sum(getattr(one, name) for one in lived.asked) for name in ("questions", "answered"))
    told = f"{answered} of {questions}, {sum(one.active for one in lived.asked)} of them without recall"
    return [
        Invariant("every question has its fact in the prompt", answered == questions, told),
        Invariant("each answer tells telemetry once", lived.samples == lived.turns, f"{lived.samples} samples"),
        Invariant("everything that was taught is stored", not lived.refused, f"{lived.taught} lessons"),
    ]


def _costs(lived: Lived) -> list[Invariant]:
    share = share_shown(lived)
    return [Invariant("prompts cost less than with all facts", share <= LESS, f"{share:.0%} of the tokens")]
