"""Candidates for ranking in a large space: arms that each bring the rows that one part of the formula favours.

The formula mixes distance, words and what a memory is worth whatever the query, so that the best rows need not lead in
any single one of them. What makes the arms complete together is the bound: once the nearest rows are scored, a row that
none of them saw has to be worth more than `reach - tenth` to get in, and the arm of the worthiest rows is read down to
there. What the arms bring is cut twice by the formula itself, on an estimate of the distance, before the exact distance
(out of line for long vectors) and the exact lexical score are computed for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg import sql

from perdure.rules.ranking import SEED, RankingProfile
from perdure.store.families import StoredFamily
from perdure.store.ranking_sql import double, prior, ranking_order_by, state_signals

DENSE_ROWS: Final = 120
PRIOR_ROWS: Final = 1500
RARE_POSTINGS: Final = 1500
SHORTLIST_ROWS: Final = 320
FINAL_ROWS: Final = 110

ARMS: Final = {1: "dense", 2: "text", 4: "entity", 8: "prior", 16: "neighbours"}
"""What the bits of a candidate's `arms` mean."""

SETTINGS: Final = """
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL hnsw.iterative_scan = relaxed_order;
    SET LOCAL hnsw.ef_search = {ef_search}
"""

NEAR: Final = """
    near AS MATERIALIZED (
        SELECT s.memory_id, s.distance, s.distance * %(distance_scale)s::double precision {prior} AS rank
        FROM (
            SELECT m.memory_id, v.embedding::halfvec({dimensions}) <=> {vector} AS distance, {state}
            FROM memory_vectors v
            JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = v.memory_id
            WHERE v.space_id = %(space_id)s AND v.family_id = {family} AND {visible}
            ORDER BY v.embedding::halfvec({dimensions}) <=> {vector}
            LIMIT {dense_rows}
        ) s
    ),
    bound AS MATERIALIZED (
        SELECT max(n.distance) * %(distance_scale)s::double precision
            - (SELECT t.rank FROM near t ORDER BY t.rank OFFSET {limit} - 1 LIMIT 1) AS worth
        FROM near n
    ),
"""

WORTHY: Final = """
    worthy AS MATERIALIZED (
        SELECT m.memory_id
        FROM memory_state m
        WHERE m.space_id = %(space_id)s AND m.superseded_by IS NULL
            AND m.prior_band >= {least_band}
        ORDER BY m.prior_band DESC
        LIMIT {prior_rows}
    ),
"""

RARE: Final = """
    rare AS MATERIALIZED (
        SELECT p.memory_id, sum({posting}) AS text
        FROM unnest(%(rare_terms)s::text[], %(rare_weights)s::double precision[]) AS q (term, weight)
        JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term
        GROUP BY p.memory_id
    ),
"""

BESIDE: Final = """
    beside AS MATERIALIZED (
        SELECT n.memory_id, sum(r.text * (%(neighbour_weights)s::double precision[])[n.place]) AS neighbours
        FROM (SELECT memory_id, text FROM rare ORDER BY text DESC LIMIT 100) r
        JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = r.memory_id
        CROSS JOIN LATERAL ({around}) n
        GROUP BY n.memory_id
    ),
"""

# The rows a few places before and after `m` in its conversation, among those that the caller may see.
AROUND: Final = """
    (SELECT x.memory_id, row_number() OVER (ORDER BY x.source_date DESC, x.memory_id DESC) AS place
     FROM memory_state x
     WHERE x.space_id = %(space_id)s AND x.conversation_id = m.conversation_id
         AND (x.source_date, x.memory_id) < (m.source_date, m.memory_id) AND {live}
     ORDER BY x.source_date DESC, x.memory_id DESC LIMIT {places})
    UNION ALL
    (SELECT x.memory_id, row_number() OVER (ORDER BY x.source_date, x.memory_id) AS place
     FROM memory_state x
     WHERE x.space_id = %(space_id)s AND x.conversation_id = m.conversation_id
         AND (x.source_date, x.memory_id) > (m.source_date, m.memory_id) AND {live}
     ORDER BY x.source_date, x.memory_id LIMIT {places})
"""

