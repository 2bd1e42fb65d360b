"""Turns of a conversation lend each other relevance: an answer is understood by its question.

A short turn ("Since May, and I love it") says little by itself; what it is about stands in the turns around it, said by
somebody else. Weights by measurement: docs/evaluation.md.
"""

from __future__ import annotations

from dataclasses import dataclass

GAP_S = 3600.0
"""Turns more than an hour apart are two talks, even in one conversation."""


@dataclass(frozen=True, slots=True)
class TurnWeights:
    """What a turn takes from the turns around it, as shares of their relevance.

    Attributes:
        previous, following: from the turn before and after.
        answer: on top of `previous`, when the turn before was a question.
        second: from the turns two places away, on both sides.
        hand_over: what a question loses of its own relevance once it is answered.
        length: turns of up to so many terms take the full share; longer ones speak for themselves, and take
            length / terms of it.
    """

    previous: float = 0.25
    following: float = 0.15
    answer: float = 0.3
    second: float = 0.1
    hand_over: float = 0.2
    length: float = 30.0


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn for one query: its relevance, its number of terms, whether it is a question, and who said it."""

    relevance: float
    terms: int = 0
    is_question: bool = False
    speaker: str | None = None


def share(weights: TurnWeights, terms: int) -> float:
    """How much of the shares a turn of so many terms takes, in 0..1."""
    return min(1.0, weights.length / max(terms, 1))


def lent(weights: TurnWeights, before: tuple[Turn, ...], turn: Turn, after: tuple[Turn, ...]) -> float:
    """What the turns around add to the relevance of `turn`; negative where an answered question hands over.

    Args:
        weights: the shares.
        before: the turns before in the same conversation, nearest first; two count.
        turn: the turn itself.
        after: the turns after it, nearest first; two count.

    Only a turn of another speaker counts, and the one behind it only if the speaker changes again. The caller passes
    turns that belong together: of one conversation, each at most `GAP_S` from the next.
    """
    earlier = _alternating(turn, before)
    later = _alternating(turn, after)
    taken = 0.0
    if earlier:
        taken += (weights.previous + weights.answer * earlier[0].is_question) * earlier[0].relevance
    if later:
        taken += weights.following * later[0].relevance
    taken += weights.second * sum(side[1].relevance for side in (earlier, later) if len(side) > 1)
    given = weights.hand_over * turn.is_question * share(weights, later[0].terms) * turn.relevance if later else 0.0
    return share(weights, turn.terms) * taken - given


def _alternating(turn: Turn, around: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The nearest two of `around`, as long as each was said by another than the one before it."""
    kept: list[Turn] = []
    last = turn
    for other in around[:2]:
        if other.speaker == last.speaker:
            break
        kept.append(other)
        last = other
    return tuple(kept)
