"""Whether one memory says what another one says, in other words.

Vectors alone can't tell: with the bundled model "my mother turned 60 in May" and "my father turned 60 in May" are as
near to each other as most paraphrases (docs/recall.md has figures). Where words show a difference (another word at the
same place, another number or name, a "not", two names that changed places), nothing counts as the same: to show two of
a kind costs less than to lose one. Where they show none, what is very near is the same, and what is merely near waits
until everything else has had its turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from typing import Final

SAME: Final = 0.91
"""Similarity on the family's scale (0 unrelated, 1 identical) of what is the same if no word speaks against it: with
the bundled model a cosine of 0.985."""

SAME_WORDS: Final = 0.7
"""The same of what has no word of its own: a cosine of 0.95."""

PERHAPS: Final = 0.79
"""The same of what may be the same, a cosine of 0.965: from here to `SAME` there are as many different facts as
paraphrases."""

NEAR: Final = min(SAME_WORDS, PERHAPS)
"""Below it whatever two memories say is not looked at."""

COMPARED: Final = 64
"""Words of each text that are put side by side; what longer texts begin with alike counts as the same sentence."""


class Verdict(Enum):
    """What a memory is beside one that stands before it."""

    OTHER = "other"
    PERHAPS = "perhaps the same"
    SAME = "the same"


@dataclass(frozen=True, slots=True)
class Said:
    """What a memory says, as far as another one may say the same.

    Attributes:
        words: all its words, folded, in order; in scripts without spaces its characters.
        content: the stems of those that say something, in order.
        numbers: stems with a digit, and numerals.
        names: stems of words that are written with a capital, in order.
        cased: whether its script has capitals, so that names can be told.
        negated: whether it says that something is not so.
        by: who said it, and for what happens more than once the day: of others it is something else.
    """

    words: tuple[str, ...]
    content: tuple[str, ...]
    numbers: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    cased: bool = True
    negated: bool = False
    by: Hashable = None


def compared(later: Said, earlier: Said, similarity: float) -> Verdict:
    """What `later` is beside `earlier`; `similarity` is calibrated: 0 for unrelated texts, 1 for identical ones."""
    if similarity < NEAR or _differ(later, earlier):
        return Verdict.OTHER
    if later.words == earlier.words:
        return Verdict.SAME
    if _replaced(later.words, earlier.words):
        return Verdict.PERHAPS if similarity >= SAME and later.cased else Verdict.OTHER
    if _in_another_order(later.names, earlier.names):
        return Verdict.PERHAPS if similarity >= PERHAPS else Verdict.OTHER
    if similarity >= SAME or (similarity >= SAME_WORDS and _within(later.content, earlier.content)):
        return Verdict.SAME
    return Verdict.PERHAPS if similarity >= PERHAPS else Verdict.OTHER


def _differ(later: Said, earlier: Said) -> bool:
    """Whether `later` has a number or a name of its own, denies what the other says, or says who did it to whom."""
    if (later.by, later.negated) != (earlier.by, earlier.negated):
        return True
    if not later.numbers <= earlier.numbers or not set(earlier.content).issuperset(later.names):
        return True
    return later.words != earlier.words and Counter(later.words) == Counter(earlier.words)


def _in_another_order(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether names that both have stand in another order."""
    shared = set(one) & set(other)
    first, second = ([name for name in dict.fromkeys(names) if name in shared] for names in (one, other))
    return first != second


def _replaced(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether they are the same sentence with something else at the same places."""
    changes = SequenceMatcher(None, one[:COMPARED], other[:COMPARED], autojunk=False).get_opcodes()
    return all(change in {"equal", "replace"} for change, *_ in changes)


def _within(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether `many` has all of `few`, in the same order."""
    rest = iter(many)
    return all(word in rest for word in few)
