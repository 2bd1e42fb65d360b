"""Decay in SQL says what the rules say, and every write to a memory settles first what is due."""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from perdure import Memory, Space, StoredMemory
from perdure.rules.decay import PER_DAY, decayed, regressed
from perdure.store.changes import apply_quality, lower_salience, supersede
from perdure.store.database import SpaceTransaction
from perdure.store.decay import settled, settled_usefulness, settling
from perdure.store.embedded import ServerUrls
from perdure.store.memories import MemoryRow, read_rows
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

MADE_UP = """
    SELECT m.id, {settled} AS salience, {settled_usefulness} AS usefulness
    FROM jsonb_to_recordset(%(rows)s) AS m (
        id bigint, salience real, usefulness_score real, retrieval_count integer, pinned boolean, memory_type text,
        created_at timestamptz, last_retrieved_at timestamptz, decayed_at timestamptz, regressed_at timestamptz)
    ORDER BY m.id
"""
TICK = """
    UPDATE memory_state m
    SET salience = {settled}, decayed_at = {decayed_at}, usefulness_score = {settled_usefulness},
        regressed_at = {regressed_at}
    WHERE m.space_id = %(space_id)s
"""
DAY = timedelta(days=1)


@pytest.fixture
async def aging(urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock) -> AsyncIterator[Memory]:
    async with open_memory(urls, embedder, clock=noon) as memory:
        yield memory


@pytest.fixture
def space(aging: Memory) -> Space:
    return aging.space(f"space-{secrets.token_hex(6)}")


async def tick(memory: Memory, space: Space) -> None:
    row = await memory.find_space(space.name)
    assert row is not None
    await memory.resources.database.in_space(row.id, lambda tx: tx.execute(settling(TICK)))


async def rows_of(tx: SpaceTransaction, space: Space, *ids: int) -> list[MemoryRow]:
    return list((await read_rows(tx, space.name, ids)).values())


def made_up(number: int, now: datetime, chance: random.Random) -> dict[str, object]:
    """A row of memory_state, likely and unlikely."""
    age = chance.choice([0.0, 0.3, 13.9, 14.0, 14.1, 30.0, chance.uniform(0, 4000), 700_000.0])
    retrieved = chance.random() < 0.5
    ago = [chance.choice([-0.1, 0.0, chance.uniform(0, age), age]) for _ in range(3)]
    return {
        "id": number,
        "salience": chance.choice([1.0, 10.0, chance.uniform(1, 10)]),
        "usefulness_score": chance.choice([0.0, 0.5, 1.0, chance.random()]),
        "retrieval_count": chance.randint(1, 9) if retrieved else 0,
        "pinned": chance.random() < 0.1,
        "memory_type": chance.choice(["general", "identity", "episode", "fact", "event"]),
        "created_at": now - age * DAY,
        "last_retrieved_at": now - ago[0] * DAY if retrieved else None,
        "decayed_at": now - ago[1] * DAY,
        "regressed_at": now - ago[2] * DAY,
    }


def days(now: datetime, since: object) -> float:
    assert isinstance(since, datetime)
    return (now - since) / DAY


async def test_sql_and_rules_agree_on_any_row(aging: Memory, space: Space, noon: SkippingClock) -> None:
    await space.save("so that the space is there")
    row = await aging.find_space(space.name)
    assert row is not None
    now = noon.now()
    assert now is not None
    given = [made_up(number, now, random.Random(number)) for number in range(3000)]
    statement = sql.SQL(MADE_UP).format(settled=settled(), settled_usefulness=settled_usefulness())
    as_json = Jsonb([{k: v.isoformat() if isinstance(v, datetime) else v for k, v in one.items()} for one in given])
    found = await aging.resources.database.in_space(row.id, lambda tx: tx.fetch_all(statement, {"rows": as_json}))
    assert len(found) == len(given)
    for one, is_now in zip(given, found, strict=True):
        salience, usefulness = float(one["salience"]), float(one["usefulness_score"])  # type: ignore[arg-type]
        if not one["pinned"] and one["memory_type"] != "identity":
            age = days(now, one["created_at"])
            retrieved = one["retrieval_count"] != 0
            idle = days(now, one["last_retrieved_at"] or one["created_at"])
            salience = decayed(salience, days(now, one["decayed_at"]), age, retrieved=retrieved)
            usefulness = regressed(usefulness, days(now, one["regressed_at"]), idle)
        assert is_now["salience"] == pytest.approx(salience, rel=1e-6), one
        assert is_now["usefulness"] == pytest.approx(usefulness, rel=1e-6, abs=1e-6), one


async def test_a_month_hourly_is_a_month_at_once(aging: Memory, space: Space, noon: SkippingClock) -> None:
    often = aging.space(space.name + "-often")
    ids = [(await each.save("Ada sings in a choir", salience=9)).ids[0] for each in (space, often)]  # type: ignore[union-attr]
    for _ in range(24 * 30):
        noon.advance(timedelta(hours=1))
        await tick(aging, often)
    await tick(aging, space)
    at_once, hourly = await space.get(ids[0]), await often.get(ids[1])
    assert 1.0 < at_once.salience == pytest.approx(hourly.salience, rel=1e-4)


async def stored(space: Space, text: str, **given: object) -> StoredMemory:
    outcome = await space.save(text, **given)  # type: ignore[arg-type]
    return await space.get(outcome.ids[0])  # type: ignore[union-attr]