# One candidate `c` at a time: what its postings add up to, and whether an entity of it is named.
PROBE_TEXT: Final = """
    coalesce((
        SELECT sum({posting})
        FROM unnest(%(terms)s::text[], %(weights)s::double precision[]) AS q (term, weight)
        JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term AND p.memory_id = c.memory_id), 0)
"""
PROBE_MATCHED: Final = """
    (SELECT array_agg(p.term ORDER BY p.term) FROM memory_terms p
     WHERE p.space_id = %(space_id)s AND p.term = ANY(%(terms)s::text[]) AND p.memory_id = c.memory_id)
"""
PROBE_ENTITY: Final = """
    CASE WHEN EXISTS (
        SELECT 1 FROM memory_entities e
        WHERE e.space_id = %(space_id)s AND e.key = ANY(%(entity_keys)s::text[]) AND e.memory_id = c.memory_id)
    THEN 1 ELSE 0 END
"""
PROBE_NEIGHBOURS: Final = """
    coalesce((
        SELECT sum((%(neighbour_weights)s::double precision[])[n.place] * {posting})
        FROM ({around}) n
        CROSS JOIN unnest(%(terms)s::text[], %(weights)s::double precision[]) AS q (term, weight)
        JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term AND p.memory_id = n.memory_id), 0)
"""

POOL: Final = """
    pool AS MATERIALIZED (
        SELECT u.memory_id, bit_or(u.arm) AS arms, max(u.text) AS text, max(u.entity) AS entity,
            max(u.neighbours) AS neighbours
        FROM ({arms}) u (memory_id, arm, text, entity, neighbours)
        GROUP BY u.memory_id
    ),
    shortlist AS MATERIALIZED (
        SELECT s.memory_id, s.arms, s.text, s.entity, s.neighbours, s.distance, s.salience, s.usefulness, s.recency,
            s.confidence, s.popularity
        FROM (
            SELECT c.memory_id, c.arms, c.text, c.entity, c.neighbours, {estimate} AS distance, {state}
            FROM pool c
            JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = c.memory_id
            LEFT JOIN memory_vectors v
                ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = c.memory_id
            WHERE {visible}
        ) s
        ORDER BY {rank}
        LIMIT {shortlist_rows}
    ),
    chosen AS MATERIALIZED (
        SELECT s.memory_id, s.arms
        FROM (
            SELECT c.memory_id, c.arms, {text} AS text, {entity} AS entity, c.neighbours, c.distance,
                c.salience, c.usefulness, c.recency, c.confidence, c.popularity
            FROM shortlist c
        ) s
        ORDER BY {rank}
        LIMIT {final_rows}
    )
"""

ARM_DENSE: Final = "SELECT n.memory_id, 1, 0::double precision, 0, 0::double precision FROM near n"
ARM_RARE: Final = "SELECT r.memory_id, 2, r.text, 0, 0 FROM rare r"
ARM_ENTITY: Final = """
    SELECT e.memory_id, 4, 0, 1, 0 FROM memory_entities e
    WHERE e.space_id = %(space_id)s AND e.key = ANY(%(rare_entities)s::text[])
"""
ARM_WORTHY: Final = "SELECT w.memory_id, 8, 0, 0, 0 FROM worthy w"
ARM_BESIDE: Final = "SELECT b.memory_id, 16, 0, 0, b.neighbours FROM beside b"

LONGEST_INLINE: Final = 960
"""Halfvecs up to this length are stored within their row, where an exact distance costs no more than a sketch."""

BANDS: Final = 200.0
"""Steps of `memory_state.prior_band` per unit of the formula."""


@dataclass(frozen=True, slots=True)
class Slots:
    """What the statements of one query are made of, besides its bound parameters."""

    family: StoredFamily
    profile: RankingProfile
    has_vector: bool
    has_terms: bool
    has_entities: bool
    limit: int
    visible: sql.Composed
    live: sql.Composed
    posting: sql.Composed
    text_slack: float = 0.0

    @property
    def vector(self) -> sql.Composed:
        """The query's vector, of the family's type: the typmod can't be a parameter."""
        return sql.SQL("%(vector)s::halfvec({})").format(sql.Literal(self.family.dimensions))

    @property
    def around(self) -> sql.Composed:
        return sql.SQL(AROUND).format(live=self.live, places=sql.Literal(len(self.profile.neighbours)))


def settings(limit: int) -> sql.Composed:
    """The planner's instructions for the rest of the transaction: nested loops over indexes, and how far HNSW looks."""
    return sql.SQL(SETTINGS).format(ef_search=sql.Literal(max(DENSE_ROWS, limit)))


