"""Made-up spaces for the ranking tests, and the ranking of `rules.ranking` in plain Python to hold the SQL against."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import psycopg

from benchmarks.corpus import EPOCH, Corpus, Item, Query, load_batch
from perdure.rules.lexical import attainable, idf, score
from perdure.rules.ranking import Distance, Rank, RankingProfile, Signals, TextTerm, rank, relevance
from perdure.rules.turns import GAP_S, Turn, lent
from perdure.store.database import Database
from perdure.store.families import StoredFamily
from perdure.store.ranking import Ranked, RankQuery
from perdure.store.ranking import rank as rank_in_database
from perdure.types import HIDDEN_TYPES, Filters

NOW = EPOCH + timedelta(days=1)
TS_RANK_OF_ONE = 0.1 / 1.64493406685


@dataclass(frozen=True)
class LoadedSpace:
    """A space with what was loaded into it; the item of memory `first_id + i` is `items[i]`."""

    database: Database
    space_id: int
    first_id: int
    family: StoredFamily
    corpus: Corpus
    items: list[Item]
    owner_url: str

    def item(self, memory_id: int) -> Item:
        return self.items[memory_id - self.first_id]

    def query(
        self,
        query: Query,
        profile: RankingProfile,
        *,
        audience: str | None = None,
        filters: Filters | None = None,
        limit: int = 10,
        exact: bool = False,
        needed: int | None = None,
    ) -> RankQuery:
        return RankQuery(
            self.family,
            query.vector,
            query.terms,
            query.entity_keys,
            profile,
            audience,
            filters or Filters(),
            limit,
            exact,
            needed=needed,
        )

    async def rank(self, query: RankQuery) -> Ranked:
        return await self.database.in_space(self.space_id, lambda tx: rank_in_database(tx, query))


def wanted(item: Item, filters: Filters, audience: str | None) -> bool:
    """What a retrieval may return, said in Python."""
    hidden = item.memory_type in HIDDEN_TYPES if filters.memory_type is None else False
    return (
        live(item, audience)
        and not hidden
        and (filters.memory_type is None or item.memory_type == filters.memory_type)
        and all(tag == item.tag for tag in filters.tags)
        and filters.source in (None, "conversation")
        and filters.speaker in (None, item.speaker)
        and filters.conversation_id in (None, item.conversation)
        and all(name == "shelf" and value == item.shelf for name, value in filters.metadata.items())
        and (filters.since is None or item.source_date >= filters.since)
        and (filters.until is None or item.source_date < filters.until)
    )


def live(item: Item, audience: str | None) -> bool:
    return not item.superseded and item.audience in (None, audience)


def ranked_in_python(space: LoadedSpace, query: RankQuery, now: datetime = NOW) -> list[tuple[int, Rank]]:
    """All rows that the query may return with their rank by `rules.ranking`, best first."""
    items, profile = space.items, query.profile
    texts = _texts(items, query.terms, profile)
    stored = np.stack([item.vector for item in items]).astype(np.float16).astype(np.float64)
    if query.vector is not None:
        asked = query.vector.astype(np.float16).astype(np.float64)
        distances = 1 - stored @ asked / (np.linalg.norm(stored, axis=1) * np.linalg.norm(asked))
    else:
        distances = np.ones(len(items))
    if profile.distance is Distance.CALIBRATED:
        distances = distances / (1 - space.family.unrelated_similarity)
    lends = _lent(items, [relevance(profile, *pair) for pair in zip(distances, texts, strict=True)], query)
    rows = []
    for i, item in enumerate(items):
        if wanted(item, query.filters, query.audience):
            signals = Signals(
                distance=float(distances[i]),
                text=texts[i],
                salience=item.salience,
                usefulness=item.usefulness,
                confidence=item.confidence,
                age_days=(now - item.created_at) / timedelta(days=1),
                retrieval_count=item.retrieval_count,
                entity_match=item.entity in query.entity_keys,
                lent=lends[i],
            )
            rows.append((space.first_id + i, rank(profile, signals)))
    return sorted(rows, key=lambda row: (row[1].total, -row[0]))


def _texts(items: list[Item], terms: tuple[str, ...], profile: RankingProfile) -> list[float]:
    counted = [Counter(item.words) for item in items]
    if profile.text is TextTerm.TS_RANK:
        return [
            sum(TS_RANK_OF_ONE * sum(1 / j**2 for j in range(1, found[term] + 1)) for term in terms)
            / max(1, len(terms))
            for found in counted
        ]
    df = {term: sum(1 for found in counted if term in found) for term in terms}
    idfs = {term: idf(df[term], len(items), profile.bm25) for term in terms}
    average = sum(len(item.words) for item in items) / len(items)
    return [
        attainable(score(found, idfs, len(item.words), average, profile.bm25), idfs, profile.bm25)
        for found, item in zip(counted, items, strict=True)
    ]


def _lent(items: list[Item], found: list[float], query: RankQuery) -> list[float]:
    """What `rules.turns` lends each item from the live turns around it."""
    weights = query.profile.turns
    lends = [0.0] * len(items)
    if weights is None:
        return lends
    order: dict[str, list[int]] = defaultdict(list)
    for i, item in sorted(enumerate(items), key=lambda pair: (pair[1].source_date, pair[0])):
        if live(item, query.audience):
            order[item.conversation].append(i)

    def turn(i: int) -> Turn:
        item = items[i]
        return Turn(found[i], len(item.words), item.is_question, item.speaker)

    def near(run: list[int], start: int) -> tuple[Turn, ...]:
        kept, last = [], start
        for i in run[:2]:
            if abs(items[i].source_date - items[last].source_date) > timedelta(seconds=GAP_S):
                break
            kept.append(turn(i))
            last = i
        return tuple(kept)

    for run in order.values():
        for at, i in enumerate(run):
            before, after = run[:at][::-1], run[at + 1 :]
            lends[i] = lent(weights, near(before, i), turn(i), near(after, i))
    return lends


def load(owner_url: str, space_id: int, family: StoredFamily, first_id: int, corpus: Corpus) -> list[Item]:
    """Loads a whole corpus into a space; returns its items in the order of their ids."""
    items: list[Item] = []
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO spaces (id, name, created_at) VALUES (%s, %s, %s)", (space_id, f"space {space_id}", EPOCH)
        )
        for batch in corpus.batches():
            load_batch(owner, space_id, family.id, first_id + len(items), batch)
            items += batch
        owner.execute("VACUUM ANALYZE")
    return items
