"""Candidates for ranking in a large space: arms that each bring the rows that one part of the formula favours.

The formula mixes distance, words and what a memory is worth whatever the query, so that the best rows need not lead in
any single one of them. What makes the arms complete together is the bound: once the nearest rows are known, a row that
none of them saw is farther away, so it has to be worth more than the tenth best of them to get in, and the index of
what memories are worth is read down to there (`worth`). That index carries a sketch of the vector and a signature of
the words, so that one scan of it applies the whole formula, roughly (`estimates`), to thousands of rows. The best of
all arms then get the exact distance (out of line for long vectors) and the exact lexical score.
"""

from __future__ import annotations

from math import isqrt
from typing import Final, LiteralString

from psycopg import sql

from perdure.rules.ranking import RankingProfile
from perdure.store.estimates import judged, looked_up, signed_entity, signed_text, sketched, told
from perdure.store.ranking_slots import Slots, distance
from perdure.store.ranking_sql import posting_score, prior, state_signals, terms
from perdure.store.sketches import SKETCH_BITS
from perdure.store.visibility import visible
from perdure.store.worth import least_band, others_by_band

RARE_POSTINGS: Final = 200
"""Terms, rarest first, whose postings are all considered; the others are seen through the signatures."""

SUMMED_POSTINGS: Final = 30_000
"""The same where the lexical score is a term of its own: so many are added up, and the best rows considered."""

RARE_ENTITY_ROWS: Final = 1000
"""The same for entities: 2,500 rows looked up one by one took as long as all the rest."""

TEXT_ROWS: Final = 500
DENSE_ROWS: Final = 64
LOOKED_AT: Final = 125
"""Per cent of the nearest rows that the vector index looks at in one go: some are not visible, and a second round
would cost as much as the first."""

ARMS: Final = {1: "dense", 2: "text", 4: "entity", 8: "prior", 16: "turns"}
"""What the bits of a candidate's `arms` mean."""

TURNS_ARM: Final = 16

# Nested loops over indexes, in the order in which they are written: the arms bring few rows where the planner expects
# many, and searching for another order takes longer than it could win. An operator is dear, since a distance reads its
# vector: that decides for the ordered scan of the vector index against sorting a space. Parallel workers would take
# longer to start than the statement to run.
SETTINGS: Final = """
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL max_parallel_workers_per_gather = 0;
    SET LOCAL join_collapse_limit = 1;
    SET LOCAL cpu_operator_cost = 1;
    SET LOCAL hnsw.iterative_scan = relaxed_order;
    SET LOCAL hnsw.ef_search = {ef_search}
"""

# The index hands out rows in the order of their distance but not the distance itself, which costs 30 µs a row where
# vectors are out of line: a few rows are measured, and the others are at least as far as the last one measured before.
NEAR: Final = """
    nearest AS MATERIALIZED (
        SELECT o.memory_id, row_number() OVER () AS place, {columns}
        FROM (
            SELECT m.memory_id, {text} AS text, {entity} AS entity, {state}
            FROM memory_vectors v
            JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = v.memory_id
            WHERE v.space_id = %(space_id)s AND v.family_id = {family} AND {visible}
            ORDER BY v.embedding::halfvec({dimensions}) <=> {vector}
            LIMIT {rows}
        ) o
    ),
    measured AS MATERIALIZED (
        SELECT n.place, {distance} AS distance
        FROM nearest n
        JOIN memory_vectors v ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = n.memory_id
        WHERE n.place IN (1, 2, 4, 8, 16, 32, 64, (SELECT max(l.place) FROM nearest l))
    ),
    near AS MATERIALIZED (
        SELECT s.memory_id, s.distance, s.text, {prior} AS prior, {others} AS others
        FROM (
            SELECT n.memory_id, n.text, n.entity, 0::double precision AS lent, {columns_of_nearest},
                (SELECT max(d.distance) FROM measured d WHERE d.place <= n.place) AS distance
            FROM nearest n
            OFFSET 0
        ) s
    ),
    bound AS MATERIALIZED (
        SELECT (SELECT max(d.distance) FROM measured d) AS reach,
            (SELECT - n.prior FROM near n ORDER BY n.prior OFFSET {limit} - 1 LIMIT 1) AS worth
    ),
"""

