"""Ranked retrieval: the formula of spec 3.1 over the memories of one space, exactly or by index.

A plain ORDER BY over all visible rows is the oracle (`exact=True`). The code chooses between it and the index from
stored counts, never the planner: small spaces and selective filters are exact, everything else collects candidates
(`candidates`) and applies the same expression to them. Two statements in all: the counts, then the ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector
from psycopg import sql

from perdure.errors import InvalidInput
from perdure.rules.facets import facet_keys
from perdure.rules.lexical import idf
from perdure.rules.ranking import Distance, RankingProfile, TextTerm
from perdure.store.candidates import (
    ARMS,
    MOST_SIGNATURE_BITS,
    RARE_ENTITY_ROWS,
    TURNS_ARM,
    Slots,
    candidates,
    dense_rows,
    distance,
    posting_budget,
    probe_entity,
    settings,
)
from perdure.store.database import SpaceTransaction
from perdure.store.families import StoredFamily
from perdure.store.ranking_sql import (
    TERMS,
    all_of,
    one_occurrence,
    posting_score,
    ranking_order_by,
    state_signals,
    terms,
)
from perdure.store.sketches import entity_position, sketches, term_position
from perdure.store.turns_sql import in_turn, strips
from perdure.text.folding import fold
from perdure.types import HIDDEN_TYPES, Filters

MAX_LIMIT: Final = 100
EXACT_ROWS: Final = 5000
"""Up to so many rows the exact path is the faster one."""

SECOND_DENSE_ROWS: Final = 400
"""How many nearest rows the index is asked for when its first answer was provably not the nearest ones."""

COUNTS: Final = """
    SELECT 'space' AS kind, '' AS key, s.memories AS n, s.terms AS terms
    FROM space_state s WHERE s.space_id = %(space_id)s
    UNION ALL
    SELECT c.kind, c.key, c.n, 0 FROM space_counts c
    WHERE c.space_id = %(space_id)s AND c.kind = 'term' AND c.key = ANY(%(terms)s::text[])
    UNION ALL
    SELECT c.kind, c.key, c.n, 0 FROM space_counts c
    WHERE c.space_id = %(space_id)s AND c.kind = 'entity' AND c.key = ANY(%(entity_keys)s::text[])
    UNION ALL
    SELECT c.kind, c.key, c.n, 0 FROM space_counts c
    WHERE c.space_id = %(space_id)s AND c.kind = 'facet' AND c.key = ANY(%(facets)s::text[])
"""

# Counted only up to the border between exact and index, so that the count never costs more than the ranking.
COUNT_IN_STATE: Final = """
    UNION ALL
    SELECT 'state', '', count(*), 0
    FROM (SELECT 1 FROM memory_state m WHERE m.space_id = %(space_id)s AND {condition} LIMIT {most}) c
"""

# Spaces without a private row are spared the counting: whether there is one is the first entry of an index.
COUNT_AUDIENCE: Final = """
    UNION ALL
    SELECT 'state', '', count(*), 0
    FROM (
        SELECT 1 FROM memory_state m
        WHERE m.space_id = %(space_id)s AND m.superseded_at IS NULL AND {condition} LIMIT {most}
    ) c
    WHERE (
        SELECT min(p.audience) FROM memory_state p
        WHERE p.space_id = %(space_id)s AND p.superseded_at IS NULL) IS NOT NULL
"""

# The planner would rather read the whole table, other spaces included, than a part of it by index.
BY_INDEX_ONLY: Final = """
    SET LOCAL enable_seqscan = off
"""

SEEN_IN_TURNS: Final = 50
"""Rows beyond the limit that are looked at in their turns, when not all can be."""

EXACT: Final = """
    WITH postings AS MATERIALIZED (
        SELECT p.memory_id, {sum} AS text, array_agg(p.term ORDER BY p.term) AS matched
        FROM unnest(%(terms)s::text[], %(weights)s::double precision[]) AS q (term, weight)
        JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term
        GROUP BY p.memory_id
    ),
    texts AS MATERIALIZED ({texts}),
    entities AS MATERIALIZED (
        SELECT DISTINCT e.memory_id FROM memory_entities e
        WHERE e.space_id = %(space_id)s AND e.key = ANY(%(entity_keys)s::text[])
    ),
    {every_row}
    {in_turn}
