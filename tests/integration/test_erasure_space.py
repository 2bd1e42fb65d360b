"""Of a space that is forgotten no table, no log and no dump holds a word, whatever tables there are."""

from __future__ import annotations

import asyncio
import logging
import secrets
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import psycopg
import pytest

from perdure import Memory, Message, NotFound, Space
from perdure.fact_types import Participant
from perdure.ingest import forgetting_space
from perdure.space_items import SpaceItems
from perdure.space_sessions import SpaceSessions
from perdure.store.database import SpaceTransaction
from perdure.store.embedded_os import programs_directory
from perdure.store.failed import record_failure
from perdure.store.queue import Queue, QueuedWork, enqueue
from perdure.types import SourceItem
from tests.doubles.chat_server import ChatServer
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.dumping import rows_of, tables_with
from tests.integration.test_cognition import save, trait, update
from tests.integration.test_facts_create import BOB, TURN, about, about_server

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls
    from tests.conftest import TestServer

SAID = datetime(2026, 2, 1, 9, tzinfo=UTC)
BY_CLOCKWORK = {
    "space_calibrations": "INSERT INTO space_calibrations SELECT %s, 1, 1, now(), 0, 0, 0, 0, 0",
    "upkeep_state": "INSERT INTO upkeep_state (space_id) VALUES (%s) ON CONFLICT DO NOTHING",
    "model_usage": "INSERT INTO model_usage SELECT %s, current_date, 'triage', 'thinker', 'm', false, 1, 0, 1, 1, 1",
    "metric_samples": "INSERT INTO metric_samples (space_id, metric, sampled_at, outcome, numbers) "
    "VALUES (%s, 'prompt', now(), 'done', '{}')",
    "personal_memory_vectors": "INSERT INTO personal_memory_vectors (space_id, memory_id, family_id, embedding) "
    "SELECT space_id, id, 1, '[1]' FROM personal_memories WHERE space_id = %s",
    "server_memory_vectors": "INSERT INTO server_memory_vectors (space_id, memory_id, family_id, embedding) "
    "SELECT space_id, id, 1, '[1]' FROM server_memories WHERE space_id = %s",
}
"""Tables that hold numbers alone, and are filled in quiet hours."""


@pytest.fixture
def canary() -> str:
    return f"zq{secrets.token_hex(5)}x"


def pg_dump(urls: ServerUrls) -> str:
    """The database as PostgreSQL's own program writes it: data and schema."""
    command = [str(programs_directory(None) / "pg_dump"), "--dbname", urls.owner]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "COPY public.memories" in done.stdout
    return done.stdout


def server_log(server_url: str) -> str:
    """What the server has written into its log so far."""
    with psycopg.connect(server_url) as owner:
        row = owner.execute("SELECT pg_read_file(pg_current_logfile())").fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
async def answering(urls: ServerUrls, embedder: HashedEmbedder, chat: ChatServer, canary: str) -> AsyncIterator[Memory]:
    """A memory whose models say the canary, too."""
    updates = [update("location", f"near {canary}", [1])]
    chat.answer("consolidation", {"profile_updates": updates, "trait_updates": [trait("tea", f"{canary} tea", [1])]})
    chat.answer("episode", {"summary": f"A day with {canary}", "tags": [canary]})
    async with open_memory(urls, embedder, thinker_url=chat.url, subagent_url=chat.url) as memory:
        yield memory