# The distance that a number of differing bits stands for is looked up: thousands of rows share 257 values.
WORTHY: Final = """
    told AS MATERIALIZED (
        SELECT array_agg(t.distance ORDER BY t.bits) AS distances
        FROM (
            SELECT s.bits, {judged} AS distance
            FROM (SELECT g.bits, {told} AS distance FROM generate_series(0, {sketch_bits}) AS g (bits)) s
        ) t
    ),
    worthy AS MATERIALIZED (
        SELECT s.memory_id, s.distance, s.text, {others} AS others, {relevance} {others} AS estimate
        FROM (
            SELECT m.memory_id, m.prior_band, {looked_up} AS distance, {text} AS text, {entity} AS entity
            FROM memory_state m
            WHERE m.space_id = %(space_id)s AND m.prior_band >= {least_band} AND {visible}
            ORDER BY m.prior_band DESC
            LIMIT {rows}
        ) s
        ORDER BY 5
        LIMIT {kept}
    ),
"""

RARE: Final = """
    rare AS MATERIALIZED (
        SELECT p.memory_id, sum({posting}) AS text
        FROM unnest(%(rare_terms)s::text[], %(rare_weights)s::double precision[]) AS q (term, weight)
        JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term
        GROUP BY p.memory_id
        ORDER BY 2 DESC
        LIMIT {text_rows}
    ),
"""

NAMED: Final = """
    named AS MATERIALIZED (
        SELECT DISTINCT e.memory_id FROM memory_entities e
        WHERE e.space_id = %(space_id)s AND e.key = ANY(%(rare_entities)s::text[])
    ),
"""

# Rows found by their keys: what they are worth and where they point is looked up one by one.
FOUND: Final = """
    found AS MATERIALIZED (
        SELECT s.memory_id, s.arms, s.distance, s.text, {others} AS others, {relevance} {others} AS estimate
        FROM (
            SELECT s.memory_id, s.arms, {judged} AS distance, s.text, s.entity, 0::double precision AS lent, {columns}
            FROM (
            SELECT c.memory_id, c.arms, {sketched} AS distance, c.text + {text} AS text,
                greatest(c.entity, {entity}) AS entity, {state}
            FROM (
                SELECT u.memory_id, bit_or(u.arm) AS arms, max(u.text) AS text, max(u.entity) AS entity
                FROM ({arms}) u (memory_id, arm, text, entity)
                GROUP BY u.memory_id
            ) c
            JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = c.memory_id
            WHERE {visible}
            ) s
            OFFSET 0
        ) s
        ORDER BY 6
        LIMIT {kept}
    ),
"""

POOL: Final = """
    pool AS MATERIALIZED ({arms}),
    best AS MATERIALIZED (
        SELECT s.memory_id, s.arms, s.distance, s.text, s.others
        FROM (
            SELECT p.memory_id, bit_or(p.arm) AS arms, min(p.distance) AS distance, max(p.text) AS text,
                min(p.others) AS others
            FROM pool p
            GROUP BY p.memory_id
        ) s
        ORDER BY {relevance} + s.others
        LIMIT {rows}
    ),
"""

CHOSEN: Final = """
    chosen AS MATERIALIZED (SELECT b.memory_id, b.arms FROM best b)
"""

# Where an exact distance is cheap, it decides who gets the exact lexical score.
CHOSEN_BY_DISTANCE: Final = """
    chosen AS MATERIALIZED (
        SELECT s.memory_id, s.arms
        FROM (
            SELECT b.memory_id, b.arms, b.text, b.others, {distance} AS distance
            FROM best b
            LEFT JOIN memory_vectors v
                ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = b.memory_id
            OFFSET 0
        ) s
        ORDER BY {relevance} + s.others
        LIMIT {rows}
    )
"""

ARM_RARE: Final = "SELECT r.memory_id, 2, r.text, 0 FROM rare r"
ARM_NAMED: Final = "SELECT e.memory_id, 4, 0::double precision, 1 FROM named e"
POOL_NEAR: Final = "SELECT n.memory_id, 1 AS arm, n.distance, n.text, n.others FROM near n"
POOL_WORTHY: Final = "SELECT w.memory_id, 8 AS arm, w.distance, w.text, w.others FROM worthy w"
POOL_FOUND: Final = "SELECT f.memory_id, f.arms AS arm, f.distance, f.text, f.others FROM found f"