"""

# OFFSET 0 keeps the planner from merging the signals into the outer query, which would compute every distance and every
# lexical score once per mention.
EVERY_ROW: Final = """
    {name} AS MATERIALIZED (
        SELECT m.memory_id, {distance} AS distance, coalesce(t.text, 0) AS text, t.matched,
            CASE WHEN e.memory_id IS NULL THEN 0 ELSE 1 END AS entity, 0 AS arms, {state}, {more}
        FROM memory_state m
        LEFT JOIN memory_vectors v
            ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = m.memory_id
        LEFT JOIN texts t ON t.memory_id = m.memory_id
        LEFT JOIN entities e ON e.memory_id = m.memory_id
        WHERE m.space_id = %(space_id)s AND {condition}
        OFFSET 0
    )
"""

INDEXED: Final = """
    WITH {candidates},
    {source}
    {name} AS MATERIALIZED (
        SELECT c.memory_id, {distance} AS distance, {text} AS text, t.matched, {entity} AS entity, c.arms, {state},
            {more}
        FROM {rows} c
        JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = c.memory_id
        LEFT JOIN memory_vectors v
            ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = c.memory_id
        LEFT JOIN LATERAL (
            SELECT sum({posting}) AS text, array_agg(p.term ORDER BY p.term) AS matched
            FROM unnest(%(terms)s::text[], %(weights)s::double precision[]) AS q (term, weight)
            JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term AND p.memory_id = c.memory_id
        ) t ON true
        LEFT JOIN memories w ON w.space_id = %(space_id)s AND w.id = c.memory_id
        OFFSET 0
    )
    {in_turn}
"""

BEST: Final = """
    SELECT s.memory_id, s.distance, s.text, s.matched, s.entity, s.arms, {terms}, {rank} AS rank,
        {candidates} AS candidates, {reach} AS reach
    FROM signals s
    ORDER BY {rank}, s.memory_id DESC
    LIMIT {limit}
"""

# Candidates that an earlier statement chose.
CHOSEN_BEFORE: Final = """
    chosen AS MATERIALIZED (SELECT r.memory_id, 0 AS arms FROM unnest(%(chosen)s::bigint[]) AS r (memory_id))
"""

ALONE: Final = "0::double precision AS lent"
IN_CONVERSATION: Final = """
    coalesce(m.conversation_id, m.memory_id::text) AS strip, {visible} AS answers, m.speaker, m.is_question,
    m.term_count, m.source_date
"""
IN_STRIP: Final = """
    c.strip, (c.place BETWEEN -1 AND 1 AND {visible}) AS answers, m.speaker, m.is_question, m.term_count, m.source_date
"""

# The mission's lexical score, for the rows that have a posting: every other row's is 0.
TS_RANK: Final = "ts_rank(w.summary_tsv, to_tsquery('pg_catalog.simple', %(tsquery)s))::double precision"
TEXTS_TS_RANK: Final = """
    SELECT p.memory_id, {ts_rank} AS text, p.matched
    FROM postings p JOIN memories w ON w.space_id = %(space_id)s AND w.id = p.memory_id
"""
TEXTS_BM25: Final = "SELECT p.memory_id, p.text, p.matched FROM postings p"

FACET: Final = """
    EXISTS (SELECT 1 FROM memory_facets f
            WHERE f.space_id = %(space_id)s AND f.key = {key} AND f.memory_id = m.memory_id)
