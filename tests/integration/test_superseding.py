"""What newer truth replaces stays as a tombstone that can be brought back; scores, entities and conflicts are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from perdure import Conflict, Memory, Space, StoredMemory
from perdure.ingest.keys import stored_postings
from perdure.store import changes, evidence
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, read_rows
from perdure.store.queue import Queue, enqueue
from perdure.store.sketches import signature
from perdure.store.spaces import lock_space
from perdure.types import Evidence, Trust

T = TypeVar("T")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG = "\n\n".join(f"Paragraph {n}: " + "the harbour was rebuilt in stone after the flood. " * 12 for n in range(4))


class Shelf:
    """A space, and what the pipelines do to it under its lock."""

    def __init__(self, space: Space) -> None:
        self.space = space

    async def run(self, work: Callable[[SpaceTransaction], Awaitable[T]]) -> T:
        row = await self.space._memory.find_space(self.space.name)
        assert row is not None

        async def locked(tx: SpaceTransaction) -> T:
            await lock_space(tx)
            return await work(tx)

        return await self.space._memory.resources.database.in_space(row.id, locked, writer=True)

    async def save(self, text: str, **given: object) -> int:
        outcome = await self.space.save(text, **given)  # type: ignore[arg-type]
        return outcome.ids[0]  # type: ignore[union-attr]

    async def rows(self, tx: SpaceTransaction, ids: Sequence[int]) -> list[MemoryRow]:
        found = await read_rows(tx, self.space.name, ids)
        return [found[memory_id] for memory_id in ids]

    async def supersede(self, old: int, new: int | None, reason: str = "moved") -> int:
        async def write(tx: SpaceTransaction) -> int:
            olds = await self.rows(tx, [old])
            return await changes.supersede(tx, olds, new, reason=reason, changed_by="contradiction-1", at=AT)

        return await self.run(write)

    async def restore(self, *ids: int) -> int:
        async def write(tx: SpaceTransaction) -> int:
            return await changes.restore(tx, await self.rows(tx, ids), "user")

        return await self.run(write)

    async def get(self, memory_id: int) -> StoredMemory:
        return await self.space.get(memory_id)

    async def found(self, query: str) -> set[str]:
        return {hit.memory.summary for hit in (await self.space.search(query)).hits}


@pytest.fixture
def shelf(space: Space) -> Shelf:
    return Shelf(space)


async def test_a_superseded_memory_leaves_retrieval_and_says_why(shelf: Shelf) -> None:
    old, new = await shelf.save("Ada lives in Boston"), await shelf.save("Ada lives in Denver")
    assert await shelf.supersede(old, new) == 1
    gone = await shelf.get(old)
    assert (gone.superseded_by, gone.superseded_at, gone.superseded_reason) == (new, AT, "moved")
    assert await shelf.found("Where does Ada live?") == {"Ada lives in Denver"}
    (entry,) = await shelf.space.history(old)
    assert (entry["action"], entry["changed_by"], entry["reason"]) == ("supersede", "contradiction-1", "moved")
    assert entry["state"]["superseded_at"] is None


async def test_only_what_is_live_can_be_superseded_and_the_first_reason_stands(shelf: Shelf) -> None:
    old, first, second = [await shelf.save(text) for text in ("at three", "at four", "at five")]
    assert await shelf.supersede(old, first) == 1
    assert await shelf.supersede(old, second, "again") == 0
    gone = await shelf.get(old)
    assert (gone.superseded_by, gone.superseded_reason) == (first, "moved")
    assert len(await shelf.space.history(old)) == 1


async def test_of_many_that_supersede_at_once_one_does(shelf: Shelf) -> None:
    old, *news = [await shelf.save(f"number {n}") for n in range(9)]
    changed = await asyncio.gather(*(shelf.supersede(old, new) for new in news))
    assert sorted(changed) == [0] * 7 + [1]
    assert (await shelf.get(old)).superseded_by in news


async def test_a_memory_is_never_superseded_by_its_own_text(shelf: Shelf) -> None:
    outcome = await shelf.space.save(LONG)
    with pytest.raises(ValueError, match="can't supersede itself"):
        await shelf.supersede(outcome.ids[0], outcome.ids[-1])  # type: ignore[union-attr]


@pytest.mark.parametrize("chunk", [0, 2])
async def test_all_chunks_of_a_text_go_and_come_together(shelf: Shelf, chunk: int) -> None:
    ids = (await shelf.space.save(LONG)).ids  # type: ignore[union-attr]
    assert len(ids) > 2
    assert await shelf.supersede(ids[chunk], None, "cancelled") == len(ids)
    dead = [await shelf.get(memory_id) for memory_id in ids]
    assert {(one.superseded_by, one.superseded_reason) for one in dead} == {(None, "cancelled")}
    assert await shelf.found("harbour rebuilt in stone") == set()
    assert await shelf.restore(ids[-1]) == len(ids)
    live = [await shelf.get(memory_id) for memory_id in ids]
    assert {(one.superseded_at, one.superseded_reason) for one in live} == {(None, None)}
    assert await shelf.found("harbour rebuilt in stone")


async def test_a_restored_memory_answers_again_and_its_history_tells_both(shelf: Shelf) -> None:
    old, new = await shelf.save("Ada lives in Boston"), await shelf.save("Ada lives in Denver")
    await shelf.supersede(old, new)
    assert await shelf.restore(old) == 1
    assert await shelf.restore(old) == 0
    assert await shelf.found("Where does Ada live?") == {"Ada lives in Boston", "Ada lives in Denver"}
    assert [entry["action"] for entry in await shelf.space.history(old)] == ["supersede", "restore"]
    assert await shelf.supersede(new, old) == 1


async def test_what_was_said_again_meanwhile_is_not_restored_beside_it(shelf: Shelf) -> None:
    old, new = await shelf.save("Ada lives in Boston"), await shelf.save("Ada lives in Denver")
    await shelf.supersede(old, new)
    again = await shelf.save("Ada lives in Boston")
    assert again != old
    with pytest.raises(Conflict, match=f"Memory {again} holds the same text"):
        await shelf.restore(old)
    await shelf.supersede(again, new)
    with pytest.raises(Conflict, match=f"Memory {old} holds the same text as {again}"):
        await shelf.restore(old, again)
    assert await shelf.restore(old) == 1


async def test_quality_raises_the_salience_of_now_and_only_once(shelf: Shelf) -> None:
    memory_id = await shelf.save("Ada is allergic to peanuts", salience=3)
    await shelf.space.update(memory_id, salience=5)

    async def score(confidence: float) -> int:
        return await shelf.run(lambda tx: changes.apply_quality(tx, [memory_id], 0.8, 0.4, confidence))

    assert await score(0.9) == 1
    raised = await shelf.get(memory_id)
    assert (raised.salience, raised.confidence) == (pytest.approx(5 + 0.6 * 0.5), pytest.approx(0.9))
    assert await score(0.1) == 0
    assert (await shelf.get(memory_id)).salience == raised.salience


@pytest.mark.parametrize(("before", "gain", "after"), [(1, 1, 1.9), (9.5, 1, 9.55), (10, 1, 10), (5, 0, 5)])
async def test_quality_never_lifts_above_ten_nor_lowers(shelf: Shelf, before: float, gain: float, after: float) -> None:
    memory_id = await shelf.save("scored", salience=before)
    await shelf.run(lambda tx: changes.apply_quality(tx, [memory_id], gain, gain, 1.0))
    assert (await shelf.get(memory_id)).salience == pytest.approx(after)


async def test_a_later_judgement_lowers_salience_and_never_raises_it(shelf: Shelf) -> None:
    ids = [await shelf.save("small talk", salience=5), await shelf.save("smaller talk", salience=2)]

    async def lower(tx: SpaceTransaction) -> int:
        rows = await shelf.rows(tx, ids)
        return await changes.lower_salience(tx, rows, 3, made_by="triage-1/big", changed_by="retriage")

    assert await shelf.run(lower) == 1
    assert [(await shelf.get(memory_id)).salience for memory_id in ids] == [3, 2]
    assert [len(await shelf.space.history(memory_id)) for memory_id in ids] == [1, 0]


async def test_added_entities_find_the_memory_and_are_there_once(shelf: Shelf) -> None:
    memory_id = await shelf.save("The café opened", entities=["Café Bose"])

    async def add(tx: SpaceTransaction) -> None:
        (row,) = await shelf.rows(tx, [memory_id])
        await changes.add_entities(tx, row, ["café bose", "Rome", "ROME", " ", "北京"])

    async def stored(tx: SpaceTransaction) -> tuple[object, ...]:
        (row,) = await shelf.rows(tx, [memory_id])
        postings = stored_postings(row)
        keys = await tx.fetch_all("SELECT key FROM memory_entities WHERE memory_id = %(id)s", {"id": memory_id})
        counts = await tx.fetch_all("SELECT key, n FROM space_counts WHERE kind = 'entity'")
        state = await tx.fetch_one("SELECT signature FROM memory_state WHERE memory_id = %(id)s", {"id": memory_id})
        assert state is not None
        assert {row["key"] for row in keys} == set(postings.entities)
        assert {row["key"]: row["n"] for row in counts} == dict.fromkeys(postings.entities, 1)
        assert str(state["signature"]) == signature(postings.terms, postings.entities)
        return row.memory.entities

    await shelf.run(add)
    assert await shelf.run(stored) == ("Café Bose", "Rome", "北京")
    await shelf.run(add)
    assert await shelf.run(stored) == ("Café Bose", "Rome", "北京")
    assert [entry["action"] for entry in await shelf.space.history(memory_id)] == ["entities"]
    (hit,) = (await shelf.space.search("北京")).hits
    assert hit.entity_match
    await shelf.space.forget(memory_id)
    assert await shelf.run(lambda tx: tx.fetch_all("SELECT key FROM space_counts")) == []


async def test_a_conflict_is_kept_until_what_it_names_is_erased(shelf: Shelf) -> None:
    said, other, mail = [await shelf.save(text) for text in ("at three", "at noon", "at four")]
    await shelf.run(lambda tx: changes.flag_conflict(tx, mail, [said]))
    await shelf.run(lambda tx: changes.flag_conflict(tx, mail, [other, said, mail]))
    assert (await shelf.get(mail)).conflicts_with == (said, other)
    await shelf.space.forget(said)
    assert (await shelf.get(mail)).conflicts_with == (other,)


async def test_what_is_still_to_be_done_about_an_erased_memory_goes_with_it(shelf: Shelf) -> None:
    gone, kept = await shelf.save("gone"), await shelf.save("kept")

    async def fill(tx: SpaceTransaction) -> None:
        for memory_id in (gone, kept):
            for kind in ("quality", "transition"):
                await enqueue(
                    tx, Queue.FOLLOWUP, kind, {"ids": [memory_id]}, audience=None, speaker=None, occurred_at=tx.now
                )
            payload = {"replaces": [memory_id], "user": "whatever", "operation_id": f"op-{memory_id}"}
            await enqueue(tx, Queue.TRIAGE, "conversation", payload, audience=None, speaker=None, occurred_at=tx.now)
            for key in ("ids", "replaces"):
                await tx.execute(
                    "INSERT INTO failed_operations (space_id, op_type, label, error, created_at, context)"
                    " VALUES (%(space_id)s, 'quality', '', '', %(now)s,"
                    " jsonb_build_object('payload', jsonb_build_object(%(key)s::text, ARRAY[%(id)s::bigint])))",
                    {"id": memory_id, "key": key},
                )

    async def left(tx: SpaceTransaction) -> list[int]:
        return [
            (await tx.fetch_all(f"SELECT count(*) AS n FROM {table} WHERE space_id = %(space_id)s"))[0]["n"]
            for table in ("pending_followups", "pending_triage", "failed_operations")
        ]

    await shelf.run(fill)
    assert await shelf.run(left) == [4, 2, 4]
    await shelf.space.forget(gone)
    assert await shelf.run(left) == [2, 1, 2]
    await shelf.space.forget(kept)
    assert await shelf.run(left) == [0, 0, 0]


async def test_what_a_mail_left_is_found_by_its_evidence_while_it_lives(shelf: Shelf) -> None:
    first, second = (await shelf.space.save(LONG)).ids, await shelf.save("short")  # type: ignore[union-attr]
    observed = [datetime(2026, 1, day, tzinfo=UTC) for day in (5, 9)]

    async def fill(tx: SpaceTransaction) -> None:
        for memory_id, at in ((first[0], observed[0]), (first[1], observed[1]), (second, None)):
            mail = Evidence("email", "mail-1", observed_at=at, trust=Trust.EXTERNAL)
            await changes.add_evidence(tx, [(memory_id, mail)])
        await changes.add_evidence(tx, [(second, Evidence("calendar", "mail-2", trust=Trust.EXTERNAL))])

    await shelf.run(fill)
    assert await shelf.run(lambda tx: evidence.memories_from(tx, "email", "mail-1", None)) == [first[0], second]
    assert await shelf.run(lambda tx: evidence.memories_from(tx, "email", "mail-2", None)) == []
    told = await shelf.run(lambda tx: evidence.last_observed(tx, [*first, second]))
    assert (told[first[0]] >= observed[0], told[first[1]] >= observed[1]) == (True, True)
    await shelf.supersede(first[0], second)
    assert await shelf.run(lambda tx: evidence.memories_from(tx, "email", "mail-1", None)) == [second]


async def test_what_was_kept_verbatim_is_found_by_exchange_until_it_is_judged(memory: Memory, shelf: Shelf) -> None:
    space = shelf.space
    await space.capture(user="I moved to Rome", assistant="Noted.", speaker="Ada", operation_id="op-1")
    await space.capture(user=LONG, assistant="Noted.", operation_id="op-2")
    await space.capture(user="I like figs", operation_id="op-3")
    await space.drain()
    await space.save("never an exchange")

    async def found(limit: int = 10) -> list[evidence.VerbatimExchange]:
        return await shelf.run(lambda tx: evidence.verbatim_exchanges(tx, "verbatim-1", limit, space=space.name))

    one, two, three = await found()
    assert [x.operation_id for x in (one, two, three)] == ["op-1", "op-2", "op-3"]
    assert [[row.memory.summary for row in text] for text in one.texts] == [["I moved to Rome"], ["Noted."]]
    assert [row.memory.chunk_no for row in two.texts[0]] == list(range(len(two.texts[0])))
    assert len(two.texts) == 1
    assert [x.operation_id for x in await found(1)] == ["op-1"]
    every = {m.id for m in await space.list(limit=50) if m.source == "conversation"}
    assert {memory_id for x in (one, two, three) for memory_id in x.ids} == every

    async def judge(tx: SpaceTransaction) -> None:
        payload = {"operation_id": "op-1", "replaces": list(one.ids)}
        await enqueue(tx, Queue.TRIAGE, "conversation", payload, audience=None, speaker=None, occurred_at=tx.now)
        rows = await shelf.rows(tx, two.ids)
        await changes.lower_salience(tx, rows, 2, made_by="triage-1/big", changed_by="retriage")

    await shelf.run(judge)
    assert [x.operation_id for x in await found()] == ["op-3"]
    assert (await space.recall("I moved to Rome")).pending == ()
    await shelf.supersede(three.ids[0], None)
    assert await found() == []
