"""The relevance gate: which of the top memories are worth a line in the prompt.

The ranking formula alone always returns k rows, however little they have to do with the turn. A memory passes when it
is similar beyond the family's noise, or when it shares a rare word or an entity with the turn. A turn that says nothing
("hi", "ok thanks") opens the gate for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

RARE_SHARE = 0.02
"""A word is rare when at most this share of the space's memories has it …"""
RARE_AT_LEAST = 3
"""… or at most this many of them, in a small space."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the gate looks at: cosine to the turn, a rare word shared with it, an entity named in it."""

    similarity: float
    rare_word: bool
    entity: bool


def is_rare(document_frequency: int, memories: int) -> bool:
    """Whether a term that `document_frequency` of `memories` rows have tells them apart."""
    return 0 < document_frequency <= max(RARE_AT_LEAST, RARE_SHARE * memories)


def passes(candidate: Candidate, *, says_something: bool, noise: float) -> bool:
    """Whether the memory may be injected.

    Args:
        candidate: the memory's signals.
        says_something: the turn has a word that is neither a function word nor small talk.
        noise: the cosine that a memory has to exceed to be more than noise for this turn.
    """
    if not says_something:
        return False
    return candidate.similarity > noise or candidate.rare_word or candidate.entity
