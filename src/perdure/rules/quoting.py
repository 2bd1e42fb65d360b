"""Whether a text quotes another that is to be erased, by the words that only the other one said."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

FEW: Final = 2
"""A quotation has so many words of its own text at least, and two thirds of them."""
IDENTIFIER_CHARS: Final = 4
"""A word of so many characters with a digit in it names one thing: a number, a code, a plate."""


def quotes(own: AbstractSet[str], said: AbstractSet[str]) -> bool:
    """Whether a text with the terms `said` quotes one whose own terms, which no other memory holds, are `own`.

    What gives none of the same figures says something else: "at 4 pm" doesn't quote "at 3 pm".

    >>> quotes({"canary", "kumquat"}, {"your", "canary", "kumquat"}), quotes({"fig"}, {"fig", "tree"})
    (True, False)
    """
    shared = own & said
    figures = {term for term in own if any(map(str.isdigit, term))}
    if any(len(term) >= IDENTIFIER_CHARS for term in figures & shared):
        return True
    return len(shared) >= FEW and 3 * len(shared) >= 2 * len(own) and (not figures or bool(figures & shared))
