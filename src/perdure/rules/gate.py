"""The relevance gate: which of the top memories are worth a line in the prompt.

The ranking formula alone always returns k rows, however little they have to do with the turn. Here three signals add
up: how much nearer the memory is to the turn than turns are that want nothing of a memory, whether the message asks for
anything, and which of its words the memory shares. One that is strong makes up for one that is weak, so a memory with
the turn's rare words may lie further away. A message of small talk alone opens the gate for nothing.

Cosines mean something else in every family, so all of them count in spreads: the standard deviation of the cosines of a
query and a memory that have nothing to do with each other, in this space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum, inf
from typing import Final

from perdure.rules.lexical import rarities, reachable

NEEDED: Final = 1.0
"""What the signals have to exceed. Measured, with the weights, in docs/evaluation.md."""
ASKING: Final = 1.2
"""Weight of a spread by which the message is nearer to messages that ask than to those that don't."""
WORDS: Final = 2.0
"""Weight of all of the message's words."""
NAME: Final = 1.0
"""Weight of an entity of the memory that the message names: not measured, as much as is needed."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What one turn asks of a memory.

    Attributes:
        telling: the message is more than small talk.
        level: the cosine to the turn that a memory reaches which is as near as turns that want nothing; None while
            nobody can tell, and then words and names alone decide.
        asking: how much nearer the message is to messages that ask for something, as a difference of cosines.
        spread: standard deviation of the cosines of unrelated queries and memories, above 0.
    """

    telling: bool
    level: float | None
    asking: float = 0.0
    spread: float = 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the gate looks at: cosine to the turn, share of the message's words (0..1), an entity that it names."""

    similarity: float
    words: float
    name: bool


def surplus(candidate: Candidate, bar: Bar) -> float:
    """By how much the signals exceed what is needed: above 0 the memory may be injected."""
    if not bar.telling:
        return -inf
    shared = WORDS * candidate.words + NAME * candidate.name
    if bar.level is None:
        return shared - NEEDED
    return (candidate.similarity - bar.level + ASKING * bar.asking) / bar.spread + shared - NEEDED


def cosine_needed(candidate: Candidate, bar: Bar) -> float | None:
    """The cosine that a memory with these words has to exceed; None where no cosine decides."""
    if bar.level is None or not bar.telling:
        return None
    return candidate.similarity - bar.spread * surplus(candidate, bar)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a message: what each of them weighs, and how much of that one memory could have."""

    weights: Mapping[str, float]
    reachable: float


def words_of(terms: Iterable[str], frequencies: Mapping[str, int], memories: int) -> Words:
    """The words of a message as BM25 weighs them: rare ones more, and of the days of "last week" a memory has one.

    Args:
        terms: all terms of the message.
        frequencies: in how many of the `memories` each of them occurs; none where it is missing.
    """
    weights = rarities(terms, frequencies, memories)
    return Words(weights, reachable(weights))


def share(matched: Iterable[str], words: Words) -> float:
    """How much a memory with the terms `matched` has of what it could have of a message's words, 0..1."""
    if not words.reachable:
        return 0.0
    return min(1.0, fsum(words.weights.get(term, 0.0) for term in set(matched)) / words.reachable)
