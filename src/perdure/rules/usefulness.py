"""Usefulness: how much a memory has helped, 0..1, and how a reply tells that it did where no model can be asked."""

from __future__ import annotations

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Final

STEP: Final = 0.1
"""The part of the way to 1, or to 0, that one verdict goes (mission: 0.1)."""

LEAST_SHARE: Final = 1 / 4
"""The part of a memory's distinctive words that has to stand in a reply which drew on it (ours: a quarter) …"""
ENOUGH_WORDS: Final = 4
"""… or so many of them, of a long memory (ours: 4)."""
PIECE: Final = 0.5
"""What a pair of characters counts as, in words, where words aren't told apart: every other pair crosses two words."""
COMMON_SHARE: Final = 0.1
"""A word that more than this share of the space's memories have tells none of them apart (ours: a tenth) …"""
COMMON_AT_LEAST: Final = 3
"""… if more than so many memories have it."""

# Thai to Burmese, Khmer, kana and Han, Korean: where the terms of a text are pieces of its words.
_UNSPACED: Final = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]")
_BRACKETED: Final = re.compile(r"[\[［【]([^\[\]［］【】]{1,80})[\]］】]")
_NAMED: Final = re.compile(r"""\bmemor(?:y|ies)\s{0,3}(?:id\s{0,3})?[#:=]?\s{0,3}["']?([0-9]{1,19})\b""", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"""\bid\s{0,3}[:=]\s{0,3}["']?([0-9]{1,19})\b""", re.IGNORECASE)
_BESIDE_IDS: Final = re.compile(r"""memor(?:y|ies)|\bids?\b|\band\b|[0-9]{1,19}|[#:=,;&"'\s]""", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[0-9]{1,19}")


def after_verdict(usefulness: float, useful: bool | None) -> float:
    """Usefulness, 0..1, after one verdict: a tenth of the way to 1 or to 0; None, no verdict, changes nothing.

    >>> after_verdict(0.5, True), after_verdict(0.5, False), after_verdict(0.5, None)
    (0.55, 0.45, 0.5)
    """
    if useful is None:
        return usefulness
    return usefulness + STEP * (1.0 - usefulness) if useful else usefulness - STEP * usefulness


def cited(reply: str) -> frozenset[int]:
    """The ids of memories that a reply cites, in the forms that models use: `[42]`, `[41, 42]`, `memory 42`, `id="42"`.

    >>> sorted(cited('You moved in May [41, 42], see memory #7; the list [of 3 things] is none.'))
    [7, 41, 42]
    """
    found = [*_NAMED.findall(reply), *_ATTRIBUTE.findall(reply)]
    for inside in _BRACKETED.findall(reply):
        if not _BESIDE_IDS.sub("", inside):
            found += _NUMBER.findall(inside)
    return frozenset(map(int, found))


def is_common(document_frequency: int, memories: int) -> bool:
    """Whether a word that so many of a space's memories have says nothing about one of them, as the user's name."""
    return document_frequency > max(COMMON_AT_LEAST, COMMON_SHARE * memories)


def draws_on(memory: AbstractSet[str], *, known: Collection[AbstractSet[str]], reply: AbstractSet[str]) -> bool:
    """Whether a reply says what only this memory can have told it.

    Args:
        memory: the terms of the memory without function words.
        known: sets of terms that prove nothing: those of the user's message, words that many memories have, and the
            terms of the other memories in the prompt.
        reply: the terms of the reply.
    """
    # A single character is no word, and tells no more of a script without spaces than the pairs do.
    distinctive = {term for term in memory if len(term) > 1 and not any(term in terms for terms in known)}
    shared = distinctive & reply
    return _words(shared) >= ENOUGH_WORDS or len(shared) >= max(1, LEAST_SHARE * _words(distinctive))


def _words(terms: AbstractSet[str]) -> float:
    """How many words these terms make up."""
    return sum(PIECE if _UNSPACED.match(term) else 1 for term in terms)
