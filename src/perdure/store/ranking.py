"""Ranked retrieval: the mission's formula, or a profile's, over the memories of one space, exactly or by index.

A plain ORDER BY over all visible rows is the oracle (`exact=True`). The code chooses between it and the index from
stored counts, never the planner: small spaces and selective filters are exact, everything else collects candidates
(`candidates`) and applies the same expression to them. Two statements in all: the counts, then the ranking.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector

from perdure.errors import InvalidInput
from perdure.rules.lexical import rarities, reachable
from perdure.rules.ranking import Distance, RankingProfile, TextTerm
from perdure.store.candidates import ARMS, RARE_ENTITY_ROWS, dense_rows, gone_through, rare, settings, worthy_rows
from perdure.store.database import BY_INDEX_ONLY, SpaceTransaction
from perdure.store.estimates import MOST_SIGNATURE_BITS, WEIGHED_BITS
from perdure.store.families import StoredFamily
from perdure.store.ranking_counts import EXACT_ROWS, Counts, read_counts
from perdure.store.ranking_slots import Slots
from perdure.store.ranking_sql import TERMS, one_occurrence
from perdure.store.ranking_statements import chosen_statement, exact_statement, index_statement
from perdure.store.sketches import entity_position, mask, sketches, term_position
from perdure.store.visibility import conditions_of, facets_of, filter_params
from perdure.store.worth import slack
from perdure.types import Filters

MAX_LIMIT: Final = 100
SECOND_DENSE_ROWS: Final = 400
"""How many nearest rows the index is asked for when its first answer was provably not the nearest ones."""

SEEN_IN_TURNS: Final = 50
"""Rows beyond the limit that are looked at in their turns, when not all can be."""


@dataclass(frozen=True, slots=True)
class RankQuery:
    """What is asked of one space.

    Attributes:
        family: the embeddings to compare with.
        vector: the query's float32 vector in that family; None when there is none: words and priors only.
        terms: the query's distinct normalised terms (`perdure.text.query_terms`).
        entity_keys: folded words and phrases of the query, looked up among the entities of memories.
        profile: the weights of the formula.
        audience: rows with this audience or none are visible; with None, only rows without an audience.
        filters: what may be returned.
        limit: how many rows, 1..100.
        needed: how many of them have to be the best ones, 1..limit; the rest stand by. None for all.
        exact: True for the oracle, a plain ORDER BY over all visible rows.
        as_of: ranks what was live at this time and has not changed since (`store.as_of` has the rest), as old as it was
            then; always without an index.
    """

    family: StoredFamily
    vector: npt.NDArray[np.float32] | None
    terms: tuple[str, ...]
    entity_keys: tuple[str, ...]
    profile: RankingProfile
    audience: str | None
    filters: Filters
    limit: int
    exact: bool = False
    as_of: datetime | None = None
    needed: int | None = None


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One row of a ranking; `contributions` are the terms of the formula and add up to `rank` (lower is better)."""

    memory_id: int
    rank: float
    distance: float
    similarity: float
    text_rank: float
    matched_terms: tuple[str, ...]
    entity_match: bool
    contributions: Mapping[str, float]
    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows, best first; `candidates` is how many rows were considered, out of `memories` in the space."""

    rows: tuple[RankedRow, ...]
    path: Literal["exact", "index"]
    candidates: int
    memories: int
    document_frequencies: Mapping[str, int]
    """How many memories have each of the query's terms."""


async def rank(tx: SpaceTransaction, query: RankQuery) -> Ranked:
    """The best `query.limit` rows of the transaction's space.

    Raises InvalidInput for a vector of the wrong length, not finite or zero, and for a limit outside 1..100.
    """
    ready = await prepare(tx, query)
    counts, idfs, total, params, slots = ready.counts, ready.idfs, ready.total, ready.params, ready.slots
    path = choose_path(query, counts)
    if path == "exact":
        # A conversation reaches beyond what a filter leaves: in a large space only the best are seen in their turns.
        by_itself = query.profile.turns is None or (counts.memories > EXACT_ROWS and not query.exact)
        rows = await _by_scan(tx, slots, params, by_itself=by_itself)
    else:
        found_by = gone_through(counts.of_terms, idfs, query.profile)
        names = rare(counts.of_entities, RARE_ENTITY_ROWS)
        common = _common_terms(query, counts, {term: share / total for term, share in idfs.items()}, found_by)
        common_entities = _common_entities(counts, names)
        alike = query.profile.text is TextTerm.TS_RANK
        params |= {
            "rare_terms": found_by,
            "rare_weights": [idfs[term] / total for term in found_by],
            "rare_entities": names,
            "entity_mask": mask(common_entities),
            "slack": slack(query.profile, sum(common.values())),
            **_common_params(common, alike=alike),
        }
        if ready.vector is not None:
            params["sketch"] = sketches(ready.vector[None])[0]
        slots = replace(
            slots, common_terms=bool(common) or not alike, common_entities=bool(common_entities) or not alike
        )
        params["worthy_rows"] = worthy_rows(counts.memories, slots)
        rows = await _by_index(tx, slots, params)
        if _missed(rows):
            rows = await _by_index(tx, replace(slots, dense_rows=SECOND_DENSE_ROWS), params)
    return _ranked(rows, path, counts)


