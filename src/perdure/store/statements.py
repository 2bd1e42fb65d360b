"""Statements that are put together from pieces, whatever they ask."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, LiteralString

from psycopg import sql

if TYPE_CHECKING:
    from perdure.store.database import Transaction

Part = tuple[LiteralString | sql.SQL, Mapping[str, object]]
"""A statement and its parameters."""

_PLACEHOLDER: Final = re.compile(r"%(?:\((\w+)\)s|%)")


@dataclass(frozen=True, slots=True)
class Numbered:
    """A statement with its values as $1, $2 and so on, in the order of `names`, as the server wants it.

    The driver translates names into numbers each time that it is handed a long statement: a millisecond for that of a
    ranking.
    """

    text: bytes
    names: tuple[str, ...]


def kept(statement: sql.Composed) -> sql.SQL:
    """A statement as one text, for those that are put together once and run often: its pieces are not walked again."""
    return sql.SQL(statement.as_string(None))


def numbered(statement: sql.Composable, space_id: int | None = None) -> Numbered:
    """The same with numbers for names, for the longest ones. Every value is a `%(name)s`.

    With `space_id` the space is part of the text: a plan that is kept for it knows how large this one is, where a plan
    for all spaces reckons with the average.
    """
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found.group(1)
        if name is None:
            return "%"
        if name == "space_id" and space_id is not None:
            return f"{space_id}::bigint"
        return f"${names.setdefault(name, len(names) + 1)}"

    text = _PLACEHOLDER.sub(number, statement.as_string(None))
    return Numbered(text.encode(), tuple(names))


async def write_together(tx: Transaction, parts: Sequence[Part]) -> int:
    """Runs statements that write different rows as one: a journey to the server costs more than what it writes.

    None of them sees what the others write, and no two have a parameter in common. Returns how many rows the last of
    them touched.
    """
    params: dict[str, object] = {}
    for _, given in parts:
        assert params.keys().isdisjoint(given), "two statements have a parameter in common"
        params |= given
    texts = [one if isinstance(one, str) else one.as_string(None) for one, _ in parts]
    return await tx.execute(_together(tuple(texts)), params)


@lru_cache(maxsize=128)
def _together(statements: tuple[LiteralString, ...]) -> sql.SQL:
    *first, last = map(sql.SQL, statements)
    if not first:
        return last
    members = [
        sql.SQL("{} AS ({})").format(sql.Identifier(f"part_{number}"), statement)
        for number, statement in enumerate(first)
    ]
    return kept(sql.SQL(" ").join([sql.SQL("WITH"), sql.SQL(", ").join(members), last]))
