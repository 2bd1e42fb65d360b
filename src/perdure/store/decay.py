"""Decay in SQL: what a row of memory_state is worth by now; `rules.decay` is the reference.

Salience and the clocks that decay is counted from are written together: whoever changes one of them settles first what
is due up to `now`, with the expressions below, and moves the clock there. So ticks may come hourly or yearly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log
from typing import Final, LiteralString

from psycopg import sql

from perdure.rules import decay
from perdure.rules.salience import HIGHEST
from perdure.store.database import SpaceTransaction
from perdure.store.ranking_sql import double
from perdure.store.statements import kept

# All of it over a row `m` of memory_state. Ages stay double precision, and no interval is added to a column: extract()
# is numeric and slow per row, and the sum isn't immutable (docs/sql.md, rule 14).
DAYS_SINCE: Final = "greatest(0, date_part('epoch', %(now)s::timestamptz - {clock}) / {day})"

# The exponent is capped where the greatest salience has long come down to the floor: one that underflows is an error.
SETTLED_SALIENCE: Final = """
    CASE WHEN {exempt} OR NOT %(decays)s::boolean THEN m.salience::double precision
    ELSE greatest(1, m.salience * exp(greatest({lowest_exponent},
        {usual} * {since} + CASE WHEN m.retrieval_count = 0
            THEN {further} * least({since}, greatest(0, {age} - {unretrieved_age})) ELSE 0 END)))
    END
"""

SETTLED_USEFULNESS: Final = """
    CASE WHEN {exempt} OR NOT %(decays)s::boolean THEN m.usefulness_score::double precision
    ELSE {centre} + (m.usefulness_score - {centre}) * exp(greatest(-700, {rate} * least({since},
        greatest(0, {idle} - {regression_idle}))))
    END
"""

EXEMPT: Final = "(m.pinned OR m.memory_type = 'identity')"

READ_SETTLED: Final = """
    SELECT m.memory_id, {settled} AS salience FROM memory_state m
    WHERE m.space_id = %(space_id)s AND m.memory_id = ANY(%(ids)s)
"""

LATER_OF: Final = "greatest(m.{clock}, %(now)s::timestamptz)"


@cache
def settled() -> sql.Composed:
    """SETTLED: the salience of row `m`, in double precision, once the decay due up to `now` is taken off."""
    return sql.SQL(SETTLED_SALIENCE).format(
        exempt=sql.SQL(EXEMPT),
        since=_days_since(sql.SQL("m.decayed_at")),
        age=_days_since(sql.SQL("m.created_at")),
        unretrieved_age=double(decay.UNRETRIEVED_AGE_DAYS),
        usual=double(log(decay.PER_DAY)),
        further=double(log(decay.UNRETRIEVED_PER_DAY) - log(decay.PER_DAY)),
        lowest_exponent=double(-log(HIGHEST) - 1),
    )


@cache
def settled_usefulness() -> sql.Composed:
    """The usefulness of row `m`, in double precision, once it has gone back towards 0.5 as far as is due."""
    return sql.SQL(SETTLED_USEFULNESS).format(
        exempt=sql.SQL(EXEMPT),
        centre=double(decay.USEFULNESS_CENTRE),
        rate=double(log(1 - decay.REGRESSION_PER_DAY)),
        since=_days_since(sql.SQL("m.regressed_at")),
        idle=_days_since(sql.SQL("coalesce(m.last_retrieved_at, m.created_at)")),
        regression_idle=double(decay.REGRESSION_IDLE_DAYS),
    )


@cache
def settling(statement: LiteralString) -> sql.SQL:
    """A statement over `memory_state m`, with its slots filled in.

    They are {settled} and {settled_usefulness}, and {decayed_at} and {regressed_at}: what the clocks are set to. A
    clock never goes back, whatever the time of a transaction: what was settled once isn't due again.
    """
    return kept(
        sql.SQL(statement).format(
            settled=settled(),
            settled_usefulness=settled_usefulness(),
            decayed_at=_later_of("decayed_at"),
            regressed_at=_later_of("regressed_at"),
        )
    )


async def read_settled(tx: SpaceTransaction, ids: Sequence[int]) -> dict[int, float]:
    """The salience of these memories by now, for those who carry it over to another one."""
    rows = await tx.fetch_all(settling(READ_SETTLED), {"ids": list(ids)})
    return {row["memory_id"]: row["salience"] for row in rows}


def _later_of(clock: str) -> sql.Composed:
    return sql.SQL(LATER_OF).format(clock=sql.Identifier(clock))


def _days_since(clock: sql.SQL) -> sql.Composed:
    return sql.SQL(DAYS_SINCE).format(clock=clock, day=double(86400))