async def fill(space: Space, canary: str) -> None:
    """Says the canary by every way in."""
    memory = space._memory
    for n in range(4):
        await save(space, f"Ada walks with {canary} through the old harbour, part {n}.", salience=9, tags=[canary])
    await space.think()
    first = (await space.list(tags=[canary]))[0]
    await space.update(first.id, text=f"Ada walks with {canary} no more", metadata={"name": canary})
    await space.forget(await save(space, f"Forget {canary}", entities=[canary], operation_id=canary))
    await space.import_messages([Message(text=f"Read {canary}", external_id=canary, speaker=canary)], source=canary)
    await space.capture(user=f"Drained {canary}", assistant=canary, speaker=canary, conversation_id=canary)
    await space.drain()
    await fill_facts(space, canary)
    await memory.space(space.name, audience=canary).save(f"Private {canary}")
    await space.set_task(f"Look for {canary}")
    await space.add_document(f"A document on {canary}", name=f"{canary}.txt", uploaded_by=canary)
    await SpaceItems.of(space).put((canary,), canary, {"text": canary}, words=[canary])
    await SpaceSessions.of(space).add(canary, [{"role": "user", "content": canary}])
    await space.capture(user=f"Waits {canary}", operation_id=f"op {canary}")
    await space.archive([{"role": "user", "content": f"Archived {canary}"}])
    await space.bootstrap(f"I am {canary}")
    items = [SourceItem(kind, canary, canary, occurred_at=SAID) for kind in ("email", "calendar")]
    await space.import_items(items, source=canary, checkpoint={"at": canary})
    row = await memory.find_space(space.name)
    assert row is not None

    async def leave(tx: SpaceTransaction) -> None:
        work = QueuedWork(7, Queue.TRIAGE, "conversation", canary, None, canary, {"user": canary}, SAID, SAID, 1)
        await record_failure(tx, work, f"no answer to {canary}", answer=canary)
        await enqueue(
            tx, Queue.FOLLOWUP, "quality", {"ids": [first.id]}, audience=None, speaker=canary, occurred_at=SAID
        )

    await memory.resources.database.in_space(row.id, leave)
    async with memory.resources.database.owner() as owner:
        for statement in BY_CLOCKWORK.values():
            await owner.execute(statement, [row.id])


async def fill_facts(space: Space, canary: str) -> None:
    ghost = Participant(f"u-{canary}", f"Ada {canary}")
    persona = await space.persona(f"Momo {canary}")
    turn = replace(TURN, persona=persona, speaker=ghost, participants=(ghost, BOB), message_id=canary)
    await space.set_person(ghost.user_id, name=ghost.name, aliases=[canary])
    await space.set_personalised(ghost.user_id, canary, personalised=True)
    await space.set_server(canary, self_teaching_enabled=True)
    kept = await space.create_long_term_memory(turn, about(ghost.name, f"{{user}} owns {canary}"))
    gone = await space.create_long_term_memory(turn, about_server(f"They play {canary}"))
    await space.create_long_term_memory(turn, about_server(f"They sing {canary}"))
    for outcome, text in ((kept, f"{{user}} owned {canary}"), (gone, "")):
        assert (await space.update_long_term_memory(turn, {"memory_id": str(outcome.id), "memory_content": text})).ok
    await space.remember(f"{{user}} hides {canary}", about=f"person:{ghost.user_id}")
    await space.context(f"What does {canary} own?", state=turn)


