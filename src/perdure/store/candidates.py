"""Candidates for ranking in a large space: arms that each bring the rows that one part of the formula favours.

The formula mixes distance, words and what a memory is worth whatever the query, so that the best rows need not lead in
any single one of them. What makes the arms complete together is the bound: once the nearest rows are known, a row that
none of them saw is farther away, so it has to be worth more than the tenth best of them to get in, and the index of
what memories are worth is read down to there (`worth`). That index carries a sketch of the vector and a signature of
the words, so that one scan of it applies the whole formula, roughly (`estimates`), to thousands of rows. The best of
all arms then get the exact distance (out of line for long vectors) and the exact lexical score.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Final, LiteralString

from psycopg import sql

from perdure.rules.ranking import RankingProfile
from perdure.store.estimates import hinted_text, judged, looked_up, signed_entity, signed_text, sketched, told
from perdure.store.ranking_slots import Slots, distance
from perdure.store.ranking_sql import posting_score, prior, state_signals, terms
from perdure.store.sketches import SKETCH_BITS
from perdure.store.visibility import visible
from perdure.store.worth import least_band, others_by_band, worth_decides

RARE_POSTINGS: Final = 200
"""Terms, rarest first, whose postings are all considered; the others are seen through the signatures."""

SUMMED_POSTINGS: Final = 15_000
"""The same where the lexical score is a term of its own: so many are added up, and the best rows considered."""

TEXT_ROWS: Final = 500
"""Rows that the postings of a query's words bring, those with the highest lexical score."""

RARE_ENTITY_ROWS: Final = 300
"""The same for entities, whose rows are looked up one by one; others are seen where they are near or have the words."""

DENSE_ROWS: Final = 64
WORTHIEST_ROWS: Final = 24
"""How many of the worthiest rows are candidates where worth decides little."""

ENOUGH_POSTINGS: Final = 100
"""Rows that the rarest terms have to bring before others are left out."""

DENSE_STEP: Final = 32
"""The number of nearest rows is part of a statement: in steps, so that a growing space doesn't need ever new ones."""

LOOKED_AT: Final = 125
"""Per cent of the nearest rows that the vector index looks at in one go: some are not visible, and a second round
would cost as much as the first."""

ARMS: Final = {1: "dense", 2: "text", 4: "entity", 8: "prior", 16: "turns"}
"""What the bits of a candidate's `arms` mean."""

TURNS_ARM: Final = 16

