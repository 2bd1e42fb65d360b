"""Everything that a space holds, in a form in which two spaces can be compared.

Every table that has a `space_id` is read, whatever later schemas add. Left out are the ids that a sequence hands out
and the times at which something was done, which no two runs share; a memory is named by what it says instead.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

State = dict[str, list[str]]
"""By table, its rows as sorted lines."""

QUEUES = ("pending_triage", "pending_distillation", "pending_followups")
TIMES = {"valid_from", "valid_to", "boosted_on", "latency_ms", "day"}
MEMORY_IDS = {
    "memory_id",
    "chunk_of",
    "superseded_by",
    "related_ids",
    "conflicts_with",
    "ids",
    "replaces",
    "old",
    "new",
    "root",
    "recalled_ids",
}
HANDED_OUT = {"space_id", "queue_id"}
FIND_SPACE = "SELECT id FROM spaces WHERE name = %s"
TABLES = """
    SELECT c.relname AS name
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id' AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    ORDER BY 1
"""


def read_state(admin_url: str, space: str) -> State:
    """The state of one space, read by a superuser, past every policy and every cache."""
    with psycopg.connect(admin_url, row_factory=dict_row) as connection:
        found = connection.execute(FIND_SPACE, [space]).fetchone()
        if found is None:
            return {}
        names = [row["name"] for row in connection.execute(TABLES)]
        rows = {
            name: connection.execute(
                sql.SQL("SELECT * FROM {} WHERE space_id = %s ORDER BY 1, 2").format(sql.Identifier(name)),
                [found["id"]],
            ).fetchall()
            for name in names
        }
    words = _words_of(rows["memories"])
    return {
        name: sorted(_line(name, row, words) for row in rows[name]) for name in rows if rows[name] or name in QUEUES
    }


def differences(expected: State, found: State) -> list[str]:
    """What is missing and what is too much, table by table."""
    told = []
    for name in sorted({*expected, *found}):
        wanted, there = Counter(expected.get(name, ())), Counter(found.get(name, ()))
        told += [f"{name}: missing {line}" for line in (wanted - there).elements()]
        told += [f"{name}: too much {line}" for line in (there - wanted).elements()]
    return told


def waiting(state: State) -> list[str]:
    """What is still queued, or was given up."""
    return [f"{name}: {line}" for name in (*QUEUES, "failed_operations") for line in state.get(name, ())]


def _words_of(memories: list[dict[str, Any]]) -> dict[int, str]:
    seen: Counter[str] = Counter()
    words = {}
    for row in sorted(memories, key=lambda row: row["id"]):
        text = f"{row['speaker']}: {row['summary'][:60]} ({hashlib.sha256(row['summary'].encode()).hexdigest()[:8]})"
        seen[text] += 1
        words[row["id"]] = f"{text} #{seen[text]}"
    return words


def _line(table: str, row: Mapping[str, Any], words: Mapping[int, str]) -> str:
    shown = _plain(row, words)
    if table == "memories":
        shown = {"memory": words[row["id"]], **shown}
    return str(dict(sorted(shown.items())))


def _plain(row: Mapping[str, Any], words: Mapping[int, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in row.items():
        if name in HANDED_OUT or name in TIMES or (name.endswith("_at") and name not in {"occurred_at", "observed_at"}):
            # That it happened is compared, when it did is not.
            if name.endswith("_at"):
                shown[name] = value is not None
            continue
        if name in MEMORY_IDS:
            shown[name] = _named(value, words)
        elif name == "id":
            if row.get("status") == "merged":
                shown[name] = _named(value, words)
        elif isinstance(value, Mapping):
            shown[name] = _plain(value, words)
        elif isinstance(value, bytes | memoryview):
            shown[name] = bytes(value).hex()
        elif name in {"embedding", "sketch", "signature", "summary_tsv"}:
            shown[name] = hashlib.sha256(str(value).encode()).hexdigest()[:12]
        else:
            shown[name] = value
    return shown


def _named(value: Any, words: Mapping[int, str]) -> Any:
    if isinstance(value, list | tuple):
        return [_named(each, words) for each in value]
    return words.get(value, "gone") if isinstance(value, int) else value