async def rank_these(tx: SpaceTransaction, query: RankQuery, ids: Sequence[int]) -> Ranked:
    """The same for rows that were found otherwise, each by itself: what turns lend each other isn't added.

    The audience and the filters of the query are not asked for again: the caller looked for nothing else.
    """
    ready = await prepare(tx, query)
    alone = replace(ready.slots, profile=replace(query.profile, turns=None))
    rows = await tx.fetch_all(chosen_statement(alone), {**ready.params, "chosen": list(ids)}, prepare=False)
    return _ranked(rows, "exact", ready.counts)


async def rank_one(tx: SpaceTransaction, query: RankQuery, memory_id: int) -> RankedRow | None:
    """What the formula gives one memory, with what the turns around it lend it; None if the query may not return it."""
    ready = await prepare(tx, replace(query, limit=MAX_LIMIT))
    found = await tx.fetch_all(chosen_statement(ready.slots), {**ready.params, "chosen": [memory_id]}, prepare=False)
    return next((_row(row) for row in found if row["memory_id"] == memory_id), None)


@dataclass(frozen=True, slots=True)
class Ready:
    """A query with the counts of its space, and what its statements are made of and bound to."""

    vector: npt.NDArray[np.float32] | None
    counts: Counts
    idfs: Mapping[str, float]
    total: float
    params: dict[str, object]
    slots: Slots


async def prepare(tx: SpaceTransaction, query: RankQuery) -> Ready:
    """Reads the counts that a ranking needs. Raises InvalidInput as `rank` does."""
    vector = _checked(query)
    facets = facets_of(query.filters)
    if not tx.ranks:
        await tx.execute(BY_INDEX_ONLY)
    counts = await read_counts(
        tx,
        terms=query.terms,
        entity_keys=query.entity_keys,
        filters=query.filters,
        audience=query.audience,
        facets=facets,
    )
    idfs = rarities(query.terms, counts.of_terms, counts.memories, query.profile.bm25)
    total = reachable(idfs, query.profile.bm25) or 1.0
    positions = [term_position(term) for term in query.terms]
    params: dict[str, object] = {
        "vector": None if vector is None else HalfVector(vector),
        "distance_scale": distance_scale(query.profile, query.family),
        "terms": list(query.terms),
        "weights": [idfs[term] / total for term in query.terms],
        "positions": positions,
        "once": [one_occurrence(query.profile, len(query.terms), idfs[term] / total) for term in query.terms],
        "terms_mask": mask(positions),
        "term_count": float(max(1, len(query.terms))),
        "average_length": counts.average_length or 1.0,
        "tsquery": tsquery(query.terms),
        "entity_keys": list(query.entity_keys),
        **filter_params(query.filters, query.audience, facets, query.as_of),
    }
    if query.as_of is not None:
        params["now"] = min(query.as_of, tx.now)
    slots = Slots(
        family=query.family,
        profile=query.profile,
        has_vector=vector is not None,
        has_terms=bool(query.terms),
        has_entities=bool(query.entity_keys),
        limit=query.limit,
        needed=min(query.needed or query.limit, query.limit),
        dense_rows=dense_rows(counts.memories, query.limit),
        asked=conditions_of(query.filters, query.audience, facets, query.as_of),
    )
    return Ready(vector, counts, idfs, total, params, slots)


def _ranked(rows: Sequence[Mapping[str, Any]], path: Literal["exact", "index"], counts: Counts) -> Ranked:
    considered = rows[0]["candidates"] if rows else 0
    return Ranked(tuple(_row(row) for row in rows), path, considered, counts.memories, counts.of_terms)


