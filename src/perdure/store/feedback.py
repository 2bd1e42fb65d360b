"""What being retrieved does to memories: count, clocks, salience and usefulness, by one statement on current values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from perdure.rules.salience import BOOST
from perdure.rules.usefulness import STEP
from perdure.store.database import SpaceTransaction
from perdure.store.decay import settling

# A text is one thing: its chunks are counted and boosted together, and useful if any of them was.
TRACK: Final = """
    WITH told AS MATERIALIZED (
        SELECT coalesce(w.chunk_of, w.id) AS root, bool_or(t.useful) AS useful
        FROM unnest(%(ids)s::bigint[], %(useful)s::boolean[]) AS t (memory_id, useful)
        JOIN memories w ON w.space_id = %(space_id)s AND w.id = t.memory_id
        GROUP BY coalesce(w.chunk_of, w.id)
    ),
    retrieved AS MATERIALIZED (
        SELECT r.root AS memory_id, r.useful FROM told r
        UNION ALL
        SELECT c.id, r.useful FROM told r JOIN memories c ON c.space_id = %(space_id)s AND c.chunk_of = r.root
    )
    UPDATE memory_state m
    SET retrieval_count = m.retrieval_count + 1,
        last_retrieved_at = greatest(m.last_retrieved_at, %(now)s::timestamptz),
        salience = CASE WHEN %(every)s::boolean OR (t.useful IS NOT FALSE
                                           AND (m.boosted_on IS NULL OR m.boosted_on < %(today)s::date))
            THEN least(10, {settled} + %(boost)s::double precision * (1 - {settled} / 10))
            ELSE {settled} END,
        boosted_on = CASE WHEN %(every)s::boolean OR t.useful IS NOT FALSE
            THEN greatest(m.boosted_on, %(today)s::date) ELSE m.boosted_on END,
        decayed_at = {decayed_at},
        usefulness_score = CASE t.useful
            WHEN TRUE THEN {settled_usefulness} + %(step)s::double precision * (1 - {settled_usefulness})
            WHEN FALSE THEN {settled_usefulness} - %(step)s::double precision * {settled_usefulness}
            ELSE {settled_usefulness} END,
        regressed_at = {regressed_at}
    FROM retrieved t
    WHERE m.space_id = %(space_id)s AND m.memory_id = t.memory_id AND m.superseded_at IS NULL
      AND (m.audience IS NULL OR m.audience = %(audience)s)
    RETURNING m.memory_id
"""


async def track(
    tx: SpaceTransaction, verdicts: Mapping[int, bool | None], *, audience: str | None, every: bool
) -> tuple[int, ...]:
    """Counts one retrieval of these memories, and of all chunks of their texts; returns the ids of those counted.

    What is not there, not live or not this audience's is left out. Two that run at once lose nothing of each other.

    Args:
        verdicts: by id, whether the memory was useful; None where nobody can say.
        audience: who retrieved them.
        every: whether salience rises each time; else at the first retrieval of a day (UTC) that wasn't useless.
    """
    params = {
        "ids": list(verdicts),
        "useful": list(verdicts.values()),
        "audience": audience,
        "every": every,
        "today": tx.now.date(),
        "boost": BOOST,
        "step": STEP,
    }
    return tuple(sorted(row["memory_id"] for row in await tx.fetch_all(settling(TRACK), params)))