# Nested loops over indexes, in the order in which they are written: the arms bring few rows where the planner expects
# many, and searching for another order takes longer than it could win. An operator is dear, since a distance reads its
# vector: that decides for the ordered scan of the vector index against sorting a space. Parallel workers would take
# longer to start than the statement to run. Where there is an index in the order that is asked for, nothing is sorted:
# a plan that is kept for all spaces reckons with the average one, and would sort the vectors of a large one.
SETTINGS: Final = """
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_sort = off;
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

# Where vectors lie within their rows, a distance costs no more than finding the row.
NEAR_INLINE: Final = """
    near AS MATERIALIZED (
        SELECT s.memory_id, s.distance, s.text, {prior} AS prior, {others} AS others
        FROM (
            SELECT m.memory_id, {distance} AS distance, {text} AS text, {entity} AS entity,
                0::double precision AS lent, {state}
            FROM memory_vectors v
            JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = v.memory_id
            WHERE v.space_id = %(space_id)s AND v.family_id = {family} AND {visible}
            ORDER BY v.embedding::halfvec({dimensions}) <=> {vector}
            LIMIT {rows}
        ) s
    ),
    bound AS MATERIALIZED (
        SELECT (SELECT max(n.distance) FROM near n) AS reach,
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

# Where worth decides little, the worthiest few are candidates like those found by words.
WORTHIEST: Final = """
    worthiest AS MATERIALIZED (
        SELECT m.memory_id
        FROM memory_state m
        WHERE m.space_id = %(space_id)s AND {visible}
        ORDER BY m.prior_band DESC
        LIMIT {rows}
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
        SELECT s.memory_id, s.arms, s.distance, s.text, {others} AS others, {relevance} {others} AS estimate,
            s.signature
        FROM (
            SELECT s.memory_id, s.arms, {judged} AS distance, s.text, s.entity, 0::double precision AS lent, {columns},
                s.signature
            FROM (
                SELECT c.memory_id, c.arms, {sketched} AS distance, c.text + {signed} AS text,
                    greatest(c.entity, {entity}) AS entity, {state}, m.signature
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

VECTORS: Final = """
    LEFT JOIN memory_vectors v
        ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = m.memory_id
"""

POOL: Final = """
    pool AS MATERIALIZED ({arms}),
    chosen AS MATERIALIZED (
        SELECT s.memory_id, s.arms
        FROM (
            SELECT p.memory_id, bit_or(p.arm) AS arms, min(p.distance) AS distance, max(p.text) AS text,
                min(p.others) AS others
            FROM pool p
            GROUP BY p.memory_id
        ) s
        ORDER BY {relevance} + s.others
        LIMIT {rows}
    )
"""

ARM_RARE: Final = "SELECT r.memory_id, 2, r.text, 0 FROM rare r"
ARM_WORTHIEST: Final = "SELECT w.memory_id, 8, 0::double precision, 0 FROM worthiest w"
ARM_NAMED: Final = "SELECT e.memory_id, 4, 0::double precision, 1 FROM named e"
POOL_NEAR: Final = "SELECT n.memory_id, 1 AS arm, n.distance, n.text, n.others FROM near n"
# Where an exact distance is cheap, it corrects what a sketch told.
POOL_WORTHY_INLINE: Final = """
    SELECT m.memory_id, 8 AS arm, {distance} AS distance, m.text, m.others
    FROM worthy m
    {vectors}
"""
POOL_WORTHY: Final = "SELECT w.memory_id, 8 AS arm, w.distance, w.text, w.others FROM worthy w"
POOL_FOUND_INLINE: Final = """
    SELECT m.memory_id, m.arms AS arm, {distance} AS distance, m.text, m.others
    FROM found m
    {vectors}
"""
POOL_FOUND: Final = "SELECT f.memory_id, f.arms AS arm, f.distance, f.text, f.others FROM found f"


def settings(slots: Slots) -> sql.Composed:
    """The planner's instructions for the rest of the transaction: nested loops over indexes, and how far HNSW looks."""
    return sql.SQL(SETTINGS).format(ef_search=sql.Literal(min(1000, slots.dense_rows * LOOKED_AT // 100)))


def candidates(slots: Slots) -> sql.Composed:
    """The WITH list that ends in `pool` and `chosen (memory_id, arms)`."""
    parts: list[sql.Composable] = []
    pool: list[sql.Composable] = []
    names = ("salience", "usefulness", "recency", "confidence", "popularity")
    named = terms(slots.profile)
    family = sql.Literal(slots.family.id)
    vectors = sql.SQL(VECTORS).format(family=family)
    common = {
        "family": family,
        "dimensions": sql.Literal(slots.family.dimensions),
        "vector": slots.vector,
        "visible": visible(slots.asked),
        "state": state_signals(slots.profile),
        "relevance": named["relevance"],
        "others": sql.SQL(" ").join(term for name, term in named.items() if name != "relevance"),
        "looked_up": looked_up(slots),
        "told": told(sql.Identifier("g", "bits")),
        "sketch_bits": sql.Literal(SKETCH_BITS),
        "text": hinted_text(slots),
        "signed": signed_text(slots),
        "judged": judged(slots),
        "sketched": sketched(slots),
        "vectors": vectors,
        "entity": signed_entity(slots),
        "limit": sql.Literal(slots.limit),
        "posting": posting_score(slots.profile),
        "distance": distance(slots),
    }
    if slots.has_vector:
        near = {
            "prior": prior(slots.profile),
            "rows": sql.Literal(slots.dense_rows),
            "columns": sql.SQL(", ").join(sql.Identifier("o", name) for name in ("text", "entity", *names)),
            "columns_of_nearest": sql.SQL(", ").join(sql.Identifier("n", name) for name in names),
        }
        parts.append(sql.SQL(NEAR_INLINE if slots.inline else NEAR).format(**common, **near))
        pool.append(sql.SQL(POOL_NEAR))
    arms: list[LiteralString] = []
    lowest = least_band(slots)
    if lowest is not None and worth_decides(slots):
        others = {"others": others_by_band(slots.profile)}
        rows = {"rows": sql.SQL("%(worthy_rows)s::bigint"), "kept": sql.Literal(slots.worthy_kept)}
        parts.append(
            sql.SQL(WORTHY).format(**{**common, **others, **rows, "text": signed_text(slots)}, least_band=lowest)
        )
        worthy = sql.SQL(POOL_WORTHY_INLINE if slots.inline else POOL_WORTHY)
        pool.append(worthy.format(**common))
    elif lowest is not None:
        parts.append(sql.SQL(WORTHIEST).format(**common, rows=sql.Literal(WORTHIEST_ROWS)))
        arms.append(ARM_WORTHIEST)
    if slots.has_terms:
        parts.append(sql.SQL(RARE).format(**common, text_rows=sql.Literal(TEXT_ROWS)))
        arms.append(ARM_RARE)
    if slots.has_entities:
        parts.append(sql.SQL(NAMED))
        arms.append(ARM_NAMED)
    if arms:
        found = {
            "arms": sql.SQL(" UNION ALL ").join(map(sql.SQL, arms)),
            "columns": sql.SQL(", ").join(sql.Identifier("s", name) for name in names),
            "kept": sql.Literal(slots.found_kept),
        }
        parts.append(sql.SQL(FOUND).format(**common, **found))
        pool.append(sql.SQL(POOL_FOUND_INLINE if slots.inline else POOL_FOUND).format(**common))
    joined = sql.SQL(" UNION ALL ").join(pool)
    parts.append(sql.SQL(POOL).format(**common, arms=joined, rows=sql.Literal(slots.chosen_rows)))
    return sql.SQL("").join(parts)


def dense_rows(memories: int, limit: int) -> int:
    """How many nearest rows are looked at. With the worthy rows, their product must grow with the space."""
    return max(DENSE_ROWS, -(-isqrt(memories // 12) // DENSE_STEP) * DENSE_STEP, limit)


def worthy_rows(memories: int, slots: Slots) -> int:
    """How many of the worthiest rows are judged by sketch and signature, at most.

    Measured for an overlap of 0.99 with the plain ORDER BY: an entity may lift rows that are worth less, and in fewer
    dimensions the distances of unrelated rows scatter more, so that worth decides less.
    """
    per_root = 60 if slots.inline else 40 if slots.common_entities else 20
    return max(1500, per_root * isqrt(memories))


def gone_through(counts: Mapping[str, int], idfs: Mapping[str, float], profile: RankingProfile) -> list[str]:
    """The terms whose postings are gone through, rarest first: as many as can decide, within a budget.

    Where the lexical score is a term of its own, more terms are of no use once those that are left weigh less together
    than the last one: a memory with nothing but them is behind every memory with that one.
    """
    if not profile.text_weight:
        return rare(counts, RARE_POSTINGS)
    kept = rare(counts, SUMMED_POSTINGS)
    left = sum(idfs.get(term, 0.0) for term in counts)
    found = 0
    for place, term in enumerate(kept, 1):
        left -= idfs[term]
        found += counts[term]
        if found >= ENOUGH_POSTINGS and left <= idfs[term]:
            return kept[:place]
    return kept


def rare(counts: Mapping[str, int], budget: int) -> list[str]:
    """The rarest keys whose postings add up to at most `budget` rows."""
    kept = []
    for key, n in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        budget -= n
        if budget < 0:
            break
        kept.append(key)
    return kept
