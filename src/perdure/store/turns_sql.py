"""What turns of a conversation lend each other, in SQL; `rules.turns` is the reference.

Rows come in strips: a conversation, or a few turns around a candidate. Within its strip each row sees the two turns
before and the two after it.
"""

from __future__ import annotations

from typing import Final

from psycopg import sql

from perdure.rules.ranking import RankingProfile
from perdure.rules.turns import GAP_S, TurnWeights
from perdure.store.ranking_sql import double

STRIP_REACH: Final = 3
"""Turns on each side of a candidate: its neighbours may be lifted into the answer, and need two around them too."""

# A few turns around each candidate, itself included; `arm` says that a row is there for its neighbour's sake.
STRIPS: Final = """
    strips AS MATERIALIZED (
        SELECT c.memory_id AS strip, n.memory_id, n.place, CASE WHEN n.place = 0 THEN c.arms ELSE {arm} END AS arms
        FROM chosen c
        JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = c.memory_id
        CROSS JOIN LATERAL (
            SELECT c.memory_id AS memory_id, 0::bigint AS place
            UNION ALL
            (SELECT x.memory_id, - row_number() OVER (ORDER BY x.source_date DESC, x.memory_id DESC)
             FROM memory_state x
             WHERE x.space_id = %(space_id)s AND x.conversation_id = m.conversation_id
                 AND (x.source_date, x.memory_id) < (m.source_date, m.memory_id) AND {live}
             ORDER BY x.source_date DESC, x.memory_id DESC LIMIT {reach})
            UNION ALL
            (SELECT x.memory_id, row_number() OVER (ORDER BY x.source_date, x.memory_id)
             FROM memory_state x
             WHERE x.space_id = %(space_id)s AND x.conversation_id = m.conversation_id
                 AND (x.source_date, x.memory_id) > (m.source_date, m.memory_id) AND {live}
             ORDER BY x.source_date, x.memory_id LIMIT {reach})
        ) n
    ),
"""

# From `scored` (one row per strip and memory) to `signals` (one row per memory that may be returned). A memory that
# stands in several strips is told the same in each; the arms that brought it are kept before its neighbours'.
IN_TURN: Final = """
    turns AS MATERIALIZED (
        SELECT s.memory_id, s.answers, s.distance, s.text, s.entity, s.arms, {columns},
            s.is_question, s.x, {share_of_own} AS share,
            s.speaker IS DISTINCT FROM lag(s.speaker) OVER c
                AND s.source_date - lag(s.source_date) OVER c <= {gap} AS after_other,
            lag(s.speaker) OVER c IS DISTINCT FROM lag(s.speaker, 2) OVER c
                AND lag(s.source_date) OVER c - lag(s.source_date, 2) OVER c <= {gap} AS after_two,
            s.speaker IS DISTINCT FROM lead(s.speaker) OVER c
                AND lead(s.source_date) OVER c - s.source_date <= {gap} AS before_other,
            lead(s.speaker) OVER c IS DISTINCT FROM lead(s.speaker, 2) OVER c
                AND lead(s.source_date, 2) OVER c - lead(s.source_date) OVER c <= {gap} AS before_two,
            lag(s.x) OVER c AS previous, lag(s.is_question) OVER c AS asked, lag(s.x, 2) OVER c AS second_previous,
            lead(s.x) OVER c AS following, lead(s.x, 2) OVER c AS second_following,
            lead({share_of_own}) OVER c AS share_of_following
        FROM (
            SELECT d.strip, d.memory_id, d.answers, d.distance, d.text, d.entity, d.arms,
                {columns_of_scored}, d.speaker, d.is_question, d.term_count, d.source_date,
                {distance_weight} * (1 - d.distance * %(distance_scale)s::double precision)
                    + {text_weight} * d.text AS x
            FROM scored d
            OFFSET 0
        ) s
        WINDOW c AS (PARTITION BY s.strip ORDER BY s.source_date, s.memory_id)
    ),
    signals AS (
        SELECT DISTINCT ON (t.memory_id) t.memory_id, t.distance, t.text, t.entity, t.arms,
            {columns_of_turns}, {lent} AS lent
        FROM turns t
        WHERE t.answers
        ORDER BY t.memory_id, t.arms
        OFFSET 0
    )
"""

SHARE: Final = "least(1, {length} / greatest(s.term_count, 1))"

LENT: Final = """
    t.share * (
        CASE WHEN t.after_other THEN ({previous} + CASE WHEN t.asked THEN {answer} ELSE 0 END) * t.previous ELSE 0 END
        + CASE WHEN t.before_other THEN {following} * t.following ELSE 0 END
        + {second} * (
            CASE WHEN t.after_other AND t.after_two THEN t.second_previous ELSE 0 END
            + CASE WHEN t.before_other AND t.before_two THEN t.second_following ELSE 0 END))
    - CASE WHEN t.is_question AND t.before_other THEN {hand_over} * t.share_of_following * t.x ELSE 0 END
"""

SIGNAL_COLUMNS: Final = ("salience", "usefulness", "recency", "confidence", "popularity")


def strips(live: sql.Composed, arm: int) -> sql.Composed:
    """The CTE `strips`, from `chosen (memory_id, arms)`."""
    return sql.SQL(STRIPS).format(live=live, arm=sql.Literal(arm), reach=sql.Literal(STRIP_REACH))


def in_turn(profile: RankingProfile, weights: TurnWeights) -> sql.Composed:
    """The CTEs `turns` and `signals`, from `scored`."""
    lent = sql.SQL(LENT).format(
        previous=double(weights.previous),
        answer=double(weights.answer),
        following=double(weights.following),
        second=double(weights.second),
        hand_over=double(weights.hand_over),
    )
    return sql.SQL(IN_TURN).format(
        lent=lent,
        share_of_own=sql.SQL(SHARE).format(length=double(weights.length)),
        gap=sql.SQL("make_interval(secs => {})").format(double(GAP_S)),
        distance_weight=double(profile.distance_weight),
        text_weight=double(profile.text_weight),
        columns=_columns("s"),
        columns_of_scored=_columns("d"),
        columns_of_turns=_columns("t"),
    )


def _columns(alias: str) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(alias, name) for name in SIGNAL_COLUMNS)
