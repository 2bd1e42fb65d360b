"""What a search of the past finds beside the memories that are still the same: those that have changed or gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from perdure import ingest
from perdure.embedding import Calibration
from perdure.recall.gathering import Found
from perdure.recall.retrieval import Question, hit_of
from perdure.resources import Resources
from perdure.rules.lexical import attainable, rarities, score
from perdure.rules.ranking import RankingProfile, Signals, TextTerm, rank
from perdure.store.as_of import MOST_VERSIONS, Version, changed_since
from perdure.store.database import SpaceTransaction
from perdure.store.families import StoredFamily
from perdure.store.memories import MemoryRow
from perdure.store.postings import Postings
from perdure.store.ranking import RankedRow, distance_scale
from perdure.store.ranking_counts import Counts, read_counts
from perdure.store.ranking_sql import TS_RANK_OF_ONE
from perdure.store.spaces import SpaceRow
from perdure.store.visibility import facets_of
from perdure.types import HIDDEN_TYPES, Filters, StoredMemory

EMBEDDED: Final = 64
"""Texts whose vectors are gone and that are embedded again for one question: about half a second of e5 on one core."""

DAY_S: Final = 86_400.0
_OCCURRENCES: Final = {1: 1.0, 2: 1.25, 3: 1.361}
_MANY_OCCURRENCES: Final = 1.5
"""What a word counts by how often it occurs: the numbers of `ranking_sql.POSTING_TS_RANK`."""

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class OldMemory:
    """A memory as it was, what it was found by, its vector, and what to embed where that is gone."""

    memory: StoredMemory
    postings: Postings
    vector: Vector | None
    document: str


@dataclass(frozen=True, slots=True)
class Past:
    """The changed memories that a search may return, and the space's counts for each of its questions.

    `cut` says that there were more than are looked at.
    """

    now: datetime
    memories: tuple[OldMemory, ...]
    counts: tuple[Counts, ...]
    family: StoredFamily
    calibration: Calibration | None
    cut: bool


async def read_past(
    tx: SpaceTransaction,
    space: SpaceRow,
    asked: Sequence[Question],
    as_of: datetime,
    measured: tuple[Calibration | None, StoredFamily],
    *,
    audience: str | None,
    filters: Filters,
) -> Past:
    """What was live at `as_of`, has changed since, and passed audience and filters as it was then."""
    calibration, family = measured
    versions = await changed_since(tx, space.name, as_of, family_id=family.id, audience=audience, filters=filters)
    counts = [
        await read_counts(
            tx, terms=one.terms, entity_keys=one.entity_keys, filters=Filters(), audience=audience, facets=()
        )
        for one in asked
    ]
    wanted = set(facets_of(filters))
    memories = [
        old
        for version in versions[:MOST_VERSIONS]
        if (filters.memory_type is not None or version.memory.memory_type not in HIDDEN_TYPES)
        and wanted <= set((old := _as_it_was(version)).postings.facets)
    ]
    return Past(min(as_of, tx.now), tuple(memories), tuple(counts), family, calibration, len(versions) > MOST_VERSIONS)


async def embed_past(resources: Resources, past: Past, asked: Sequence[Question]) -> dict[int, Vector]:
    """Vectors of the memories whose own are gone, by id; of many only those that share most words with the questions.

    Raises EmbeddingUnavailable, EmbeddingFailed.
    """
    words = {term for one in asked for term in one.terms}
    without = [old for old in past.memories if old.vector is None]
    without.sort(key=lambda old: -len(words.intersection(old.postings.terms)))
    chosen = without[:EMBEDDED]
    if not chosen:
        return {}
    vectors = await resources.embedder.embed([old.document for old in chosen], "document")
    return {old.memory.id: vector for old, vector in zip(chosen, vectors, strict=True)}


def rank_past(
    past: Past, asked: Sequence[Question], vectors: Mapping[int, Vector], profile: RankingProfile
) -> list[Found]:
    """The formula over the changed memories, for each question; what turns lend each other isn't added."""
    found: list[Found] = []
    for one, counts in zip(asked, past.counts, strict=True):
        idfs = rarities(one.terms, counts.of_terms, counts.memories, profile.bm25)
        for old in past.memories:
            vector = old.vector if old.vector is not None else vectors.get(old.memory.id)
            row = _ranked(old, vector, one, idfs=idfs, average_length=counts.average_length, past=past, profile=profile)
            found.append(Found(hit_of(old.memory, row, past.calibration, query=one.text), row))
    return found


def _as_it_was(version: Version) -> OldMemory:
    if version.search_text is None:
        postings, document = ingest.read_again(version.memory)
        return OldMemory(version.memory, postings, version.vector, document)
    postings = ingest.stored_postings(MemoryRow(version.memory, version.search_text, version.length))
    document = "" if version.vector is not None else ingest.read_again(version.memory)[1]
    return OldMemory(version.memory, postings, version.vector, document)


def _ranked(
    old: OldMemory,
    vector: Vector | None,
    asked: Question,
    *,
    idfs: Mapping[str, float],
    average_length: float,
    past: Past,
    profile: RankingProfile,
) -> RankedRow:
    memory = old.memory
    distance = 1.0
    if vector is not None and asked.vector is not None:
        distance = 1.0 - float(np.dot(vector, asked.vector))
    frequencies = Counter(term for term in old.postings.terms if term in idfs)
    text = _text_score(frequencies, idfs, old.postings.length, average_length, profile)
    entity = not set(asked.entity_keys).isdisjoint(old.postings.entities)
    ranked = rank(
        profile,
        Signals(
            distance=distance * distance_scale(profile, past.family),
            text=text,
            salience=memory.salience,
            usefulness=memory.usefulness,
            confidence=memory.confidence,
            age_days=(past.now - memory.created_at).total_seconds() / DAY_S,
            retrieval_count=memory.retrieval_count,
            entity_match=entity,
        ),
    )
    return RankedRow(
        memory_id=memory.id,
        rank=ranked.total,
        distance=distance,
        similarity=1.0 - distance,
        text_rank=text,
        matched_terms=tuple(sorted(frequencies)),
        entity_match=entity,
        contributions=ranked.terms,
        arms=("history",),
    )


def _text_score(
    frequencies: Mapping[str, int],
    idfs: Mapping[str, float],
    length: int,
    average_length: float,
    profile: RankingProfile,
) -> float:
    """The profile's lexical score, as the store's posting tables give it."""
    if profile.text is TextTerm.TS_RANK:
        found = sum(_OCCURRENCES.get(tf, _MANY_OCCURRENCES) for tf in frequencies.values())
        return TS_RANK_OF_ONE * found / max(1, len(idfs))
    return attainable(score(frequencies, idfs, length, average_length, profile.bm25), idfs, profile.bm25)
