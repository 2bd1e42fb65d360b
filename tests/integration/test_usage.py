"""What models were asked is counted by day and space; a budget sees only what ran in the background."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

import pytest

from perdure import SimulatedClock
from perdure.store.checkpoints import read_checkpoint, write_checkpoint
from perdure.store.database import Database, SpaceTransaction
from perdure.store.spaces import create_space
from perdure.store.usage import Used, read_usage, record_usage, used_today
from tests.integration.conftest import prepares

T = TypeVar("T")
Run = Callable[[Callable[[SpaceTransaction], Awaitable[T]]], Awaitable[T]]


@dataclass(frozen=True)
class Call:
    call_site: str = "triage"
    role: str = "thinker"
    model: str = "big"
    ok: bool = True
    prompt_tokens: int = 100
    completion_tokens: int = 10
    latency_ms: float = 2.5
    live: bool = False


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock(datetime(2026, 3, 1, 23, 59, tzinfo=UTC))


@pytest.fixture
async def database(urls, clock: SimulatedClock) -> AsyncIterator[Database]:
    database = Database(urls, clock, prepare=prepares())
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def run(database: Database) -> Run:
    space = await database.across(lambda tx: create_space(tx, f"usage-{secrets.token_hex(6)}"))
    return lambda work: database.in_space(space.id, work)


async def test_calls_of_a_day_are_added_up_failures_and_tokens_included(run: Run) -> None:
    await run(lambda tx: record_usage(tx, [Call(), Call(ok=False), Call(call_site="quality", role="subagent")]))
    await run(lambda tx: record_usage(tx, [Call()]))
    await run(lambda tx: record_usage(tx, []))
    assert await run(used_today) == Used(calls=4, tokens=440)
    quality, triage = await run(lambda tx: read_usage(tx, 1))
    assert (quality.call_site, quality.calls) == ("quality", 1)
    assert (triage.day, triage.role, triage.model) == (date(2026, 3, 1), "thinker", "big")
    assert (triage.calls, triage.failures, triage.prompt_tokens, triage.completion_tokens) == (3, 1, 300, 30)
    assert triage.latency_ms == pytest.approx(7.5)


async def test_what_a_turn_waited_for_is_counted_but_is_not_in_the_budget(run: Run) -> None:
    await run(lambda tx: record_usage(tx, [Call(live=True), Call()]))
    assert await run(used_today) == Used(1, 110)
    assert [row.live for row in await run(lambda tx: read_usage(tx, 1))] == [False, True]


async def test_a_new_day_begins_at_midnight_in_utc_with_nothing_used(run: Run, clock: SimulatedClock) -> None:
    assert await run(used_today) == Used(0, 0)
    await run(lambda tx: record_usage(tx, [Call()]))
    clock.advance(timedelta(minutes=2))
    assert await run(used_today) == Used(0, 0)
    await run(lambda tx: record_usage(tx, [Call()]))
    assert [row.day.day for row in await run(lambda tx: read_usage(tx, 2))] == [2, 1]
    assert [row.day.day for row in await run(lambda tx: read_usage(tx, 1))] == [2]


async def test_two_that_record_at_once_lose_nothing_and_do_not_wait_for_ever(run: Run) -> None:
    calls = [Call(call_site=site) for site in ("quality", "triage", "entities")]
    batches = [calls, calls[::-1], [replace(call, ok=False) for call in calls]] * 4
    await asyncio.gather(*(run(lambda tx, batch=batch: record_usage(tx, batch)) for batch in batches))
    assert (await run(used_today)).calls == 36


async def test_a_checkpoint_is_what_was_written_last_for_each_source_and_audience(run: Run) -> None:
    assert await run(lambda tx: read_checkpoint(tx, "imap:inbox", None)) is None
    await run(lambda tx: write_checkpoint(tx, "imap:inbox", None, {"uid": 3}))
    await run(lambda tx: write_checkpoint(tx, "imap:other", None, {"uid": 9}))
    await run(lambda tx: write_checkpoint(tx, "imap:inbox", "ada", {"uid": 5}))
    await run(lambda tx: write_checkpoint(tx, "imap:inbox", None, {"uid": 7, "validity": "x"}))
    assert await run(lambda tx: read_checkpoint(tx, "imap:inbox", None)) == {"uid": 7, "validity": "x"}
    assert await run(lambda tx: read_checkpoint(tx, "imap:inbox", "ada")) == {"uid": 5}
    assert await run(lambda tx: read_checkpoint(tx, "imap:other", None)) == {"uid": 9}
