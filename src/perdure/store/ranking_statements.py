"""The two ranking statements, put together from their pieces: over every row, and over chosen candidates."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from psycopg import sql

from perdure.rules.ranking import TextTerm
from perdure.store.candidates import TURNS_ARM, candidates
from perdure.store.ranking_slots import TS_RANK, Slots, distance, lexical_score
from perdure.store.ranking_sql import posting_score, prior, ranking_order_by, state_signals, terms
from perdure.store.statements import Numbered, kept, numbered
from perdure.store.turns_sql import in_turn, strips
from perdure.store.visibility import live, visible

KEPT_STATEMENTS: Final = 128
"""How many shapes of a query keep their statement: putting one together takes 3 ms, several times what it is worth."""

# OFFSET 0 keeps the planner from merging the signals into the outer query, which would compute every distance and every
# lexical score once per mention.
EXACT: Final = """
    WITH postings AS MATERIALIZED (
        SELECT p.memory_id, {sum} AS text
        FROM unnest(%(terms)s::text[], %(weights)s::double precision[]) AS q (term, weight)
        JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term
        GROUP BY p.memory_id
    ),
    texts AS {once} ({texts}),
    entities AS MATERIALIZED (
        SELECT DISTINCT e.memory_id FROM memory_entities e
        WHERE e.space_id = %(space_id)s AND e.key = ANY(%(entity_keys)s::text[])
    ),
    {name} AS MATERIALIZED (
        SELECT m.memory_id, {distance} AS distance, coalesce(t.text, 0) AS text,
            CASE WHEN e.memory_id IS NULL THEN 0 ELSE 1 END AS entity, 0 AS arms, {state}, {more}
        FROM memory_state m
        LEFT JOIN memory_vectors v
            ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = m.memory_id
        LEFT JOIN texts t ON t.memory_id = m.memory_id
        LEFT JOIN entities e ON e.memory_id = m.memory_id
        WHERE m.space_id = %(space_id)s AND {condition}
        OFFSET 0
    )
    {in_turn}
    {answer}
"""

BEST: Final = """
    SELECT s.memory_id, s.distance, s.text, {matched} AS matched, s.entity, s.arms, {terms}, {rank} AS rank,
        {considered} AS candidates, {reach} AS reach
    FROM signals s
    ORDER BY {rank}, s.memory_id DESC
    LIMIT {limit}
"""

# Where one memory stands among all that the query may return: by the formula, and by each part of it that an arm
# looks for.
PLACE: Final = """
    SELECT count(*) AS visible,
        1 + count(*) FILTER (WHERE p.rank < t.rank OR (p.rank = t.rank AND p.memory_id > t.memory_id)) AS place,
        1 + count(*) FILTER (WHERE p.distance < t.distance) AS dense,
        1 + count(*) FILTER (WHERE p.text > t.text) AS text,
        1 + count(*) FILTER (WHERE p.prior < t.prior) AS prior
    FROM (SELECT s.memory_id, s.distance, s.text, {rank} AS rank, {prior} AS prior FROM signals s OFFSET 0) p
    JOIN (
        SELECT s.distance, s.text, {rank} AS rank, {prior} AS prior, s.memory_id
        FROM signals s WHERE s.memory_id = %(sought)s
    ) t ON true
"""

INDEXED: Final = """
    WITH {candidates},
    {source}
    {name} AS MATERIALIZED (
        SELECT m.memory_id, {distance} AS distance, {text} AS text, {entity} AS entity, {state}, {more}
        FROM {rows}
        LEFT JOIN memory_vectors v
            ON v.space_id = %(space_id)s AND v.family_id = {family} AND v.memory_id = m.memory_id
        LEFT JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
        OFFSET 0
    )
    {in_turn}
    SELECT s.memory_id, s.distance, s.text, {matched} AS matched, s.entity, s.arms, {terms}, {rank} AS rank,
        {considered} AS candidates, {reach} AS reach
    FROM signals s
    ORDER BY {rank}, s.memory_id DESC
    LIMIT {limit}
"""

BY_THEMSELVES: Final = """
    chosen c JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = c.memory_id
"""

# Candidates that an earlier statement chose.
CHOSEN_BEFORE: Final = """
    chosen AS MATERIALIZED (SELECT r.memory_id, 0 AS arms FROM unnest(%(chosen)s::bigint[]) AS r (memory_id))
"""

ALONE: Final = "0::double precision AS lent"
CHOSEN_ALONE: Final = "c.arms, 0::double precision AS lent"
IN_CONVERSATION: Final = """
    coalesce(m.conversation_id, m.memory_id::text) AS strip, true AS chosen, {visible} AS answers, m.speaker,
    m.is_question, m.term_count, m.source_date
"""

IN_STRIP: Final = """
    m.arms, coalesce(m.conversation_id, m.memory_id::text) AS strip, m.chosen, {visible} AS answers, m.speaker,
    m.is_question, m.term_count, m.source_date
"""

TEXTS_TS_RANK: Final = """
    SELECT p.memory_id, {ts_rank} AS text
    FROM postings p JOIN memories w ON w.space_id = %(space_id)s AND w.id = p.memory_id
"""

TEXTS_BM25: Final = "SELECT p.memory_id, p.text FROM postings p"

PROBE_ENTITY: Final = """
    CASE WHEN EXISTS (
        SELECT 1 FROM memory_entities e
        WHERE e.space_id = %(space_id)s AND e.key = ANY(%(entity_keys)s::text[]) AND e.memory_id = m.memory_id)
    THEN 1 ELSE 0 END