async def _by_scan(
    tx: SpaceTransaction, slots: Slots, params: Mapping[str, object], *, by_itself: bool
) -> list[dict[str, Any]]:
    if slots.profile.turns is None or not by_itself:
        return await tx.fetch_all(exact_statement(slots, tx.space_id), params)
    alone = replace(slots, profile=replace(slots.profile, turns=None), limit=slots.limit + SEEN_IN_TURNS)
    found = [row["memory_id"] for row in await tx.fetch_all(exact_statement(alone, tx.space_id), params)]
    return await tx.fetch_all(chosen_statement(slots), {**params, "chosen": found}, prepare=False)


async def _by_index(tx: SpaceTransaction, slots: Slots, params: Mapping[str, object]) -> list[dict[str, Any]]:
    await tx.execute(settings(slots))
    return await tx.fetch_all(index_statement(slots, tx.space_id), params, prepare=True)


def _missed(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the vector index was caught in the wrong region: a row it did not bring is far nearer than it reaches."""
    return any(not row["arms"] & 1 and row["distance"] < 0.8 * (row["reach"] or 0) for row in rows)


def choose_path(query: RankQuery, counts: Counts) -> Literal["exact", "index"]:
    """Exact for small spaces, selective filters and families without an index; else by index."""
    indexed = (query.vector is None or query.family.index_name is not None) and query.as_of is None
    return "index" if indexed and not query.exact and counts.selected > EXACT_ROWS else "exact"


def _common_terms(
    query: RankQuery, counts: Counts, shares: Mapping[str, float], seen: Collection[str]
) -> dict[int, float]:
    """Signature bits of the terms with too many postings, with what one occurrence adds to the lexical score."""
    common = sorted((term for term in counts.of_terms if term not in seen), key=lambda term: -shares[term])
    weights: dict[int, float] = {}
    for term in common[:MOST_SIGNATURE_BITS]:
        weights.setdefault(term_position(term), one_occurrence(query.profile, len(query.terms), shares[term]))
    return weights


def _common_params(common: Mapping[int, float], *, alike: bool) -> dict[str, object]:
    """Common terms as a mask where every one adds the same, else one by one, as many as a statement has room for."""
    if alike:
        return {"common_mask": mask(common), "common_weight": next(iter(common.values()), 0.0)}
    bits = [*common, *[0] * WEIGHED_BITS][:WEIGHED_BITS]
    weights = [*common.values(), *[0.0] * WEIGHED_BITS][:WEIGHED_BITS]
    return {f"bit_{i}": bit for i, bit in enumerate(bits)} | {f"weight_{i}": weight for i, weight in enumerate(weights)}


def _common_entities(counts: Counts, seen: Collection[str]) -> tuple[int, ...]:
    common = sorted((key for key in counts.of_entities if key not in seen), key=lambda key: counts.of_entities[key])
    return tuple(entity_position(key) for key in common[:MOST_SIGNATURE_BITS])


def distance_scale(profile: RankingProfile, family: StoredFamily) -> float:
    """What a cosine distance is multiplied by: 1, or with a calibrated profile what makes unrelated texts 1 apart."""
    if profile.distance is Distance.RAW:
        return 1.0
    return 1.0 / max(1e-3, 1.0 - family.unrelated_similarity)


def tsquery(found: Sequence[str]) -> str:
    """Terms as the source of a tsquery: OR of quoted words, so that operators in them are data."""
    return " | ".join("'" + term.replace("\\", "\\\\").replace("'", "''") + "'" for term in found)


def _checked(query: RankQuery) -> npt.NDArray[np.float32] | None:
    if not 1 <= query.limit <= MAX_LIMIT:
        raise InvalidInput("limit", query.limit, f"from 1 to {MAX_LIMIT}")
    if query.vector is None:
        return None
    vector = np.asarray(query.vector, dtype=np.float32)
    if vector.shape != (query.family.dimensions,):
        raise InvalidInput(
            "vector", vector.shape, f"{query.family.dimensions} dimensions, as the family {query.family.name} has"
        )
    norm = float(np.linalg.norm(vector))
    if not np.isfinite(norm):
        raise InvalidInput("vector", norm, "finite numbers only")
    if norm == 0:
        raise InvalidInput("vector", 0, "a direction: at least one number other than 0")
    return vector / np.float32(norm)


def _row(row: Mapping[str, Any]) -> RankedRow:
    return RankedRow(
        memory_id=row["memory_id"],
        rank=row["rank"],
        distance=row["distance"],
        similarity=1.0 - row["distance"],
        text_rank=row["text"],
        matched_terms=tuple(sorted(row["matched"] or ())),
        entity_match=bool(row["entity"]),
        contributions={name: float(row[f"term_{name}"]) for name in TERMS},
        arms=tuple(name for bit, name in ARMS.items() if row["arms"] & bit) or ("exact",),
    )
