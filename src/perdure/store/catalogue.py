"""What the tables of a space are, read from the database itself: whoever copies or erases a space misses none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Final

from perdure.store.database import Transaction

COLUMNS: Final = """
    SELECT c.relname AS table_name, a.attname AS column_name,
        pg_get_serial_sequence(quote_ident(c.relname), a.attname) AS sequence
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      AND EXISTS (
          SELECT FROM pg_attribute s WHERE s.attrelid = c.oid AND s.attname = 'space_id' AND NOT s.attisdropped)
    ORDER BY c.relname, a.attnum
"""

KEYS: Final = """
    SELECT c.relname AS table_name, a.attname AS column_name
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid
    CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS p (attnum, place)
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.attnum
    WHERE k.contype = 'p' AND c.relnamespace = current_schema()::regnamespace
    ORDER BY c.relname, p.place
"""

REFERENCES: Final = """
    SELECT f.relname AS table_name, t.relname AS needs
    FROM pg_constraint k JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
    WHERE k.contype = 'f' AND k.conrelid <> k.confrelid AND f.relnamespace = current_schema()::regnamespace
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of spaces: the columns that are stored, without `space_id`; its key; and the sequences of its ids."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    sequences: Mapping[str, str]


async def tables_of_spaces(tx: Transaction) -> tuple[Table, ...]:
    """All tables with a `space_id`, those that others refer to first."""
    columns: dict[str, list[str]] = {}
    sequences: dict[str, dict[str, str]] = {}
    for row in await tx.fetch_all(COLUMNS):
        columns.setdefault(row["table_name"], []).append(row["column_name"])
        if row["sequence"] is not None:
            sequences.setdefault(row["table_name"], {})[row["column_name"]] = row["sequence"]
    keys: dict[str, list[str]] = {}
    for row in await tx.fetch_all(KEYS):
        keys.setdefault(row["table_name"], []).append(row["column_name"])
    needs: dict[str, set[str]] = {name: set() for name in sorted(columns)}
    for row in await tx.fetch_all(REFERENCES):
        if row["table_name"] in needs and row["needs"] in needs:
            needs[row["table_name"]].add(row["needs"])
    return tuple(
        Table(name, _without_space(columns[name]), _without_space(keys.get(name, [])), sequences.get(name, {}))
        for name in TopologicalSorter(needs).static_order()
    )


def _without_space(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name != "space_id")