"""


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
        exact: True for the oracle, a plain ORDER BY over all visible rows.
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


@dataclass(frozen=True, slots=True)
class Counts:
    """Stored counts that decide how a query is answered."""

    memories: int
    terms: int
    of_terms: Mapping[str, int]
    of_entities: Mapping[str, int]
    selected: int
    """An upper bound on the rows that the filters and the audience leave; `memories` where none was counted."""

    @property
    def average_length(self) -> float:
        return self.terms / self.memories if self.memories else 0.0


async def rank(tx: SpaceTransaction, query: RankQuery) -> Ranked:
    """The best `query.limit` rows of the transaction's space.

    Raises InvalidInput for a vector of the wrong length, not finite or zero, and for a limit outside 1..100.
    """
    vector = _checked(query)
    facets = _facets(query.filters)
    await tx.execute(BY_INDEX_ONLY)
    counts = await read_counts(tx, query, facets)
    path = choose_path(query, counts)
    idfs = {term: idf(counts.of_terms.get(term, 0), counts.memories, query.profile.bm25) for term in query.terms}
    total = sum(idfs.values()) or 1.0
    params: dict[str, object] = {
        "vector": None if vector is None else HalfVector(vector),
        "distance_scale": distance_scale(query.profile, query.family),
        "terms": list(query.terms),
        "weights": [idfs[term] / total for term in query.terms],
        "tsquery": tsquery(query.terms),
        "entity_keys": list(query.entity_keys),
        **_filter_params(query, facets),
    }
    slots = Slots(
        family=query.family,
        profile=query.profile,
        memories=counts.memories,
        has_vector=vector is not None,
        has_terms=bool(query.terms),
        has_entities=bool(query.entity_keys),
        limit=query.limit,
        dense_rows=dense_rows(counts.memories, query.limit),
        visible=visible(query.filters, query.audience, facets),
        audience=query.audience,
        posting=posting_score(query.profile, len(query.terms), counts.average_length),
    )
    if path == "exact":
        # A conversation reaches beyond what a filter leaves: in a large space only the best are seen in their turns.
        by_itself = query.profile.turns is None or (counts.memories > EXACT_ROWS and not query.exact)
        rows = await _by_scan(tx, slots, params, by_itself=by_itself)
    else:
        rare_terms = rare(counts.of_terms, posting_budget(query.profile))
        rare_entities = rare(counts.of_entities, RARE_ENTITY_ROWS)
        weights = [idfs[term] / total for term in rare_terms]
        params |= {"rare_terms": rare_terms, "rare_weights": weights, "rare_entities": rare_entities}
        if vector is not None:
            params["sketch"] = sketches(vector[None])[0]
        slots = replace(
            slots,
            rare_terms=bool(rare_terms),
            rare_entities=bool(rare_entities),
            common_terms=_common_terms(query, counts, {term: share / total for term, share in idfs.items()}),
            common_entities=_common_entities(counts),
        )
        rows = await _by_index(tx, slots, params)
        if _missed(rows):
            rows = await _by_index(tx, replace(slots, dense_rows=SECOND_DENSE_ROWS), params)
    considered = rows[0]["candidates"] if rows else 0
    return Ranked(tuple(_row(row) for row in rows), path, considered, counts.memories, counts.of_terms)


async def _by_scan(
    tx: SpaceTransaction, slots: Slots, params: Mapping[str, object], *, by_itself: bool
) -> list[dict[str, Any]]:
    if slots.profile.turns is None or not by_itself:
        return await tx.fetch_all(_exact(slots), params, prepare=False)
    alone = replace(slots, profile=replace(slots.profile, turns=None), limit=slots.limit + SEEN_IN_TURNS)
    found = [row["memory_id"] for row in await tx.fetch_all(_exact(alone), params, prepare=False)]
    return await tx.fetch_all(_in_strips(slots, sql.SQL(CHOSEN_BEFORE)), {**params, "chosen": found}, prepare=False)


async def _by_index(tx: SpaceTransaction, slots: Slots, params: Mapping[str, object]) -> list[dict[str, Any]]:
    await tx.execute(settings(slots))
    return await tx.fetch_all(_in_strips(slots, candidates(slots), "pool"), params, prepare=False)


def _missed(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the vector index was caught in the wrong region: a row it did not bring is far nearer than it reaches."""
    return any(not row["arms"] & 1 and row["distance"] < 0.8 * (row["reach"] or 0) for row in rows)


def choose_path(query: RankQuery, counts: Counts) -> Literal["exact", "index"]:
    """Exact for small spaces, selective filters and families without an index; else by index."""
    indexed = query.vector is None or query.family.index_name is not None
    return "index" if indexed and not query.exact and counts.selected > EXACT_ROWS else "exact"


async def read_counts(tx: SpaceTransaction, query: RankQuery, facets: Sequence[str]) -> Counts:
    """The size of the space, the query's document frequencies and how many rows the filters leave; one statement."""
    filters = query.filters
    parts: list[sql.Composable] = [sql.SQL(COUNTS)]
    most = sql.Literal(EXACT_ROWS + 1)
    chosen = (_type_condition(filters), _conversation_condition(filters), _time_condition(filters))
    parts += [sql.SQL(COUNT_IN_STATE).format(condition=condition, most=most) for condition in chosen if condition]
    parts.append(sql.SQL(COUNT_AUDIENCE).format(condition=_audience_condition(query.audience, "m"), most=most))
    params = {
        "terms": list(query.terms),
        "entity_keys": list(query.entity_keys),
        "facets": list(facets),
        **_filter_params(query, facets),
    }
    found: dict[str, dict[str, int]] = {"term": {}, "entity": {}, "facet": {}}
    memories = length = 0
    bounds: list[int] = []
    for row in await tx.fetch_all(sql.SQL("").join(parts), params, prepare=False):
        if row["kind"] == "space":
            memories, length = row["n"], row["terms"]
        elif row["kind"] == "state":
            bounds.append(row["n"])
        else:
            found[row["kind"]][row["key"]] = row["n"]
    bounds += [found["facet"].get(key, 0) for key in facets]
    return Counts(memories, length, found["term"], found["entity"], min([memories, *bounds]))


