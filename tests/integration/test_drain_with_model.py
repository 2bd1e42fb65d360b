"""With a language model the drain asks it, and whatever the model does, nothing is lost, doubled or made up."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest

from perdure import Space
from perdure.ingest import drain_pending_triage
from perdure.store.claiming import claim
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue
from perdure.store.spaces import lock_space
from perdure.store.usage import UsageRow, read_usage
from tests.doubles.chat_server import (
    CUT_OFF,
    EMPTY,
    GARBAGE,
    HALF,
    TOO_MANY,
    WRONG_JSON,
    Behaviour,
    ChatServer,
    Refuse,
    Request,
    Slow,
    serving,
)
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory


async def summaries(space: Space) -> list[str]:
    return [memory.summary for memory in reversed(await space.list(limit=1000))]


async def usage(space: Space) -> dict[str, UsageRow]:
    row = await space._memory.ensure_space(space.name)

    async def read(tx: SpaceTransaction) -> list[UsageRow]:
        return await read_usage(tx, 7)

    return {used.call_site: used for used in await space._memory.resources.database.in_space(row.id, read)}


@pytest.mark.parametrize(
    "nonsense",
    [GARBAGE, EMPTY, WRONG_JSON, CUT_OFF, HALF, {"summary": "…", "salience": 9}],
    ids=["garbage", "empty", "wrong JSON", "cut off", "half", "says nothing"],
)
async def test_nonsense_is_an_attempt_and_never_a_memory(
    judged: Space, chat: ChatServer, noon: SkippingClock, nonsense: Behaviour | dict[str, object]
) -> None:
    chat.answer("triage", nonsense)
    await judged.capture(user="I moved to Lisbon", operation_id="op-1")
    for _ in range(3):
        report = await judged.drain()
        noon.advance(timedelta(minutes=30))
    assert (report.done, report.failed, report.waiting) == (0, 1, 0)
    assert await judged.list() == ()
    (failed,) = await judged.failed()
    assert failed.op_type == "triage"
    context = await judged.failed_context(failed.id)
    assert "I moved to Lisbon" in json.dumps(context)
    chat.answer("triage", None)
    assert await judged.replay_failed() == (failed.id,)
    assert (await judged.drain()).done == 1
    assert await summaries(judged) == ["I moved to Lisbon"]


async def test_the_raw_answer_is_kept_for_whoever_looks_into_it(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("triage", '{"mood": "philosophical"}')
    await judged.capture(user="I moved to Lisbon")
    for _ in range(3):
        await judged.drain()
        noon.advance(timedelta(minutes=30))
    (failed,) = await judged.failed()
    assert "philosophical" in json.dumps(await judged.failed_context(failed.id))


async def test_an_hour_without_the_model_uses_up_no_attempt_and_drains_in_order_afterwards(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    for number in range(4):
        await judged.capture(user=f"message number {number}", conversation_id="c")
    chat.down()
    for _ in range(12):
        report = await judged.drain()
        assert (report.done, report.failed, report.waiting) == (0, 0, 4)
        assert report.outage
        noon.advance(timedelta(minutes=5))
    assert await judged.list() == ()
    chat.up()
    noon.advance(timedelta(minutes=10))
    assert (await judged.drain()).done == 4
    assert await summaries(judged) == [f"message number {number}" for number in range(4)]
    assert await judged.failed() == ()


@pytest.mark.parametrize("behaviour", [Refuse(401), Refuse(404)], ids=["key", "model"])
async def test_a_wrong_key_or_a_missing_model_is_an_outage(
    judged: Space, chat: ChatServer, noon: SkippingClock, behaviour: Behaviour
) -> None:
    chat.answer("triage", behaviour)
    await judged.capture(user="I moved to Lisbon")
    for _ in range(4):
        report = await judged.drain()
        assert (report.failed, report.waiting) == (0, 1)
        assert report.outage
        noon.advance(timedelta(minutes=5))


async def test_a_server_that_is_busy_for_a_moment_is_asked_again(judged: Space, chat: ChatServer) -> None:
    chat.then("triage", TOO_MANY)
    await judged.capture(user="I moved to Lisbon")
    assert (await judged.drain()).done == 1


async def test_a_poisoned_exchange_holds_up_its_conversation_only(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("triage", lambda request: EMPTY if "POISON" in request.user else None)
    await judged.capture(user="this one is POISON", conversation_id="bad")
    await judged.capture(user="after the bad one", conversation_id="bad")
    await judged.capture(user="elsewhere", conversation_id="good")
    await judged.capture(user="nowhere in particular")
    first = await judged.drain()
    assert (first.done, first.failed, first.waiting) == (2, 0, 2)
    for _ in range(2):
        noon.advance(timedelta(minutes=30))
        last = await judged.drain()
    assert (last.done, last.failed, last.waiting) == (1, 1, 0)
    assert set(await summaries(judged)) == {"elsewhere", "nowhere in particular", "after the bad one"}


async def test_conversations_are_judged_side_by_side_and_each_in_order(
    urls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer, space: Space
) -> None:
    chat.answer("triage", Slow(0.05))
    async with open_memory(urls, embedder, clock=noon, thinker_url=chat.url, thinker_slots=4) as memory:
        mine = memory.space(space.name)
        for number in range(5):
            for talk in "abcd":
                await mine.capture(user=f"line {number} of talk {talk}", conversation_id=talk)
        report = await mine.drain()
        assert report.done == 20
        assert chat.most_at_once == 4
        for talk in "abcd":
            told = [text for text in await summaries(mine) if text.endswith(talk)]
            assert told == [f"line {number} of talk {talk}" for number in range(5)]


async def test_two_workers_judge_each_exchange_once(
    judged: Space, urls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer
) -> None:
    for number in range(24):
        await judged.capture(user=f"line {number:02d}", conversation_id=f"c{number % 3}")
    roles = {"thinker_url": chat.url, "subagent_url": chat.url}
    async with open_memory(urls, embedder, clock=noon, **roles) as other:
        reports = await asyncio.gather(judged.drain(), other.space(judged.name).drain())
    assert sum(report.done for report in reports) == 24
    assert sorted(await summaries(judged)) == [f"line {number:02d}" for number in range(24)]
    assert len(chat.asked("triage")) == 24


async def test_a_lease_is_renewed_for_as_long_as_the_model_thinks(
    urls, embedder: HashedEmbedder, chat: ChatServer, space: Space
) -> None:
    chat.then("triage", Slow(1.5))
    async with open_memory(urls, embedder, thinker_url=chat.url, lease_s=0.6) as memory:
        mine = memory.space(space.name)
        await mine.capture(user="I moved to Lisbon")
        slow = asyncio.create_task(mine.drain())
        await asyncio.sleep(1.0)
        row = await memory.ensure_space(mine.name)
        assert (await drain_pending_triage(memory.resources, row, "another")).done == 0
        assert (await slow).done == 1
    assert len(chat.asked("triage")) == 1


async def test_a_worker_that_hung_past_its_lease_stores_nothing_of_what_it_was_told(
    judged: Space, noon: SkippingClock, chat: ChatServer
) -> None:
    await judged.capture(user="only once")
    row = await judged._memory.ensure_space(judged.name)
    database = judged._memory.resources.database

    async def overtake(request: Request) -> None:
        async def take(tx: SpaceTransaction) -> int:
            await lock_space(tx)
            return len(await claim(tx, Queue.TRIAGE, "another", limit=1, visibility=timedelta(seconds=60)))

        noon.advance(timedelta(seconds=600))
        loop.call_soon_threadsafe(lambda: taken.append(asyncio.ensure_future(database.in_space(row.id, take))))
        await asyncio.sleep(0.3)

    loop = asyncio.get_running_loop()
    taken: list[asyncio.Future[int]] = []
    chat.then("triage", overtake)
    report = await drain_pending_triage(judged._memory.resources, row, "hung")
    assert await taken[0] == 1
    assert (report.done, report.failed, report.waiting) == (0, 0, 1)
    assert await judged.list() == ()


async def test_after_a_cancelled_drain_the_next_one_settles_its_rows_at_once(judged: Space, chat: ChatServer) -> None:
    chat.then("triage", Slow(60))
    await judged.capture(user="I moved to Lisbon")
    draining = asyncio.create_task(judged.drain())
    while not chat.requests:
        await asyncio.sleep(0.01)
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    assert (await judged.drain()).done == 1


async def test_what_models_were_asked_is_counted_whatever_came_of_it(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.then("triage", EMPTY)
    await judged.capture(user="I moved to Lisbon")
    await judged.drain()
    failed = (await usage(judged))["triage"]
    assert failed.calls == failed.failures == len(chat.asked("triage"))
    noon.advance(timedelta(minutes=30))
    await judged.drain()
    used = await usage(judged)
    assert used["triage"].calls == failed.calls + 1
    assert used["triage"].failures == failed.failures
    assert used["triage"].prompt_tokens > 0
    assert used["entities"].calls == 1


async def test_what_is_over_the_daily_budget_waits_for_the_next_day_and_says_so(
    urls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer, space: Space
) -> None:
    async with open_memory(urls, embedder, clock=noon, thinker_url=chat.url, daily_call_budget=2) as memory:
        mine = memory.space(space.name)
        for number in range(5):
            await mine.capture(user=f"message number {number}")
        report = await mine.drain()
        assert (report.done, report.failed, report.waiting) == (2, 0, 3)
        assert report.outage is not None
        assert "budget of 2 " in report.outage
        assert (await mine.drain()).done == 0
        noon.advance(timedelta(hours=12))
        assert (await mine.drain()).done == 2
        noon.advance(timedelta(days=1))
        last = await mine.drain()
        assert (last.done, last.waiting, last.outage) == (1, 0, None)


async def test_with_the_subagent_alone_it_judges_and_compares(
    urls, embedder: HashedEmbedder, chat: ChatServer, space: Space
) -> None:
    async with open_memory(urls, embedder, subagent_url=chat.url) as memory:
        mine = memory.space(space.name)
        await mine.capture(user="I moved to Lisbon")
        assert (await mine.drain()).done == 1
    assert [request.site for request in chat.requests][:2] == ["triage", "entities"]


async def test_with_the_thinker_alone_what_it_judges_is_kept_without_comparing(
    urls, embedder: HashedEmbedder, chat: ChatServer, space: Space
) -> None:
    async with open_memory(urls, embedder, thinker_url=chat.url) as memory:
        mine = memory.space(space.name)
        for user in ("I moved to Lisbon in May", "I moved to Lisbon in June"):
            await mine.capture(user=user)
        assert (await mine.drain()).done == 2
        assert len(await mine.list()) == 2
    assert {request.site for request in chat.requests} == {"triage"}


async def test_an_embedder_that_is_down_is_an_outage_after_the_judge_has_spoken(
    judged: Space, embedder: HashedEmbedder, noon: SkippingClock
) -> None:
    await judged.capture(user="I moved to Lisbon")
    embedder.outage = True
    for _ in range(4):
        report = await judged.drain()
        assert (report.done, report.failed, report.waiting) == (0, 0, 1)
        noon.advance(timedelta(minutes=1))
    embedder.outage = False
    assert (await judged.drain()).done == 1


async def test_while_the_subagent_is_gone_the_thinker_is_not_asked_the_same_again(
    urls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer, space: Space
) -> None:
    with serving() as small:
        roles = {"thinker_url": chat.url, "subagent_url": small.url}
        async with open_memory(urls, embedder, clock=noon, **roles) as memory:
            mine = memory.space(space.name)
            for number in range(3):
                await mine.capture(user=f"message number {number}", conversation_id="c")
            small.down()
            for _ in range(10):
                report = await mine.drain()
                assert (report.done, report.failed, report.waiting) == (0, 0, 3)
                noon.advance(timedelta(minutes=15))
            small.up()
            noon.advance(timedelta(minutes=15))
            assert (await mine.drain()).done == 3
            assert len(chat.asked("triage")) == 3


async def test_a_row_that_was_lost_from_a_batch_does_not_hold_the_others(
    space: Space, embedder: HashedEmbedder, noon: SkippingClock, urls
) -> None:
    async with open_memory(urls, embedder, clock=noon) as memory:
        mine = memory.space(space.name)
        for number in range(3):
            await mine.capture(user=f"message number {number}")
        row = await memory.ensure_space(mine.name)

        async def overtake(tx: SpaceTransaction) -> int:
            await lock_space(tx)
            return len(await claim(tx, Queue.TRIAGE, "another", limit=1, visibility=timedelta(seconds=60)))

        embedder.hang_s = 0.3
        draining = asyncio.create_task(drain_pending_triage(memory.resources, row, "slow"))
        await asyncio.sleep(0.15)
        noon.advance(timedelta(seconds=150))
        assert await memory.resources.database.in_space(row.id, overtake) == 1
        report = await draining
        assert (report.done, report.waiting) == (2, 1)


async def test_what_a_cancelled_drain_has_asked_is_counted(judged: Space, chat: ChatServer) -> None:
    await judged.capture(user="I moved to Lisbon", operation_id="op-1")
    chat.answer("entities", Slow(30, {"entities": []}))
    draining = asyncio.create_task(judged.drain())
    while not chat.asked("entities"):
        await asyncio.sleep(0.01)
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    assert (await usage(judged))["triage"].calls == 1


async def test_exchanges_and_questions_about_memories_are_told_apart(judged: Space) -> None:
    await judged.capture(user="I moved to Lisbon", operation_id="op-1")
    report = await judged.drain()
    assert (report.done, report.outcomes) == (1, {"stored": 1})
    assert (report.followed_up, report.followed_up_outcomes) == (1, {})
    assert report.waits == ()


async def test_a_drain_says_what_the_rest_waits_for_and_until_when(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("triage", GARBAGE)
    for number in range(2):
        await judged.capture(user=f"I moved to Lisbon {number}", operation_id=f"op-{number}", conversation_id="c")
    report = await judged.drain()
    first, behind = report.waits
    assert (first.reason, first.count, behind.reason, behind.count) == ("backing_off", 1, "due", 1)
    now = noon.now()
    assert now is not None
    assert first.until is not None
    assert now < first.until <= now + timedelta(minutes=5)

    space = await judged._memory.ensure_space(judged.name)

    async def take(tx: SpaceTransaction) -> int:
        await lock_space(tx)
        return len(await claim(tx, Queue.TRIAGE, "another", limit=1, visibility=timedelta(minutes=1)))

    noon.advance(timedelta(minutes=10))
    assert await judged._memory.resources.database.in_space(space.id, take) == 1
    report = await drain_pending_triage(judged._memory.resources, space, "one", jitter=0)
    assert [(wait.reason, wait.count) for wait in report.waits] == [("leased", 1), ("due", 1)]
    assert report.waits[0].until == noon.now() + timedelta(minutes=1)  # type: ignore[operator]
