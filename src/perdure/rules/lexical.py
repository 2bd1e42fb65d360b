"""BM25: how well the words of a memory answer the words of a query, with the rarity of each word in its space.

The store computes the same numbers from its posting tables; this is the reference that tests hold it against.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Bm25:
    """k1: how fast repetition stops counting (> 0). b: how much long texts are discounted, 0 not at all, 1 fully.

    rarity: the power that a term's rarity is raised to; above 1, rare words count for more.
    dates: how much a date counts, as a multiple of a word as rare.
    breadth: how many words a memory may be expected to share with a query, see `reachable`; infinite for all of them.
    """

    k1: float = 1.2
    b: float = 0.75
    rarity: float = 1.0
    dates: float = 1.0
    breadth: float = math.inf


DATE_SIGN: Final = "@"
"""What the terms of dates begin with (`perdure.text.date_terms`): @y2023, @m5, @m5d8."""

DEFAULT: Final = Bm25()
"""The values of Robertson and Zaragoza (2009), which most engines ship."""


def idf(df: int, n: int, parameters: Bm25 = DEFAULT) -> float:
    """Rarity of a term that `df` of `n` memories contain: ln(1 + (n − df + 0.5) / (df + 0.5)), above 0 for every df.

    Raised to the power `parameters.rarity`.

    Counts are kept by several writers and may lag: a df above n counts as n.
    """
    df = min(df, n)
    return float(math.log1p((n - df + 0.5) / (df + 0.5)) ** parameters.rarity)


def term_weight(tf: float, length: float, average_length: float, parameters: Bm25 = DEFAULT) -> float:
    """What `tf` occurrences in a memory of `length` terms count: from 0 towards k1 + 1.

    `average_length` is that of the space; where it is 0 (nothing stored) length is not considered.
    """
    if tf <= 0:
        return 0.0
    relative = length / average_length if average_length > 0 else 1.0
    return tf * (parameters.k1 + 1) / (tf + parameters.k1 * (1 - parameters.b + parameters.b * relative))


def score(
    frequencies: Mapping[str, int],
    idfs: Mapping[str, float],
    length: float,
    average_length: float,
    parameters: Bm25 = DEFAULT,
) -> float:
    """BM25 of one memory, 0 or more.

    Args:
        frequencies: how often each term occurs in the memory.
        idfs: the query's distinct terms with their rarity.
        length: number of terms in the memory.
        average_length: mean number of terms in the space.
        parameters: k1 and b.
    """
    return math.fsum(
        rarity * term_weight(frequencies.get(term, 0), length, average_length, parameters)
        for term, rarity in idfs.items()
    )


def rarities(
    terms: Iterable[str], frequencies: Mapping[str, int], n: int, parameters: Bm25 = DEFAULT
) -> dict[str, float]:
    """The rarity of each term of a query, by the number of the `n` memories that have it.

    A word that no memory has counts as the rarest, and lowers the share of all others. A date that no memory has
    counts nothing: a question about a day that was never spoken of is still answered by its words.
    """
    found: dict[str, float] = {}
    for term in terms:
        df = frequencies.get(term, 0)
        if term.startswith(DATE_SIGN):
            found[term] = parameters.dates * idf(df, n, parameters) if df > 0 else 0.0
        else:
            found[term] = idf(df, n, parameters)
    return found


def reachable(idfs: Mapping[str, float], parameters: Bm25 = DEFAULT) -> float:
    """The rarities that one memory could be expected to have together.

    It has one year, one month and one day. Of the words of a long query no memory has all: rarest first and counted
    from 0, the i-th counts 1 / (1 + i / breadth).
    """
    rarest_first = sorted((rarity for term, rarity in idfs.items() if not term.startswith(DATE_SIGN)), reverse=True)
    words = math.fsum(rarity / (1.0 + place / parameters.breadth) for place, rarity in enumerate(rarest_first))
    dates: dict[str, float] = {}
    for term, rarity in idfs.items():
        if term.startswith(DATE_SIGN):
            kind = "day" if "d" in term else term[:2]
            dates[kind] = max(rarity, dates.get(kind, 0.0))
    return words + math.fsum(dates.values())


def attainable(found: float, idfs: Mapping[str, float], parameters: Bm25 = DEFAULT) -> float:
    """`found` as a share of the most that a memory could be expected to reach for these query terms.

    It is 0 or more, and above 1 only for a memory that has more of a long query than was to be expected. It makes
    scores of different queries comparable, which a fixed weight in the ranking formula needs.
    """
    most = reachable(idfs, parameters) * (parameters.k1 + 1)
    return max(0.0, found / most) if most > 0 else 0.0
