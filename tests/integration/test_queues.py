"""Three queues of one shape: rows are leased, renewed, given back and given up without being lost or doubled."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import psycopg
import pytest

from perdure import SimulatedClock
from perdure.rules.order import SHARE
from perdure.store import crossing, failed, queue
from perdure.store.claiming import claim
from perdure.store.database import Database, SpaceTransaction, Transaction
from perdure.store.queue import KINDS, Queue, QueuedWork, enqueue, finish
from perdure.store.spaces import create_space, lock_space
from tests.integration.conftest import prepares

T = TypeVar("T")
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(seconds=60)
EVERY_QUEUE = pytest.mark.parametrize("kept", list(Queue))


class Line:
    """One space of a database whose clock the test moves."""

    def __init__(self, database: Database, space_id: int, clock: SimulatedClock) -> None:
        self.database = database
        self.space_id = space_id
        self.clock = clock

    async def run(self, work: Callable[[SpaceTransaction], Awaitable[T]]) -> T:
        return await self.database.in_space(self.space_id, work)

    async def add(self, kept: Queue, conversation: str = "", kind: str | None = None, **payload: object) -> int:
        async def write(tx: SpaceTransaction) -> int:
            chosen = kind or min(KINDS[kept])
            return await enqueue(
                tx, kept, chosen, payload, conversation_id=conversation, audience="a", speaker="Ada", occurred_at=START
            )

        return await self.run(write)

    async def take(
        self, kept: Queue, holder: str = "one", limit: int = 10, *, heads: bool = False, turn: int = 1
    ) -> list[QueuedWork]:
        async def write(tx: SpaceTransaction) -> list[QueuedWork]:
            await lock_space(tx)
            return await claim(tx, kept, holder, limit=limit, visibility=LEASE, heads=heads, turn=turn)

        return await self.database.in_space(self.space_id, write, writer=True)

    async def give_back(self, work: QueuedWork, *, failed: bool = True, after: timedelta = LEASE) -> None:
        later = self.clock.now() + after
        await self.run(
            lambda tx: queue.retry_later(tx, work, "one", failed=failed, not_before=later, error="it \x00 broke \udc80")
        )

    async def give_up(self, work: QueuedWork, answer: str | None = None) -> int:
        async def write(tx: SpaceTransaction) -> int:
            assert await finish(tx, [work], "one")
            return await failed.record_failure(tx, work, "broken", answer)

        return await self.run(write)


@pytest.fixture
async def line(urls) -> AsyncIterator[Line]:
    clock = SimulatedClock(START)
    database = Database(urls, clock, prepare=prepares())
    await database.open()
    space = await database.across(lambda tx: create_space(tx, f"line-{secrets.token_hex(6)}"))
    yield Line(database, space.id, clock)
    await database.close()


@EVERY_QUEUE
async def test_a_row_comes_back_as_it_went_in_and_is_gone_once_it_is_done(line: Line, kept: Queue) -> None:
    kind = max(KINDS[kept])
    number = await line.add(kept, "c", kind, words="äöü 你好", ids=[1, 2])
    (work,) = await line.take(kept)
    assert work == QueuedWork(
        number,
        kept,
        kind,
        "c",
        "a",
        "Ada",
        {"words": "äöü 你好", "ids": [1, 2]},
        START,
        START,
        0,
        kept is Queue.FOLLOWUP,
    )
    assert await line.run(lambda tx: finish(tx, [work], "another")) is False
    assert await line.run(lambda tx: finish(tx, [work], "one")) is True
    assert await line.run(lambda tx: finish(tx, [work], "one")) is False
    line.clock.advance(2 * LEASE)
    assert await line.take(kept) == []


@EVERY_QUEUE
async def test_a_kind_that_a_queue_does_not_hold_is_refused(line: Line, kept: Queue) -> None:
    with pytest.raises(ValueError, match="holds no 'nonsense'"):
        await line.add(kept, kind="nonsense")


@EVERY_QUEUE
async def test_a_conversation_waits_for_its_head_and_others_pass(line: Line, kept: Queue) -> None:
    head, *_ = [await line.add(kept, "c") for _ in range(3)]
    others = [await line.add(kept), await line.add(kept, "d"), await line.add(kept)]
    (work,) = await line.take(kept, limit=1)
    assert work.id == head
    assert [row.id for row in await line.take(kept, "two")] == others
    await line.give_back(work, after=3 * LEASE)
    line.clock.advance(LEASE)
    assert [row.id for row in await line.take(kept, "three")] == others
    line.clock.advance(2 * LEASE)
    again = await line.take(kept)
    assert [row.id for row in again] == [head, head + 1, head + 2, *others]
    assert [row.attempts for row in again] == [1, 0, 0, 0, 0, 0]


@EVERY_QUEUE
async def test_of_heads_only_each_conversation_has_one_at_a_time(line: Line, kept: Queue) -> None:
    conversations = ["c", "c", "d", "", "d", ""]
    ids = [await line.add(kept, conversation) for conversation in conversations]
    first = await line.take(kept, heads=True)
    assert [row.id for row in first] == [ids[0], ids[2], ids[3], ids[5]]
    assert await line.take(kept, "two", heads=True) == []
    await line.run(lambda tx: finish(tx, [first[0]], "one"))
    assert [row.id for row in await line.take(kept, "two", heads=True)] == [ids[1]]


@EVERY_QUEUE
async def test_a_renewed_lease_holds_and_only_its_holder_renews_it(line: Line, kept: Queue) -> None:
    await line.add(kept)
    works = await line.take(kept)
    line.clock.advance(LEASE - timedelta(seconds=1))
    assert await line.run(lambda tx: queue.renew(tx, works, "another", LEASE)) == 0
    assert await line.run(lambda tx: queue.renew(tx, works, "one", LEASE)) == 1
    assert await line.run(lambda tx: queue.renew(tx, works, "one", timedelta(0))) == 1
    line.clock.advance(LEASE - timedelta(seconds=1))
    assert await line.take(kept, "another") == []
    line.clock.advance(timedelta(seconds=1))
    assert len(await line.take(kept, "another")) == 1
    assert await line.run(lambda tx: queue.renew(tx, works, "one", LEASE)) == 0
    assert await line.run(lambda tx: finish(tx, [works[0]], "one")) is False


async def test_rows_of_several_queues_are_renewed_together(line: Line) -> None:
    for kept in Queue:
        await line.add(kept)
    works = [work for kept in Queue for work in await line.take(kept)]
    assert await line.run(lambda tx: queue.renew(tx, works, "one", LEASE)) == 3


@EVERY_QUEUE
async def test_an_outage_uses_up_no_attempt_and_a_failure_one(line: Line, kept: Queue) -> None:
    await line.add(kept)
    for failed_before, is_failure in enumerate([False, True, True]):
        (work,) = await line.take(kept)
        assert work.attempts == max(0, failed_before - 1)
        await line.give_back(work, failed=is_failure)
        line.clock.advance(LEASE)
    assert (await line.take(kept))[0].attempts == 2


async def test_the_backlog_counts_each_queue_and_what_is_held(line: Line) -> None:
    await line.add(Queue.TRIAGE)
    line.clock.advance(timedelta(seconds=5))
    await line.add(Queue.TRIAGE)
    await line.add(Queue.FOLLOWUP)
    await line.take(Queue.FOLLOWUP)
    backlog = await line.run(queue.backlog)
    assert (backlog.pending, backlog.leased, backlog.oldest) == (3, 1, START)
    assert backlog.of == {Queue.TRIAGE: 2, Queue.DISTILLATION: 0, Queue.FOLLOWUP: 1}


@EVERY_QUEUE
async def test_a_space_with_due_rows_of_any_queue_is_found(line: Line, kept: Queue) -> None:
    async def due(quiet_since: datetime | None = None) -> dict[int, datetime]:
        async def read(tx: Transaction) -> list[crossing.DueSpace]:
            return await crossing.find_due_spaces(tx, quiet_since=quiet_since, skipped=(), limit=10_000)

        return {row.space_id: row.newest for row in await line.database.across(read, as_worker=True)}

    assert line.space_id not in await due()
    await line.add(kept)
    assert (await due())[line.space_id] == START
    assert line.space_id in await due(START)
    assert line.space_id not in await due(START - timedelta(seconds=1))
    (work,) = await line.take(kept)
    assert line.space_id not in await due()
    await line.give_back(work)
    line.clock.advance(timedelta(seconds=59))
    assert line.space_id not in await due()
    line.clock.advance(timedelta(seconds=1))
    assert line.space_id in await due()


@pytest.mark.parametrize("table", [kept.value for kept in Queue])
async def test_the_worker_role_reads_no_content_of_any_queue(line: Line, urls, table: str) -> None:
    async with await psycopg.AsyncConnection.connect(urls.worker, autocommit=True) as connection:
        await connection.execute(f"SELECT space_id, enqueued_at, due_at FROM {table}")
        for column in ("payload", "speaker", "audience", "conversation_id", "last_error"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(f"SELECT {column} FROM {table}")


@pytest.mark.parametrize(
    ("kept", "kind", "operation"),
    [
        (Queue.TRIAGE, "conversation", "triage"),
        (Queue.TRIAGE, "email", "triage"),
        (Queue.DISTILLATION, "archive", "distillation"),
        (Queue.FOLLOWUP, "quality", "quality"),
        (Queue.FOLLOWUP, "transition", "transition"),
    ],
)
async def test_what_was_given_up_keeps_the_raw_answer_and_comes_back_to_its_queue(
    line: Line, kept: Queue, kind: str, operation: str
) -> None:
    await line.add(kept, "c", kind, words="kept", ids=[7])
    (work,) = await line.take(kept)
    number = await line.give_up(work, "nonsense \x00 with \udc80 bytes" + "x" * 50_000)
    (listed,) = await line.run(lambda tx: failed.list_failed(tx, 10))
    assert (listed.id, listed.op_type, listed.audience) == (number, operation, "a")
    assert "kept" not in repr(listed)
    context = await line.run(lambda tx: failed.read_context(tx, number, "a"))
    assert context is not None
    assert context["answer"].startswith("nonsense \ufffd with ? bytesxxx")
    assert len(context["answer"]) == failed.MAX_ANSWER_CHARS
    assert await line.run(lambda tx: failed.read_context(tx, number, "another")) is None
    assert await line.run(lambda tx: failed.requeue_failed(tx, None)) == [number]
    (again,) = await line.take(kept)
    assert (again.kind, again.conversation_id, again.payload, again.attempts) == (
        kind,
        "c",
        {"words": "kept", "ids": [7]},
        0,
    )
    assert (again.audience, again.speaker, again.occurred_at) == ("a", "Ada", START)


async def test_ten_thousand_rows_are_claimed_and_finished_by_two_workers_once_each(line: Line) -> None:
    """Each step costs the same at the end as at the beginning: no step looks at the whole queue."""

    async def fill(tx: SpaceTransaction) -> int:
        return await tx.execute(
            "INSERT INTO pending_triage (space_id, conversation_id, payload, occurred_at, enqueued_at, not_before)"
            " SELECT %(space_id)s, 'c' || n %% 500, '{}', %(now)s, %(now)s, %(now)s FROM generate_series(1, 10000) n"
        )

    await line.run(fill)
    done: list[int] = []

    async def work(holder: str) -> None:
        while rows := await line.take(Queue.TRIAGE, holder, 50):

            async def write(tx: SpaceTransaction, rows: list[QueuedWork] = rows) -> None:
                for row in rows:
                    assert await finish(tx, [row], holder)

            await line.run(write)
            done.extend(row.id for row in rows)

    clock = line.clock.monotonic()
    await asyncio.gather(work("one"), work("two"))
    while len(done) < 10_000:
        await work("one")
    assert sorted(done) == sorted(set(done))
    assert len(done) == 10_000
    assert line.clock.monotonic() - clock < 60


@pytest.mark.parametrize("heads", [False, True])
async def test_a_conversation_that_is_held_up_hides_nothing_behind_it(line: Line, heads: bool) -> None:
    async def fill(tx: SpaceTransaction) -> Any:
        return await tx.execute(
            "INSERT INTO pending_triage (space_id, conversation_id, payload, occurred_at, enqueued_at, not_before)"
            " SELECT %(space_id)s, 'long', '{}', %(now)s, %(now)s, %(now)s FROM generate_series(1, 2000) n"
        )

    await line.run(fill)
    (head,) = await line.take(Queue.TRIAGE, limit=1)
    await line.give_back(head)
    other = await line.add(Queue.TRIAGE, "short")
    assert [row.id for row in await line.take(Queue.TRIAGE, heads=heads)] == [other]


@EVERY_QUEUE
@pytest.mark.parametrize("heads", [False, True])
async def test_a_clock_that_is_set_back_stops_nothing_for_longer_than_two_hours(
    line: Line, kept: Queue, heads: bool
) -> None:
    async def due() -> bool:
        found = await line.database.across(
            lambda tx: crossing.find_due_spaces(tx, quiet_since=None, skipped=(), limit=10_000), as_worker=True
        )
        return line.space_id in {row.space_id for row in found}

    fresh, leased, paused = [await line.add(kept, conversation) for conversation in ("", "c", "d")]
    taken = {work.id: work for work in await line.take(kept, heads=heads)}
    await line.give_back(taken[paused])
    await line.give_back(taken[fresh], failed=False, after=timedelta(0))
    new = await line.add(kept)
    line.clock.advance(-timedelta(hours=1))
    assert [row.id for row in await line.take(kept, "two", heads=heads)] == [new]
    line.clock.advance(-timedelta(hours=3))
    assert (await line.run(queue.backlog)).leased == 0
    assert await due()
    assert [row.id for row in await line.take(kept, "three", heads=heads)] == [fresh, leased, paused, new]
    assert not await due()
    assert (await line.run(queue.backlog)).leased == 4
    assert await line.run(lambda tx: finish(tx, [taken[leased]], "one")) is False


@pytest.mark.parametrize("heads", [False, True])
async def test_what_is_said_now_goes_before_a_mailbox_that_was_imported_earlier(line: Line, heads: bool) -> None:
    for kind in ("email", "calendar", "bootstrap"):
        for _ in range(3):
            await line.add(Queue.TRIAGE, kind=kind)
    said = [await line.add(Queue.TRIAGE, "talk", kind="conversation") for _ in range(2)]
    if not heads:
        assert [row.id for row in await line.take(Queue.TRIAGE, limit=2)] == said
    else:
        (first,) = await line.take(Queue.TRIAGE, limit=1, heads=True)
        assert first.id == said[0]
    rows = await line.take(Queue.TRIAGE, limit=7, heads=heads)
    assert [row.kind for row in rows] == ["bootstrap"] * 3 + ["calendar"] * 3 + ["email"]


async def test_a_conversation_that_never_ends_starves_no_mailbox(line: Line) -> None:
    mail = await line.add(Queue.TRIAGE, kind="email")
    for _ in range(SHARE):
        await line.add(Queue.TRIAGE, kind="conversation")
    rows = [row for turn in range(1, SHARE + 1) for row in await line.take(Queue.TRIAGE, limit=1, turn=turn)]
    assert [row.kind for row in rows] == ["conversation"] * (SHARE - 1) + ["email"]
    assert rows[-1].id == mail


async def test_a_conversation_is_claimed_at_once_behind_ten_thousand_mails(line: Line) -> None:
    async def pile_up(tx: SpaceTransaction) -> None:
        await tx.execute(
            """
            INSERT INTO pending_triage (space_id, kind, payload, occurred_at, enqueued_at, not_before)
            SELECT %(space_id)s, 'email', '{}', %(now)s, %(now)s, '-infinity' FROM generate_series(1, 10000)
            """
        )

    await line.run(pile_up)
    said = await line.add(Queue.TRIAGE, "talk", kind="conversation")
    async with asyncio.timeout(1):
        rows = await line.take(Queue.TRIAGE, limit=3, heads=True)
    assert [row.kind for row in rows] == ["conversation", "email", "email"]
    assert rows[0].id == said