def candidates(slots: Slots, *, rare_terms: bool, rare_entities: bool) -> sql.Composed:
    """The WITH list that ends in `chosen (memory_id, arms)`."""
    parts: list[sql.Composed] = []
    arms: list[sql.SQL] = []
    literal = sql.Literal
    common = {
        "family": literal(slots.family.id),
        "dimensions": literal(slots.family.dimensions),
        "vector": slots.vector,
        "visible": slots.visible,
        "state": state_signals(slots.profile),
    }
    dense_rows = max(DENSE_ROWS, slots.limit)
    if slots.has_vector:
        prior_terms = prior(slots.profile)
        parts.append(
            sql.SQL(NEAR).format(
                **common, prior=prior_terms, dense_rows=literal(dense_rows), limit=literal(slots.limit)
            )
        )
        arms.append(sql.SQL(ARM_DENSE))
    least_band = _least_band(slots)
    if least_band is not None:
        parts.append(sql.SQL(WORTHY).format(least_band=least_band, prior_rows=literal(PRIOR_ROWS)))
        arms.append(sql.SQL(ARM_WORTHY))
    if rare_terms:
        parts.append(sql.SQL(RARE).format(posting=slots.posting))
        arms.append(sql.SQL(ARM_RARE))
        if slots.profile.neighbours:
            parts.append(sql.SQL(BESIDE).format(around=slots.around))
            arms.append(sql.SQL(ARM_BESIDE))
    if rare_entities:
        arms.append(sql.SQL(ARM_ENTITY))
    rank = ranking_order_by(slots.profile)
    parts.append(
        sql.SQL(POOL).format(
            **common,
            arms=sql.SQL(" UNION ALL ").join(arms),
            estimate=estimate(slots),
            rank=rank,
            text=probe_text(slots),
            entity=probe_entity(slots),
            shortlist_rows=literal(SHORTLIST_ROWS),
            final_rows=literal(max(FINAL_ROWS, slots.limit + 10)),
        )
    )
    return sql.SQL("").join(parts)


def estimate(slots: Slots) -> sql.Composed:
    """A distance to choose by: exact where the vector lies within its row, else from the angle between the signs."""
    if not slots.has_vector:
        return double(1.0)
    if slots.family.dimensions <= LONGEST_INLINE:
        return distance(slots)
    return sql.SQL(
        "coalesce(1 - cos(pi() * (v.sketch <~> binary_quantize({vector})::bit varying) / {dimensions}), 1)"
    ).format(vector=slots.vector, dimensions=double(slots.family.dimensions))


def distance(slots: Slots) -> sql.Composed:
    """The exact cosine distance; a memory that has no vector in this family counts as unrelated."""
    if not slots.has_vector:
        return double(1.0)
    return sql.SQL("coalesce(v.embedding::halfvec({dimensions}) <=> {vector}, 1)").format(
        dimensions=sql.Literal(slots.family.dimensions), vector=slots.vector
    )


def probe_text(slots: Slots) -> sql.Composed:
    return sql.SQL(PROBE_TEXT).format(posting=slots.posting) if slots.has_terms else double(0.0)


def probe_entity(slots: Slots) -> sql.Composed:
    return sql.SQL(PROBE_ENTITY).format() if slots.has_entities else sql.SQL("0").format()


def probe_neighbours(slots: Slots) -> sql.Composed:
    if not (slots.has_terms and slots.profile.neighbours):
        return double(0.0)
    return sql.SQL(PROBE_NEIGHBOURS).format(around=slots.around, posting=slots.posting)


def _least_band(slots: Slots) -> sql.Composed | None:
    """How far down the worthiest rows are read; None when the profile gives nothing for what a memory is worth.

    `prior_band` uses the mission's weights. A profile's own prior is at most `ratio` times that, plus its recency.
    """
    profile = slots.profile
    ratio = max(
        profile.salience / SEED.salience,
        profile.usefulness / SEED.usefulness,
        profile.confidence / SEED.confidence,
        profile.popularity / SEED.popularity,
    )
    if ratio <= 0:
        return None
    if not slots.has_vector:
        return sql.SQL("-32768").format()
    return sql.SQL(
        "(SELECT coalesce(greatest(-32768, least(32767, floor({bands} * (b.worth - {slack}) / {ratio}))), -32768)"
        " FROM bound b)::smallint"
    ).format(bands=double(BANDS), slack=double(profile.recency + slots.text_slack), ratio=double(ratio))