def _common_terms(query: RankQuery, counts: Counts, shares: Mapping[str, float]) -> dict[int, float]:
    """Signature bits of the terms with too many postings, with what one occurrence adds to the lexical score."""
    seen = set(rare(counts.of_terms, posting_budget(query.profile)))
    common = sorted((term for term in counts.of_terms if term not in seen), key=lambda term: -shares[term])
    weights: dict[int, float] = {}
    for term in common[:MOST_SIGNATURE_BITS]:
        weights.setdefault(term_position(term), one_occurrence(query.profile, len(query.terms), shares[term]))
    return weights


def _common_entities(counts: Counts) -> tuple[int, ...]:
    seen = set(rare(counts.of_entities, RARE_ENTITY_ROWS))
    common = sorted((key for key in counts.of_entities if key not in seen), key=lambda key: counts.of_entities[key])
    return tuple(sorted({entity_position(key) for key in common[:MOST_SIGNATURE_BITS]}))


def rare(counts: Mapping[str, int], budget: int) -> list[str]:
    """The rarest keys whose postings add up to at most `budget` rows."""
    kept = []
    for key, n in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        budget -= n
        if budget < 0:
            break
        kept.append(key)
    return kept


def distance_scale(profile: RankingProfile, family: StoredFamily) -> float:
    """What a cosine distance is multiplied by: 1, or with a calibrated profile what makes unrelated texts 1 apart."""
    if profile.distance is Distance.RAW:
        return 1.0
    return 1.0 / max(1e-3, 1.0 - family.unrelated_similarity)


def tsquery(found: Sequence[str]) -> str:
    """Terms as the source of a tsquery: OR of quoted words, so that operators in them are data."""
    return " | ".join("'" + term.replace("\\", "\\\\").replace("'", "''") + "'" for term in found)


def visible(filters: Filters, audience: str | None, facets: Sequence[str]) -> sql.Composed:
    """Which rows `m` of memory_state the query may return."""
    conditions: list[sql.Composable] = [live(audience, "m")]
    if filters.memory_type is None:
        hidden = sql.SQL(", ").join(sql.Literal(kind.value) for kind in sorted(HIDDEN_TYPES))
        conditions.append(sql.SQL("m.memory_type NOT IN ({})").format(hidden))
    chosen = (_type_condition(filters), _conversation_condition(filters), _time_condition(filters))
    conditions += [condition for condition in chosen if condition is not None]
    conditions += [sql.SQL(FACET).format(key=sql.Placeholder(f"facet_{i}")) for i in range(len(facets))]
    return all_of(conditions)


def live(audience: str | None, alias: str) -> sql.Composed:
    """Rows that count at all for this audience: not superseded, and not said to somebody else."""
    table = sql.Identifier(alias)
    return sql.SQL("{}.superseded_at IS NULL AND {}").format(table, _audience_condition(audience, alias))


def _audience_condition(audience: str | None, alias: str) -> sql.Composed:
    table = sql.Identifier(alias)
    if audience is None:
        return sql.SQL("{}.audience IS NULL").format(table)
    return sql.SQL("({}.audience IS NULL OR {}.audience = %(audience)s)").format(table, table)


def _type_condition(filters: Filters) -> sql.Composable | None:
    return sql.SQL("m.memory_type = %(memory_type)s") if filters.memory_type is not None else None


def _conversation_condition(filters: Filters) -> sql.Composable | None:
    return sql.SQL("m.conversation_id = %(conversation_id)s") if filters.conversation_id is not None else None


def _time_condition(filters: Filters) -> sql.Composable | None:
    bounds: list[sql.Composable] = []
    if filters.since is not None:
        bounds.append(sql.SQL("m.source_date >= %(since)s::timestamptz"))
    if filters.until is not None:
        bounds.append(sql.SQL("m.source_date < %(until)s::timestamptz"))
    return all_of(bounds) if bounds else None


