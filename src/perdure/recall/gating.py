"""What the relevance gate sees of a turn and of each memory: the same for the recall and for whoever asks why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perdure.resources import Resources, unrelated_of
from perdure.rules.gate import NEEDED, Bar, Candidate, Words, cosine_needed, share, surplus, words_of
from perdure.store.database import SpaceTransaction
from perdure.store.ranking import RankedRow
from perdure.store.spaces import SpaceRow
from perdure.text import is_elliptic, is_question, says_something
from perdure.types import GateReading


def tells(message: str) -> bool:
    """Whether a message is more than small talk: it says something, or ("When is it?") goes on with what was said."""
    return says_something(message) or is_elliptic(message)


async def bar_of(
    tx: SpaceTransaction,
    resources: Resources,
    space: SpaceRow,
    *,
    message: str,
    history: Sequence[tuple[str, str]],
    vectors: np.ndarray,
    memories: int,
    keep: bool = True,
) -> Bar:
    """What a turn asks of a memory, in a space of so many `memories`.

    `vectors` are those of its trajectory and, last, of the message alone. Without `keep` nothing is written.
    """
    unrelated = await unrelated_of(tx, resources, space, memories)
    telling = tells(message)
    place = resources.noise.of(vectors[0], vectors[-1], keep=keep)
    if unrelated is None:
        return Bar(telling, None)
    spread = unrelated.query_spread
    if place is None:
        return Bar(telling, unrelated.noise - NEEDED * spread, spread=spread)
    asking = place.asking
    if history and (is_elliptic(message) or is_question(message)):
        # A follow-up such as "And when is it?" asks only together with what was said before.
        together = resources.noise.of(vectors[0], vectors[0], keep=keep)
        asking = max(asking, together.asking if together else asking)
    return Bar(telling, place.level, asking, spread)


def read_gates(
    bar: Bar, rows: Sequence[RankedRow], terms: Sequence[str], frequencies: Mapping[str, int], memories: int
) -> list[GateReading]:
    """What the gate sees of ranked memories, in their order.

    `terms` are the message's, `frequencies` how many of the `memories` have each.
    """
    words = words_of(terms, frequencies, memories)
    return [_read_gate(bar, row, words) for row in rows]


def _read_gate(bar: Bar, row: RankedRow, words: Words) -> GateReading:
    shared = share(row.matched_terms, words)
    candidate = Candidate(row.similarity, shared, row.entity_match)
    return GateReading(
        cosine=row.similarity,
        noise=cosine_needed(candidate, bar),
        words=row.matched_terms,
        share=shared,
        name=row.entity_match,
        asks=bar.telling,
        surplus=surplus(candidate, bar),
    )