async def as_identity(memory: Memory, space: Space, saved: StoredMemory) -> StoredMemory:
    """The same memory as an identity card, which only consolidation writes."""
    row = await memory.find_space(space.name)
    assert row is not None
    change = "UPDATE memory_state SET memory_type = 'identity' WHERE space_id = %(space_id)s AND memory_id = %(id)s"
    await memory.resources.database.in_space(row.id, lambda tx: tx.execute(change, {"id": saved.id}))
    return await space.get(saved.id)


async def test_pinned_and_identity_never_change(aging: Memory, space: Space, noon: SkippingClock) -> None:
    pinned = await stored(space, "Ada is allergic to peanuts", salience=9, pinned=True)
    identity = await as_identity(aging, space, await stored(space, "Ada is a carpenter", salience=10))
    noon.advance(400 * DAY)
    await tick(aging, space)
    assert await space.get(pinned.id) == pinned
    assert await space.get(identity.id) == identity


async def test_being_pinned_stops_decay_from_then_on_and_only_until_it_ends(
    aging: Memory, space: Space, noon: SkippingClock
) -> None:
    memory = await stored(space, "Ada plays chess", salience=8)
    noon.advance(5 * DAY)
    await space.pin(memory.id)
    assert (await space.get(memory.id)).salience == pytest.approx(8 * PER_DAY**5)
    noon.advance(300 * DAY)
    await space.pin(memory.id, pinned=False)
    noon.advance(timedelta(minutes=1))
    await tick(aging, space)
    assert (await space.get(memory.id)).salience == pytest.approx(8 * PER_DAY**5, rel=1e-3)


async def test_a_change_of_words_alone_settles_salience_and_a_new_salience_stays_as_given(
    aging: Memory, space: Space, noon: SkippingClock
) -> None:
    memory = await stored(space, "Ada plays chess", salience=8)
    noon.advance(5 * DAY)
    changed = await space.update(memory.id, text="Ada plays go")
    assert changed.salience == pytest.approx(8 * PER_DAY**5)
    await tick(aging, space)
    assert (await space.get(memory.id)).salience == pytest.approx(8 * PER_DAY**5)
    noon.advance(5 * DAY)
    assert (await space.update(memory.id, salience=6)).salience == 6
    await tick(aging, space)
    assert (await space.get(memory.id)).salience == 6


async def test_quality_works_on_what_salience_is_by_then(aging: Memory, space: Space, noon: SkippingClock) -> None:
    memory = await stored(space, "Ada plays chess", salience=8)
    noon.advance(5 * DAY)
    row = await aging.find_space(space.name)
    assert row is not None
    await aging.resources.database.in_space(row.id, lambda tx: apply_quality(tx, [memory.id], 1.0, 0.0, 1.0))
    by_then = 8 * PER_DAY**5
    assert (await space.get(memory.id)).salience == pytest.approx(by_then + 0.5 * (1 - by_then / 10))
    await tick(aging, space)
    assert (await space.get(memory.id)).salience == pytest.approx(by_then + 0.5 * (1 - by_then / 10))


async def test_lowering_and_merging_compare_with_what_salience_is_by_then(
    aging: Memory, space: Space, noon: SkippingClock
) -> None:
    memory = await stored(space, "Ada plays chess", salience=8)
    noon.advance(5 * DAY)
    row = await aging.find_space(space.name)
    assert row is not None

    async def lower(tx: SpaceTransaction) -> int:
        rows = await rows_of(tx, space, memory.id)
        return await lower_salience(tx, rows, 7.5, made_by="test", changed_by="test")

    # 8 has come down to 7.12 by now, so 7.5 would raise it; merging takes the greater one.
    assert await aging.resources.database.in_space(row.id, lower) == 0
    await space.save("Ada plays chess", salience=7.5)
    await tick(aging, space)
    assert (await space.get(memory.id)).salience == 7.5


async def test_a_restored_memory_is_worth_what_it_would_have_been(
    aging: Memory, space: Space, noon: SkippingClock
) -> None:
    memory = await stored(space, "Ada plays chess", salience=8)
    row = await aging.find_space(space.name)
    assert row is not None

    async def outdate(tx: SpaceTransaction) -> int:
        rows = await rows_of(tx, space, memory.id)
        return await supersede(tx, rows, None, reason="test", changed_by="test", at=tx.now)

    await aging.resources.database.in_space(row.id, outdate)
    noon.advance(5 * DAY)
    assert (await space.restore(memory.id)).salience == pytest.approx(8 * PER_DAY**5)


async def test_nothing_decays_where_that_is_switched_off(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock
) -> None:
    async with open_memory(urls, embedder, clock=noon, memory_decay_enabled=False) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        kept = await stored(space, "Ada plays chess", salience=8)
        noon.advance(300 * DAY)
        await space.pin(kept.id)
        await tick(memory, space)
        assert (await space.get(kept.id)).salience == 8


async def test_a_clock_that_was_set_back_makes_nothing_due_twice(
    aging: Memory, space: Space, noon: SkippingClock
) -> None:
    memory = await stored(space, "Ada plays chess", salience=8)
    noon.advance(5 * DAY)
    await tick(aging, space)
    noon.advance(-3 * DAY)
    await tick(aging, space)
    noon.advance(3 * DAY)
    await tick(aging, space)
    assert (await space.get(memory.id)).salience == pytest.approx(8 * PER_DAY**5)
