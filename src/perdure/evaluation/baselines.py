"""Plain retrieval beside ours: BM25, cosine, and both fused by reciprocal rank, over the same texts and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from perdure.embedding import Matrix
from perdure.rules import lexical
from perdure.store.survey import SurveyedMemory
from perdure.text import query_terms, terms

RRF_K: Final = 60
"""The constant of Cormack, Clarke and Büttcher (2009)."""

DEPTH: Final = 100
"""Places of a ranking that are looked at: as many as a search returns at most."""


class Baselines:
    """The memories of one space, ranked by other means. A text of several chunks stands where its best chunk does."""

    def __init__(self, memories: Sequence[SurveyedMemory]) -> None:
        self._roots = [memory.root for memory in memories]
        self._vectors = [memory.vector for memory in memories]
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for place, memory in enumerate(memories):
            found = terms(f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text)
            self._lengths.append(len(found))
            for term, count in Counter(found).items():
                self._postings.setdefault(term, []).append((place, count))
        self._matrix = np.stack([vector for vector in self._vectors if vector is not None] or [np.empty(0, np.float32)])
        self._with_vector = [place for place, vector in enumerate(self._vectors) if vector is not None]

    def rankings(self, query: str, vector: Matrix) -> Mapping[str, list[int]]:
        """Roots, best first, at most `DEPTH`, by the names of the baselines."""
        words, meaning = self._bm25(query), self._dense(vector)
        return {"bm25": words[:DEPTH], "dense": meaning[:DEPTH], "rrf": fused([words, meaning])[:DEPTH]}

    def _bm25(self, query: str) -> list[int]:
        """Roots that share a word with the query, by BM25 with the parameters that engines ship."""
        n = len(self._lengths)
        average = sum(self._lengths) / n if n else 0.0
        scores: dict[int, float] = {}
        for term in query_terms(query):
            postings = self._postings.get(term, ())
            rarity = lexical.idf(len(postings), n)
            for place, count in postings:
                weight = lexical.term_weight(count, self._lengths[place], average)
                scores[place] = scores.get(place, 0.0) + rarity * weight
        return self._by(scores.items())

    def _dense(self, vector: Matrix) -> list[int]:
        if not self._with_vector:
            return []
        cosines = self._matrix @ vector
        return self._by(zip(self._with_vector, cosines.tolist(), strict=True))

    def _by(self, scores: Iterable[tuple[int, float]]) -> list[int]:
        ordered = sorted(scores, key=lambda item: (-item[1], item[0]))
        return list(dict.fromkeys(self._roots[place] for place, _ in ordered))


def fused(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Reciprocal-rank fusion: by the sum of 1 / (RRF_K + place) over the rankings that hold an id."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, found in enumerate(ranking, start=1):
            scores[found] = scores.get(found, 0.0) + 1 / (RRF_K + place)
    order: Callable[[int], tuple[float, int]] = lambda found: (-scores[found], found)  # noqa: E731
    return sorted(scores, key=order)