async def test_nothing_is_left_of_a_space_in_any_table_that_the_catalogue_knows(
    test_server: TestServer, urls: ServerUrls, answering: Memory, canary: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    space, other = answering.space(f"space-{canary}"), answering.space(f"other-{secrets.token_hex(4)}")
    await other.save("I like figs")
    await fill(space, canary)
    row = await answering.find_space(space.name)
    assert row is not None
    filled = await rows_of(answering, row.id)
    # A new table is filled here, too, or this says nothing of it.
    assert [name for name, n in filled.items() if not n] == []
    preview = await space.preview_forget(everything=True)
    assert preview.removed == filled
    receipt = await space.forget_everything()
    assert receipt.removed == filled | {"spaces": 1}
    assert await tables_with(answering, canary) == []
    assert canary not in pg_dump(urls)
    assert set((await rows_of(answering, row.id)).values()) == {0}
    assert receipt.remains is not None
    assert set(filled) <= set(receipt.remains.vacuumed)
    assert receipt.remains.unvacuumed == ()
    assert [entry.kind for entry in await answering.audit(limit=1)] == ["forget_space"]
    assert [one.summary for one in await other.list()] == ["I like figs"]
    assert space.name not in {each.name for each in await answering.spaces()}
    assert canary not in caplog.text
    assert canary not in server_log(test_server.server_url)


async def test_a_process_that_remembers_the_space_begins_a_new_one(
    urls: ServerUrls, embedder: HashedEmbedder, memory: Memory, space: Space
) -> None:
    await space.save("I like figs")
    async with open_memory(urls, embedder) as elsewhere:
        there = elsewhere.space(space.name)
        assert len(await there.list()) == 1
        await memory.forget_space(space.name)
        with pytest.raises(NotFound):
            await there.save("I like plums")
        await there.save("I like plums")
        assert [one.summary for one in await there.list()] == ["I like plums"]
    assert [one.summary for one in await space.list()] == ["I like plums"]


async def test_what_is_being_written_while_a_space_is_forgotten_does_not_stay(memory: Memory, space: Space) -> None:
    await space.save("I like figs")
    row = await memory.find_space(space.name)
    assert row is not None
    begun, go = asyncio.Event(), asyncio.Event()

    async def write(tx: SpaceTransaction) -> None:
        begun.set()
        await go.wait()
        await enqueue(tx, Queue.TRIAGE, "conversation", {"user": "late"}, audience=None, speaker=None, occurred_at=SAID)

    late = asyncio.create_task(memory.resources.database.in_space(row.id, write))
    await begun.wait()
    forgetting = asyncio.create_task(memory.forget_space(space.name))
    await asyncio.sleep(0.3)
    go.set()
    await late
    await forgetting
    assert set((await rows_of(memory, row.id)).values()) == {0}


async def test_cut_off_in_between_nobody_finds_it_and_the_next_call_goes_on(
    memory: Memory, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting_space, "BATCH", 3)
    for n in range(7):
        await space.save(f"Number {n} of many")
    row = await memory.find_space(space.name)
    assert row is not None

    def stop(done: int) -> None:
        raise KeyError(done)

    with pytest.raises(KeyError):
        await memory.forget_space(space.name, progress=stop)
    assert sum((await rows_of(memory, row.id)).values()) > 0
    assert space.name not in {each.name for each in await memory.spaces()}
    one, two = await asyncio.gather(memory.forget_space(space.name), memory.forget_space(space.name))
    assert set((await rows_of(memory, row.id)).values()) == {0}
    assert one.removed.get("memories", 0) + two.removed.get("memories", 0) <= 7
    assert (await memory.forget_space(space.name)).removed == {}


async def test_without_an_owner_the_receipt_says_what_to_run(urls: ServerUrls, embedder: HashedEmbedder) -> None:
    async with Memory.open(
        database_url=urls.app, database_worker_url=urls.worker, embedder=embedder, worker=False
    ) as memory:
        space = memory.space(f"space-{secrets.token_hex(4)}")
        outcome = await space.save("I like figs")
        receipt = await space.forget(*outcome.ids)  # type: ignore[union-attr]
    remains = receipt.remains
    assert remains is not None
    assert remains.vacuumed == ()
    assert "memories" in remains.unvacuumed
    assert remains.run is not None
    assert "VACUUM memories, " in remains.run
    assert remains.wal_until > remains.at


async def test_rows_that_an_open_transaction_may_still_read_are_told_of(
    urls: ServerUrls, memory: Memory, space: Space
) -> None:
    ids = [await save(space, f"Number {n} of many") for n in range(2)]
    async with await psycopg.AsyncConnection.connect(urls.owner) as reader:
        await reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        await reader.execute("SELECT count(*) FROM memories")
        held = (await space.forget(ids[0])).remains
        await reader.rollback()
    assert held is not None
    assert "memories" in held.unvacuumed
    assert "still open" in held.dead_rows
    free = (await space.forget(ids[1])).remains
    assert free is not None
    assert (free.unvacuumed, free.run) == ((), None)