"""

# Evaluated after the LIMIT, for the rows that are returned.
MATCHED: Final = """
    (SELECT array_agg(p.term) FROM memory_terms p
     WHERE p.space_id = %(space_id)s AND p.term = ANY(%(terms)s::text[]) AND p.memory_id = s.memory_id)
"""


@lru_cache(maxsize=KEPT_STATEMENTS)
def exact_statement(slots: Slots, space_id: int) -> Numbered:
    """Every row that the query may return; with turns, every live row, since a conversation knows no filter.

    Prepared where a space is asked often, as `index_statement` is.
    """
    return numbered(_exact_statement(slots), space_id)


@lru_cache(maxsize=KEPT_STATEMENTS)
def _exact_statement(slots: Slots) -> sql.SQL:
    # With turns, of rows that are written down anyway: to count the others would have them written down, too.
    considered = "signals" if slots.profile.turns is None else "scored"
    return kept(_over_every_row(slots, sql.SQL(BEST).format(**_best(slots, considered, None))))


@lru_cache(maxsize=KEPT_STATEMENTS)
def place_statement(slots: Slots) -> Numbered:
    """Where the memory `sought` stands among the same rows."""
    answer = sql.SQL(PLACE).format(rank=ranking_order_by(slots.profile), prior=prior(slots.profile))
    return numbered(_over_every_row(slots, answer))


def _over_every_row(slots: Slots, answer: sql.Composed) -> sql.Composed:
    by_ts_rank = slots.profile.text is TextTerm.TS_RANK
    turns = slots.profile.turns
    return sql.SQL(EXACT).format(
        **_common(slots),
        sum=sql.SQL("NULL" if by_ts_rank else "sum({})").format(posting_score(slots.profile)),
        once=sql.SQL("MATERIALIZED" if by_ts_rank else "NOT MATERIALIZED"),
        texts=sql.SQL(TEXTS_TS_RANK).format(ts_rank=sql.SQL(TS_RANK)) if by_ts_rank else sql.SQL(TEXTS_BM25),
        name=sql.Identifier("signals" if turns is None else "scored"),
        more=sql.SQL(ALONE if turns is None else IN_CONVERSATION).format(visible=visible(slots.asked)),
        condition=visible(slots.asked) if turns is None else live(slots.asked, "m"),
        in_turn=_in_turn(slots),
        answer=answer,
    )


@lru_cache(maxsize=KEPT_STATEMENTS)
def index_statement(slots: Slots, space_id: int) -> Numbered:
    """The candidates of a large space, and with turns the rows around them; to be prepared for that space."""
    return numbered(_index_statement(slots), space_id)


@lru_cache(maxsize=KEPT_STATEMENTS)
def _index_statement(slots: Slots) -> sql.SQL:
    return kept(_strips(slots, candidates(slots), "pool"))


@lru_cache(maxsize=KEPT_STATEMENTS)
def chosen_statement(slots: Slots) -> Numbered:
    """The rows that an earlier statement chose, and with turns the rows around them."""
    return numbered(_strips(slots, sql.SQL(CHOSEN_BEFORE), "chosen"))


def _strips(slots: Slots, chosen: sql.Composable, considered: str) -> sql.Composed:
    turns = slots.profile.turns
    bound = "bound" if slots.has_vector and considered == "pool" else None
    return sql.SQL(INDEXED).format(
        **_common(slots),
        candidates=chosen,
        source=sql.SQL("").format() if turns is None else strips(live(slots.asked, "m"), TURNS_ARM),
        name=sql.Identifier("signals" if turns is None else "scored"),
        rows=sql.SQL(BY_THEMSELVES if turns is None else "strips m").format(),
        more=sql.SQL(CHOSEN_ALONE if turns is None else IN_STRIP).format(visible=visible(slots.asked)),
        text=lexical_score(slots),
        entity=_probed_entity(slots),
        in_turn=_in_turn(slots),
        **_best(slots, considered, bound),
    )


def _probed_entity(slots: Slots) -> sql.Composed:
    return sql.SQL(PROBE_ENTITY).format() if slots.has_entities else sql.SQL("0").format()


def _in_turn(slots: Slots) -> sql.Composed:
    turns = slots.profile.turns
    return sql.SQL("").format() if turns is None else sql.SQL(", {}").format(in_turn(slots.profile, turns))


def _best(slots: Slots, considered: str, bound: str | None) -> dict[str, sql.Composable]:
    named = [
        sql.SQL("{} AS {}").format(term, sql.Identifier(f"term_{name}")) for name, term in terms(slots.profile).items()
    ]
    reach = sql.SQL("NULL::double precision").format()
    return {
        "terms": sql.SQL(", ").join(named),
        "rank": ranking_order_by(slots.profile),
        "matched": sql.SQL(MATCHED).format() if slots.has_terms else sql.SQL("NULL::text[]").format(),
        "considered": sql.SQL("(SELECT count(*) FROM {})").format(sql.Identifier(considered)),
        "reach": reach if bound is None else sql.SQL("(SELECT b.reach FROM {} b)").format(sql.Identifier(bound)),
        "limit": sql.Literal(slots.limit),
    }


def _common(slots: Slots) -> dict[str, sql.Composable]:
    return {
        "family": sql.Literal(slots.family.id),
        "distance": distance(slots),
        "state": state_signals(slots.profile),
    }
