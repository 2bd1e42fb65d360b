"""What was told, as opposed to what was concluded from it: the same in every statement that tells them apart."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, LiteralString

from psycopg import sql

from perdure.store.statements import kept
from perdure.types import CONCLUDED_SOURCES, CONCLUDED_TYPES

# Over a row `m` of memory_state, and over a row `w` of memories.
BY_TYPE: Final = "m.memory_type NOT IN ({types})"
BY_SOURCE: Final = "w.source NOT IN ({sources})"


@cache
def telling(statement: LiteralString) -> sql.SQL:
    """A statement with its slots filled in: {told} over `m`, and {told_by_somebody} over `w` besides.

    The latter leaves out what consolidation merged, too, which has the type of what it was made of.
    """
    told = sql.SQL(BY_TYPE).format(types=_list(kind.value for kind in CONCLUDED_TYPES))
    by_somebody = sql.SQL(BY_SOURCE).format(sources=_list(CONCLUDED_SOURCES))
    return kept(sql.SQL(statement).format(told=told, told_by_somebody=by_somebody))


def _list(values: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Literal, sorted(values)))
