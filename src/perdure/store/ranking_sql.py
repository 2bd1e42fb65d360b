"""The ranking formula in SQL, and the pieces of the statements that apply it.

`rules.ranking` is the reference; the names of the terms are the same. The exact path and the indexed path order by the
one expression that `ranking_order_by` builds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, LiteralString

from psycopg import sql

from perdure.rules.ranking import RankingProfile, TextTerm

# Every term of the formula over the columns of `signals`. `distance` is scaled by the family's calibration when the
# profile asks for it.
TERMS: Final[dict[str, LiteralString]] = {
    "relevance": """
        {distance_weight} * s.distance * %(distance_scale)s::double precision / (1 + {text_divisor} * s.text)
    """,
    "text": "- {text_weight} * s.text",
    "salience": "- {salience} * s.salience",
    "usefulness": "- {usefulness} * s.usefulness",
    "recency": "- {recency} * s.recency",
    "confidence": "- {confidence} * s.confidence",
    "popularity": "- {popularity} * s.popularity",
    "entity": "- {entity} * s.entity",
    "turns": "- s.lent",
}
PRIOR_TERMS: Final = ("salience", "usefulness", "recency", "confidence", "popularity")

# Ages stay double precision: extract() is numeric and slow per row. The exponent is capped because a power that
# underflows is an error in PostgreSQL.
STATE_SIGNALS: Final = """
    m.salience::double precision AS salience, m.usefulness_score::double precision AS usefulness,
    power(0.5::double precision, least(1000, greatest(0,
        date_part('epoch', %(now)s::timestamptz - m.created_at) / (86400 * {half_life})))) AS recency,
    m.confidence::double precision AS confidence,
    ln((m.retrieval_count + 1)::double precision) AS popularity
"""

# What one posting adds to the lexical score, by the profile's measure. ts_rank of an OR query (normalisation 0, all
# words of weight D) is, per distinct query word, 0.1 / (π²/6) · Σ 1/j² over its occurrences.
TS_RANK_OF_ONE: Final = 0.06079271
POSTING_TS_RANK: Final = """
    {one} * CASE p.tf WHEN 1 THEN 1 WHEN 2 THEN 1.25 WHEN 3 THEN 1.361 ELSE 1.5 END
        / %(term_count)s::double precision
"""
POSTING_BM25: Final = """
    q.weight * p.tf / (p.tf + {k1} * (1 - {b} + {b} * p.length / %(average_length)s::double precision))
"""


def double(value: float) -> sql.Composed:
    """A number as a double precision literal: a bare one would be numeric, and slow per row."""
    return sql.SQL("{}::double precision").format(sql.Literal(float(value)))


def terms(profile: RankingProfile) -> dict[str, sql.Composed]:
    """Each term of the formula as an SQL expression over the columns of `s`."""
    names = ("distance_weight", "text_divisor", "text_weight", *PRIOR_TERMS, "entity")
    weights = {name: double(getattr(profile, name)) for name in names}
    return {name: sql.SQL(term).format(**weights) for name, term in TERMS.items()}


def ranking_order_by(profile: RankingProfile) -> sql.Composed:
    """The whole formula, lower is better, over a relation `s` of signals: what every ranking statement orders by."""
    return sql.SQL(" ").join(terms(profile).values())


def prior(profile: RankingProfile) -> sql.Composed:
    """The part of the formula that no query changes, over the columns of `s`; negative, lower is better."""
    found = terms(profile)
    return sql.SQL(" ").join(found[name] for name in PRIOR_TERMS)


def state_signals(profile: RankingProfile) -> sql.Composed:
    """The signals that come from memory_state alone."""
    return sql.SQL(STATE_SIGNALS).format(half_life=double(profile.recency_half_life_days))


def posting_score(profile: RankingProfile) -> sql.Composed:
    """What one posting `p` of query term `q` adds to the profile's lexical score.

    `q.weight` is the term's share of what a memory could reach at most (BM25 only); bound are `average_length`, the
    space's, and `term_count`, the query's, neither of them 0.
    """
    if profile.text is TextTerm.TS_RANK:
        return sql.SQL(POSTING_TS_RANK).format(one=double(TS_RANK_OF_ONE))
    return sql.SQL(POSTING_BM25).format(k1=double(profile.bm25.k1), b=double(profile.bm25.b))


def one_occurrence(profile: RankingProfile, term_count: int, share: float) -> float:
    """What a single occurrence in a memory of average length adds; `share` as `q.weight` of `posting_score`."""
    if profile.text is TextTerm.TS_RANK:
        return TS_RANK_OF_ONE / max(1, term_count)
    return share / (1 + profile.bm25.k1)


def all_of(conditions: Iterable[sql.Composable]) -> sql.Composed:
    """Conditions joined by AND; true when there is none."""
    return sql.SQL(" AND ").join([*conditions] or [sql.SQL("true")])