def settings(slots: Slots) -> sql.Composed:
    """The planner's instructions for the rest of the transaction: nested loops over indexes, and how far HNSW looks."""
    return sql.SQL(SETTINGS).format(ef_search=sql.Literal(min(1000, slots.dense_rows * LOOKED_AT // 100)))


def candidates(slots: Slots) -> sql.Composed:
    """The WITH list that ends in `pool` and `chosen (memory_id, arms)`."""
    parts: list[sql.Composable] = []
    pool: list[LiteralString] = []
    names = ("salience", "usefulness", "recency", "confidence", "popularity")
    named = terms(slots.profile)
    common = {
        "judged": judged(slots),
        "family": sql.Literal(slots.family.id),
        "dimensions": sql.Literal(slots.family.dimensions),
        "vector": slots.vector,
        "visible": visible(slots.asked),
        "state": state_signals(slots.profile),
        "relevance": named["relevance"],
        "others": sql.SQL(" ").join(term for name, term in named.items() if name != "relevance"),
        "sketched": sketched(slots),
        "looked_up": looked_up(slots),
        "told": told(sql.Identifier("g", "bits")),
        "sketch_bits": sql.Literal(SKETCH_BITS),
        "text": signed_text(slots),
        "entity": signed_entity(slots),
        "limit": sql.Literal(slots.limit),
        "posting": posting_score(slots.profile),
    }
    if slots.has_vector:
        near = {
            "prior": prior(slots.profile),
            "rows": sql.Literal(slots.dense_rows),
            "distance": distance(slots),
            "columns": sql.SQL(", ").join(sql.Identifier("o", name) for name in ("text", "entity", *names)),
            "columns_of_nearest": sql.SQL(", ").join(sql.Identifier("n", name) for name in names),
        }
        parts.append(sql.SQL(NEAR).format(**common, **near))
        pool.append(POOL_NEAR)
    lowest = least_band(slots)
    if lowest is not None:
        others = {"others": others_by_band(slots.profile)}
        rows = {"rows": sql.SQL("%(worthy_rows)s::bigint"), "kept": sql.Literal(slots.best_rows)}
        parts.append(sql.SQL(WORTHY).format(**{**common, **others, **rows}, least_band=lowest))
        pool.append(POOL_WORTHY)
    arms: list[LiteralString] = []
    if slots.rare_terms:
        parts.append(sql.SQL(RARE).format(**common, text_rows=sql.Literal(TEXT_ROWS)))
        arms.append(ARM_RARE)
    if slots.rare_entities:
        parts.append(sql.SQL(NAMED))
        arms.append(ARM_NAMED)
    if arms:
        found = sql.SQL(" UNION ALL ").join(map(sql.SQL, arms))
        columns = {"columns": sql.SQL(", ").join(sql.Identifier("s", name) for name in names)}
        parts.append(sql.SQL(FOUND).format(**common, **columns, arms=found, kept=sql.Literal(slots.best_rows)))
        pool.append(POOL_FOUND)
    joined = sql.SQL(" UNION ALL ").join(map(sql.SQL, pool))
    parts.append(sql.SQL(POOL).format(**common, arms=joined, rows=sql.Literal(slots.best_rows)))
    chosen = sql.SQL(CHOSEN_BY_DISTANCE if slots.inline else CHOSEN)
    parts.append(chosen.format(**common, distance=distance(slots), rows=sql.Literal(slots.chosen_rows)))
    return sql.SQL("").join(parts)


def dense_rows(memories: int, limit: int) -> int:
    """How many nearest rows are looked at. With the worthy rows, their product must grow with the space."""
    return max(DENSE_ROWS, isqrt(memories // 12), limit)


def worthy_rows(memories: int, slots: Slots) -> int:
    """How many of the worthiest rows are judged by sketch and signature, at most.

    Measured for an overlap of 0.99 with the plain ORDER BY: an entity may lift rows that are worth less, and in fewer
    dimensions the distances of unrelated rows scatter more, so that worth decides less.
    """
    per_root = 60 if slots.inline else 40 if slots.common_entities else 20
    return max(1500, per_root * isqrt(memories))


def posting_budget(profile: RankingProfile) -> int:
    """How many postings of a query's terms are gone through, rarest terms first."""
    return SUMMED_POSTINGS if profile.text_weight else RARE_POSTINGS
