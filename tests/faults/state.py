"""Everything that a space holds, in a form in which two spaces can be compared.

Every table that has a `space_id` is read, whatever later schemas add. Left out are the ids that a sequence hands out
and the times at which something was done, which no two runs share; a memory is named by what it says instead.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzLoader

State = dict[str, list[str]]
"""By table, its rows as sorted lines."""

QUEUES = ("pending_triage", "pending_distillation", "pending_followups")
AUDIT = "audit_log"
TIMES = {"prior_band", "valid_from", "valid_to", "boosted_on", "latency_ms", "day", "prompt_tokens"}
"""Besides times and what falls with them, what a prompt cost: what it quotes of other memories depends on what was
stored by then."""
SAID_AT = {"occurred_at", "observed_at"}
FADING = {"salience", "usefulness_score"}
"""What falls a little between two runs that are minutes apart; told in tenths."""
DERIVED = {"embedding", "sketch", "signature", "summary_tsv"}
"""Long values, shown by a digest."""
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
    "read_ids",
    "wrote_ids",
    "superseded_ids",
    "evidence_ids",
    "evidence",
    "about",
}
RUNNING = datetime(2026, 3, 2, 13, tzinfo=UTC)
"""The clock of every first run; those that follow are later, and what is dated by its run can't be compared closer."""
LONGEST = timedelta(hours=3)
HANDED_OUT = {
    "space_id",
    "queue_id",
    "digest",
    "run_id",
    "ended_by",
    "mark",
    "seen",
    "reflected",
    "consolidated",
    "document_id",
    "chunk_id",
    "fact",
}
"""Ids, and what is made of one: a digest of forgotten words is another in each space. How far a cognitive run has
looked moves on with every run, new or not."""
FIND_SPACE = "SELECT id FROM spaces WHERE name = %s"
TABLES = """
    SELECT c.relname AS name
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id' AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    ORDER BY 1
"""


class Endless(TimestamptzLoader):
    """Reads -infinity, which Python has no date for, as the first there is."""

    def load(self, data: Buffer) -> datetime:
        return datetime.min.replace(tzinfo=UTC) if bytes(data) == b"-infinity" else super().load(data)


def read_state(admin_url: str, space: str) -> State:
    """The state of one space, read by a superuser, past every policy and every cache."""
    with psycopg.connect(admin_url, row_factory=dict_row) as connection:
        connection.adapters.register_loader("timestamptz", Endless)
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
    lines = {name: [_line(name, row, words) for row in rows[name]] for name in rows if rows[name] or name in QUEUES}
    # What a batch does stands in one entry; where a kill parts it, in two.
    return {name: sorted(set(found) if name == AUDIT else found) for name, found in lines.items()}


def differences(expected: State, found: State, *, besides: Collection[str] = ()) -> list[str]:
    """What is missing and what is too much, table by table, `besides` left out."""
    told = []
    for name in sorted({*expected, *found} - set(besides)):
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
    if table == AUDIT:
        return " ".join((row["actor"], row["door"], row["kind"]))
    shown = _plain(row, words)
    if table == "memories":
        shown = {"memory": words[row["id"]], **shown}
    if table == "fact_scopes":
        del shown["revision"]  # it begins at the time
    return str(dict(sorted(shown.items())))


def _plain(row: Mapping[str, Any], words: Mapping[int, str]) -> dict[str, Any]:
    """What is comparable of a row, or of a document in it. That something was done is, when it was done is not."""
    shown: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_at") and name not in SAID_AT:
            shown[name] = value is not None
        elif name in MEMORY_IDS or (name == "id" and row.get("status") == "merged"):
            shown[name] = _named(value, words)
        elif name == "external_id" and row.get("kind") == "memory":
            shown[name] = _named(int(value), words)
        elif name != "id" and name not in HANDED_OUT | TIMES:
            shown[name] = _value(name, value, words)
    return shown


def _value(name: str, value: Any, words: Mapping[int, str]) -> Any:
    if isinstance(value, datetime):
        return "when it ran" if RUNNING <= value < RUNNING + LONGEST else value.isoformat()
    if isinstance(value, Mapping):
        return _plain(value, words)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if name in FADING:
        return int(10 * value + 0.2)
    return hashlib.sha256(str(value).encode()).hexdigest()[:12] if name in DERIVED else value


def _named(value: Any, words: Mapping[int, str]) -> Any:
    if isinstance(value, list | tuple):
        return [_named(each, words) for each in value]
    return words.get(value, "gone") if isinstance(value, int) else value
