"""A database of the first version, with everything in it that the second changes, goes on working."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import perdure.store.migrate as migrate_module
from perdure import SimulatedClock
from perdure.store.migrate import migrate, migrations
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

# As the first version wrote it: one memory, one exchange that waits, one that is leased, one that was given up.
OLD_DATA = """
    INSERT INTO spaces (id, name, created_at) VALUES (1, 'ada', '2026-02-01Z');
    INSERT INTO space_state (space_id, memories, terms) VALUES (1, 1, 2);
    INSERT INTO memories (space_id, id, summary, search_text, source, trust)
        VALUES (1, 1, 'Ada sings', 'ada sing', 'user', 'user');
    INSERT INTO memory_state (space_id, memory_id, created_at, source_date, decayed_at, regressed_at, term_count)
        VALUES (1, 1, '2026-02-01Z', '2026-02-01Z', '2026-02-01Z', '2026-02-01Z', 2);
    INSERT INTO memory_evidence (space_id, memory_id, kind, external_id) VALUES (1, 1, 'exchange', 'op-1');
    INSERT INTO pending_triage (space_id, id, conversation_id, payload, occurred_at, enqueued_at, attempts, not_before,
                                lease_holder, lease_until)
        VALUES (1, 1, 'c', '{"user": "I moved to Rome", "assistant": "", "tools": [], "operation_id": "op-2"}',
                '2026-02-02Z', '2026-02-02Z', 2, '2026-02-02Z', NULL, NULL),
               (1, 2, '', '{"user": "I like figs", "assistant": "", "tools": [], "operation_id": "op-3"}',
                '2026-02-02Z', '2026-02-02Z', 0, '2026-02-02Z', 'dead worker', '2026-03-01 12:05Z');
    INSERT INTO failed_operations (space_id, op_type, label, error, created_at, context)
        VALUES (1, 'triage', 'exchange 9', 'broken', '2026-02-03Z', '{"id": 9, "conversation_id": "d", "attempts": 2,
            "audience": null, "speaker": "Ada", "occurred_at": "2026-02-02T12:00:00+00:00",
            "payload": {"user": "I have a dog", "assistant": "", "tools": [], "operation_id": "op-4"}}');
    SELECT setval('spaces_id_seq', 1), setval('memories_id_seq', 1), setval('pending_triage_id_seq', 2);
"""


@pytest.fixture
def first_version(empty_database: ServerUrls, tmp_path: Path) -> ServerUrls:
    """A database that the first migration made, with data in it, on which the others have run since."""
    directory = Path(migrate_module.__file__).parent / "migrations"
    shutil.copy(directory / "0001_first_memory.sql", tmp_path)
    assert migrate(empty_database.owner, directory=tmp_path) == ["0001_first_memory"]
    with psycopg.connect(empty_database.owner) as owner:
        owner.execute(OLD_DATA)
    assert migrate(empty_database.owner) == [migration.name for migration in migrations()][1:]
    return empty_database


async def test_what_waited_or_was_given_up_becomes_memories_once_each(first_version: ServerUrls) -> None:
    clock = SimulatedClock(NOW)
    async with open_memory(first_version, HashedEmbedder(), clock=clock) as memory:
        ada = memory.space("ada")
        assert (await ada.get(1)).conflicts_with == ()
        assert len(await ada.failed()) == 1
        assert (await ada.failed_context(1))["payload"]["user"] == "I have a dog"
        assert await ada.replay_failed() == (1,)
        assert (await ada.stats()).pending == 3
        assert (await ada.drain(timeout_s=0.1)).done == 2
        clock.advance(timedelta(minutes=6))
        assert (await ada.drain()).done == 1
        assert sorted(m.summary for m in await ada.list()) == [
            "Ada sings",
            "I have a dog",
            "I like figs",
            "I moved to Rome",
        ]


def test_rows_of_the_queue_say_what_they_are_and_when_they_are_due(first_version: ServerUrls) -> None:
    with psycopg.connect(first_version.owner) as owner:
        rows = owner.execute("SELECT kind, attempts, due_at FROM pending_triage ORDER BY id").fetchall()
    assert rows == [
        ("conversation", 2, datetime(2026, 2, 2, tzinfo=UTC)),
        ("conversation", 0, datetime(2026, 3, 1, 12, 5, tzinfo=UTC)),
    ]
