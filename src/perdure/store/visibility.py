"""What a retrieval may return: the conditions that audience and filters put on rows `m` of memory_state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg import sql

from perdure.rules.facets import facet_keys
from perdure.store.ranking_sql import all_of
from perdure.types import HIDDEN_TYPES, Filters

FACET: Final = """
    EXISTS (SELECT 1 FROM memory_facets f
            WHERE f.space_id = %(space_id)s AND f.key = {key} AND f.memory_id = m.memory_id)
"""

# Known by then, and what it was then: whatever changed afterwards is answered from its history (`as_of`).
UNCHANGED_SINCE: Final = """
    least({table}.created_at, {table}.source_date) <= %(as_of)s::timestamptz
    AND NOT EXISTS (SELECT 1 FROM memory_history h
                    WHERE h.space_id = %(space_id)s AND h.memory_id = {table}.memory_id AND h.valid_to > %(as_of)s)
"""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Which conditions a query puts on rows, without their values: those are bound by `filter_params`."""

    audience: bool
    memory_type: bool
    conversation: bool
    since: bool
    until: bool
    facets: int
    as_of: bool = False


def conditions_of(
    filters: Filters, audience: str | None, facets: Sequence[str], as_of: datetime | None = None
) -> Conditions:
    """The conditions of a query, as what its statements are kept under."""
    return Conditions(
        audience=audience is not None,
        memory_type=filters.memory_type is not None,
        conversation=filters.conversation_id is not None,
        since=filters.since is not None,
        until=filters.until is not None,
        facets=len(facets),
        as_of=as_of is not None,
    )


def visible(asked: Conditions) -> sql.Composed:
    """Which rows `m` of memory_state the query may return."""
    conditions: list[sql.Composable] = [live(asked, "m")]
    if not asked.memory_type:
        hidden = sql.SQL(", ").join(sql.Literal(kind.value) for kind in sorted(HIDDEN_TYPES))
        conditions.append(sql.SQL("m.memory_type NOT IN ({})").format(hidden))
    conditions += state_conditions(asked)
    conditions += [sql.SQL(FACET).format(key=sql.Placeholder(f"facet_{i}")) for i in range(asked.facets)]
    return all_of(conditions)


def live(asked: Conditions, alias: str) -> sql.Composed:
    """Rows that count at all for this audience: not superseded, and not said to somebody else.

    Of a time in the past only rows that have not changed since.
    """
    table = sql.Identifier(alias)
    conditions = [sql.SQL("{}.superseded_at IS NULL").format(table), audience_condition(asked, alias)]
    if asked.as_of:
        conditions.append(sql.SQL(UNCHANGED_SINCE).format(table=table))
    return all_of(conditions)


def audience_condition(asked: Conditions, alias: str) -> sql.Composed:
    """Rows said to the whole space, or to this audience; without one, only the former."""
    table = sql.Identifier(alias)
    if not asked.audience:
        return sql.SQL("{}.audience IS NULL").format(table)
    return sql.SQL("({}.audience IS NULL OR {}.audience = %(audience)s)").format(table, table)


def state_conditions(asked: Conditions) -> list[sql.Composable]:
    """The filters that memory_state itself answers, one condition each: type, conversation, time."""
    found: list[sql.Composable] = []
    if asked.memory_type:
        found.append(sql.SQL("m.memory_type = %(memory_type)s"))
    if asked.conversation:
        found.append(sql.SQL("m.conversation_id = %(conversation_id)s"))
    bounds: list[sql.Composable] = []
    if asked.since:
        bounds.append(sql.SQL("m.source_date >= %(since)s::timestamptz"))
    if asked.until:
        bounds.append(sql.SQL("m.source_date < %(until)s::timestamptz"))
    return [*found, all_of(bounds)] if bounds else found


def facets_of(filters: Filters) -> tuple[str, ...]:
    """The filters that memory_facets answers, one key each; their texts were folded at the door."""
    return facet_keys(tags=filters.tags, source=filters.source, speaker=filters.speaker, metadata=filters.metadata)


def filter_params(
    filters: Filters, audience: str | None, facets: Sequence[str], as_of: datetime | None = None
) -> dict[str, object]:
    """The bound parameters of `visible`."""
    return {
        "as_of": as_of,
        "audience": audience,
        "memory_type": None if filters.memory_type is None else filters.memory_type.value,
        "conversation_id": filters.conversation_id,
        "since": filters.since,
        "until": filters.until,
        **{f"facet_{i}": key for i, key in enumerate(facets)},
    }