def _facets(filters: Filters) -> tuple[str, ...]:
    return facet_keys(
        tags=[fold(tag) for tag in filters.tags],
        source=filters.source,
        speaker=None if filters.speaker is None else fold(filters.speaker),
        metadata=filters.metadata,
    )


def _filter_params(query: RankQuery, facets: Sequence[str]) -> dict[str, object]:
    filters = query.filters
    return {
        "audience": query.audience,
        "memory_type": None if filters.memory_type is None else filters.memory_type.value,
        "conversation_id": filters.conversation_id,
        "since": filters.since,
        "until": filters.until,
        **{f"facet_{i}": key for i, key in enumerate(facets)},
    }


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


def _exact(slots: Slots) -> sql.Composed:
    """Every row that the query may return; with turns, every live row, since a conversation knows no filter."""
    by_ts_rank = slots.profile.text is TextTerm.TS_RANK
    turns = slots.profile.turns
    common = _common(slots)
    every_row = sql.SQL(EVERY_ROW).format(
        **common,
        name=sql.Identifier("signals" if turns is None else "scored"),
        more=sql.SQL(ALONE if turns is None else IN_CONVERSATION).format(visible=slots.visible),
        condition=slots.visible if turns is None else live(slots.audience, "m"),
    )
    return sql.SQL(EXACT).format(
        sum=sql.SQL("sum({})").format(slots.posting),
        texts=sql.SQL(TEXTS_TS_RANK).format(ts_rank=sql.SQL(TS_RANK)) if by_ts_rank else sql.SQL(TEXTS_BM25),
        every_row=every_row,
        in_turn=_in_turn(slots),
    ) + _best(slots, "signals", None)


def _in_strips(slots: Slots, chosen: sql.Composable, considered: str = "chosen") -> sql.Composed:
    """The rows of `chosen`, and with turns the rows around them."""
    by_ts_rank = slots.profile.text is TextTerm.TS_RANK
    ts_rank = sql.SQL("CASE WHEN t.matched IS NULL THEN 0 ELSE {} END").format(sql.SQL(TS_RANK))
    turns = slots.profile.turns
    statement = sql.SQL(INDEXED).format(
        **_common(slots),
        candidates=chosen,
        source=sql.SQL("").format() if turns is None else strips(live(slots.audience, "x"), TURNS_ARM),
        name=sql.Identifier("signals" if turns is None else "scored"),
        rows=sql.Identifier("chosen" if turns is None else "strips"),
        more=sql.SQL(ALONE if turns is None else IN_STRIP).format(visible=slots.visible),
        text=ts_rank if by_ts_rank else sql.SQL("coalesce(t.text, 0)"),
        entity=probe_entity(slots),
        posting=slots.posting,
        in_turn=_in_turn(slots),
    )
    return statement + _best(slots, considered, "bound" if slots.has_vector and considered == "pool" else None)


def _in_turn(slots: Slots) -> sql.Composed:
    turns = slots.profile.turns
    return sql.SQL("").format() if turns is None else sql.SQL(", {}").format(in_turn(slots.profile, turns))


def _best(slots: Slots, considered: str, bound: str | None) -> sql.Composed:
    named = [
        sql.SQL("{} AS {}").format(term, sql.Identifier(f"term_{name}")) for name, term in terms(slots.profile).items()
    ]
    reach = sql.SQL("NULL::double precision").format()
    return sql.SQL(BEST).format(
        terms=sql.SQL(", ").join(named),
        rank=ranking_order_by(slots.profile),
        candidates=sql.SQL("(SELECT count(*) FROM {})").format(sql.Identifier(considered)),
        reach=reach if bound is None else sql.SQL("(SELECT b.reach FROM {} b)").format(sql.Identifier(bound)),
        limit=sql.Literal(slots.limit),
    )


def _common(slots: Slots) -> dict[str, sql.Composable]:
    return {
        "family": sql.Literal(slots.family.id),
        "distance": distance(slots),
        "state": state_signals(slots.profile),
    }


def _row(row: Mapping[str, Any]) -> RankedRow:
    return RankedRow(
        memory_id=row["memory_id"],
        rank=row["rank"],
        distance=row["distance"],
        similarity=1.0 - row["distance"],
        text_rank=row["text"],
        matched_terms=tuple(row["matched"] or ()),
        entity_match=bool(row["entity"]),
        contributions={name: float(row[f"term_{name}"]) for name in TERMS},
        arms=tuple(name for bit, name in ARMS.items() if row["arms"] & bit) or ("exact",),
    )
