"""What prefetch and search share: one ranked query, and the rows it found, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from perdure.embedding import Calibration
from perdure.errors import InvalidInput
from perdure.resources import Resources, calibration_of
from perdure.rules.profiles import PROFILES
from perdure.rules.ranking import RankingProfile
from perdure.store.database import SpaceTransaction
from perdure.store.families import StoredFamily
from perdure.store.memories import read_rows
from perdure.store.ranking import Ranked, RankedRow, RankQuery, rank
from perdure.store.spaces import SpaceRow
from perdure.text import entity_keys, query_terms
from perdure.types import Filters, Hit, StoredMemory


@dataclass(frozen=True, slots=True)
class Question:
    """A query as the store ranks it: the words of the text, and a vector that may stand for more than the text."""

    text: str
    vector: np.ndarray | None
    terms: tuple[str, ...]
    entity_keys: tuple[str, ...]


def question(text: str, vector: np.ndarray | None, asked_at: datetime) -> Question:
    """Words, dates and entities come from `text` alone, asked at this time; the vector may come from the trajectory."""
    return Question(text, vector, tuple(query_terms(text, asked_at)), tuple(entity_keys(text)))


def require_profile(name: str | None) -> RankingProfile | None:
    """The ranking profile of this name; None for the configured one."""
    if name is None:
        return None
    if not isinstance(name, str) or name not in PROFILES:
        raise InvalidInput("profile", name, f"it has to be one of {', '.join(PROFILES)}")
    return PROFILES[name]


def configured_profile(resources: Resources) -> RankingProfile:
    return PROFILES[resources.settings.ranking_profile]


def calibrated(calibration: Calibration | None, cosine: float) -> float:
    """A cosine of query and memory on the scale that all families share: 0 for unrelated, 1 for identical."""
    return cosine if calibration is None else calibration.calibrated_similarity(cosine, of_query=True)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What one query found, best first. Hit and ranked row of a memory have the same place."""

    hits: list[Hit]
    ranked: Ranked
    vectors: Mapping[int, np.ndarray]
    """By memory, where they were asked for and it has one."""


async def retrieve(
    tx: SpaceTransaction,
    resources: Resources,
    space: SpaceRow,
    asked: Question,
    *,
    audience: str | None,
    filters: Filters,
    limit: int,
    profile: RankingProfile,
    exact: bool = False,
    as_of: datetime | None = None,
    needed: int | None = None,
    vectors: bool = False,
) -> Retrieved:
    """Ranks, and reads the rows of what was found, and with `vectors` what they were stored with.

    Of the `limit` memories, `needed` have to be the best ones; the others stand by for what repeats these.
    """
    calibration, family = await family_as_measured(tx, resources, space)
    ranked = await rank(
        tx,
        RankQuery(
            family=family,
            vector=asked.vector,
            terms=asked.terms,
            entity_keys=asked.entity_keys,
            profile=profile,
            audience=audience,
            filters=filters,
            limit=limit,
            exact=exact,
            as_of=as_of,
            needed=needed,
        ),
    )
    found = [row.memory_id for row in ranked.rows]
    rows = await read_rows(tx, space.name, found, family_id=family.id if vectors else None)
    hits = [hit_of(rows[row.memory_id].memory, row, calibration, query=asked.text) for row in ranked.rows]
    known = {memory_id: row.vector for memory_id, row in rows.items() if row.vector is not None}
    return Retrieved(hits, ranked, known)


async def family_as_measured(
    tx: SpaceTransaction, resources: Resources, space: SpaceRow
) -> tuple[Calibration | None, StoredFamily]:
    """The calibration of the space's embeddings, and the family with what it says of unrelated texts."""
    calibration = await calibration_of(tx, resources, space)
    family = resources.family
    if calibration is not None:
        family = replace(family, unrelated_similarity=calibration.query_mean)
    return calibration, family


def hit_of(memory: StoredMemory, row: RankedRow, calibration: Calibration | None, *, query: str | None = None) -> Hit:
    """A ranked row as a caller sees it; `query` is what brought it."""
    return Hit(
        memory=memory,
        score=-row.rank,
        similarity=calibrated(calibration, row.similarity),
        terms=row.contributions,
        arms=row.arms,
        matched=row.matched_terms,
        entity_match=row.entity_match,
        query=query,
    )
