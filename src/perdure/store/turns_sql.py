"""What turns of a conversation lend each other, in SQL; `rules.turns` is the reference.

Rows come in strips: a conversation, or a few turns around each candidate. Each row sees the two turns before and the
two after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from psycopg import sql

from perdure.rules.ranking import RankingProfile
from perdure.rules.turns import GAP_S, TurnWeights
from perdure.store.ranking_sql import double

STRIP_REACH: Final = 3
"""Turns on each side of a candidate: its neighbours may be lifted into the answer, and need two around them too."""

# A few turns around each candidate, itself included, with what is known of them; `arm` says that a row is there for its
# neighbour's sake.
STRIPS: Final = """
    strips AS MATERIALIZED (
        SELECT DISTINCT ON (n.memory_id) n.memory_id = c.memory_id AS chosen,
            CASE WHEN n.memory_id = c.memory_id THEN c.arms ELSE {arm} END AS arms, {columns}
        FROM (
            SELECT h.memory_id, h.arms, m.conversation_id, m.source_date
            FROM chosen h
            JOIN memory_state m ON m.space_id = %(space_id)s AND m.memory_id = h.memory_id
            OFFSET 0
        ) c
        CROSS JOIN LATERAL (
            (SELECT {columns_of_state}
             FROM memory_state m
             WHERE m.space_id = %(space_id)s AND m.conversation_id = c.conversation_id
                 AND (m.source_date, m.memory_id) <= (c.source_date, c.memory_id) AND {live}
             ORDER BY m.source_date DESC, m.memory_id DESC LIMIT {reach} + 1)
            UNION ALL
            (SELECT {columns_of_state}
             FROM memory_state m
             WHERE m.space_id = %(space_id)s AND m.conversation_id = c.conversation_id
                 AND (m.source_date, m.memory_id) > (c.source_date, c.memory_id) AND {live}
             ORDER BY m.source_date, m.memory_id LIMIT {reach})
            UNION ALL
            SELECT {columns_of_state}
            FROM memory_state m
            WHERE c.conversation_id IS NULL AND m.space_id = %(space_id)s AND m.memory_id = c.memory_id AND {live}
        ) n
        ORDER BY n.memory_id, (n.memory_id <> c.memory_id)
    ),
"""

STATE_COLUMNS: Final = (
    *("memory_id", "memory_type", "audience", "conversation_id", "speaker", "is_question", "salience"),
    *("usefulness_score", "confidence", "retrieval_count", "term_count", "created_at", "source_date"),
    *("superseded_at", "signature"),
)
"""What ranking asks of a row of memory_state."""

# From `scored` to `signals`, the memories that may be returned: candidates, and the turns next to them. All rows stand
# in one line. Where a conversation has gaps in it, rows beside each other are no neighbours; but those around a memory
# that may be returned are, since its strip, or that of the candidate next to it, brought them. What stands beside a row
# is read from arrays, which costs a fifth of a window function for every trait of every neighbour.
IN_TURN: Final = """
    turns AS MATERIALIZED (
        SELECT s.place, s.x, s.is_question, {share} AS share,
            coalesce(s.strip = lag(s.strip) OVER c, false) AS joined,
            s.strip = lag(s.strip) OVER c AND s.speaker IS DISTINCT FROM lag(s.speaker) OVER c
                AND s.source_date - lag(s.source_date) OVER c <= {gap} AS after_other,
            s.memory_id, s.chosen, s.answers, s.distance, s.text, s.entity, s.arms, {columns}
        FROM (
            SELECT d.strip, d.speaker, d.source_date,
                row_number() OVER (ORDER BY d.strip, d.source_date, d.memory_id) AS place,
                {distance_weight} * (1 - d.distance * %(distance_scale)s::double precision)
                    + {text_weight} * d.text AS x,
                d.is_question, d.term_count, d.memory_id, d.chosen, d.answers, d.distance, d.text, d.entity, d.arms,
                {columns_of_scored}
            FROM scored d
            OFFSET 0
        ) s
        WINDOW c AS (ORDER BY s.place)
    ),
    around AS MATERIALIZED (
        SELECT array_agg(t.x ORDER BY t.place) AS x, array_agg(t.is_question ORDER BY t.place) AS is_question,
            array_agg(t.share ORDER BY t.place) AS share,
            array_agg(coalesce(t.after_other, false) ORDER BY t.place) AS after_other,
            array_agg(t.joined ORDER BY t.place) AS joined, array_agg(t.chosen ORDER BY t.place) AS chosen
        FROM turns t
    ),
    signals AS (
        SELECT t.memory_id, t.distance, t.text, t.entity, t.arms, {columns_of_turns}, {lent} AS lent
        FROM turns t
        CROSS JOIN around a
        WHERE t.answers AND (t.chosen
            OR (t.joined AND a.chosen[t.place - 1]) OR (a.joined[t.place + 1] AND a.chosen[t.place + 1]))
        OFFSET 0
    )
"""

SHARE: Final = "least(1, {length} / greatest(s.term_count, 1))"

LENT: Final = """
    t.share * (
        CASE WHEN t.after_other
        THEN ({previous} + CASE WHEN a.is_question[t.place - 1] THEN {answer} ELSE 0 END) * a.x[t.place - 1]
            + CASE WHEN a.after_other[t.place - 1] THEN {second} * a.x[t.place - 2] ELSE 0 END
        ELSE 0 END
        + CASE WHEN a.after_other[t.place + 1]
        THEN {following} * a.x[t.place + 1]
            + CASE WHEN a.after_other[t.place + 2] THEN {second} * a.x[t.place + 2] ELSE 0 END
        ELSE 0 END)
    - CASE WHEN t.is_question AND a.after_other[t.place + 1]
        THEN {hand_over} * a.share[t.place + 1] * t.x ELSE 0 END
"""

SIGNAL_COLUMNS: Final = ("salience", "usefulness", "recency", "confidence", "popularity")


def strips(live: sql.Composed, arm: int) -> sql.Composed:
    """The CTE `strips`, from `chosen (memory_id, arms)`."""
    return sql.SQL(STRIPS).format(
        live=live,
        arm=sql.Literal(arm),
        reach=sql.Literal(STRIP_REACH),
        columns=_columns("n", STATE_COLUMNS),
        columns_of_state=_columns("m", STATE_COLUMNS),
    )


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
        share=sql.SQL(SHARE).format(length=double(weights.length)),
        gap=sql.SQL("make_interval(secs => {})").format(double(GAP_S)),
        distance_weight=double(profile.distance_weight),
        text_weight=double(profile.text_weight),
        columns=_columns("s"),
        columns_of_scored=_columns("d"),
        columns_of_turns=_columns("t"),
    )


def _columns(alias: str, names: Sequence[str] = SIGNAL_COLUMNS) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(alias, name) for name in names)
