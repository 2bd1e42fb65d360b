"""What came in while a model was configured waits for a process that has one, for a while, and says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from perdure import Space
from perdure.types import SourceItem
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls


@pytest.fixture
async def plain(urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock, judged: Space) -> AsyncIterator[Space]:
    """The same space in a process that has no model."""
    async with open_memory(urls, embedder, clock=noon) as memory:
        yield memory.space(judged.name)


async def words(space: Space) -> set[str]:
    return {memory.summary for memory in await space.list(limit=100)}


async def test_a_process_without_a_model_leaves_to_the_others_what_came_in_for_one(
    judged: Space, plain: Space, chat: ChatServer
) -> None:
    chat.answer("triage", {"summary": "Ada sails"})
    await judged.capture(user="I sail, by the way")
    await judged.archive([{"role": "user", "content": "I like figs"}])
    await judged.bootstrap("I'm Ada.")
    await judged.import_items(
        [SourceItem("email", "1", "The rent rises", datetime(2026, 2, 1, tzinfo=UTC))], source="m"
    )
    report = await plain.drain()
    assert (report.done, report.waiting) == (0, 4)
    assert report.outage is not None
    assert "4 that came in while a language model was configured" in report.outage
    assert "2026-03-01 13:00" in report.outage
    assert (await plain.stats()).paused == report.outage
    assert (await judged.stats()).paused is None
    assert (await judged.drain()).done == 4
    assert "Ada sails" in await words(judged)
    assert "I sail, by the way" not in await words(judged)


async def test_after_a_while_nothing_waits_for_a_model_any_more(
    judged: Space, plain: Space, noon: SkippingClock
) -> None:
    await judged.capture(user="I sail", conversation_id="c")
    noon.advance(timedelta(minutes=59))
    await judged.capture(user="I climb", conversation_id="c")
    noon.advance(timedelta(minutes=2))
    report = await plain.drain()
    assert (report.done, report.waiting) == (1, 1)
    noon.advance(timedelta(hours=1))
    report = await plain.drain()
    assert (report.done, report.waiting, report.outage) == (1, 0, None)
    assert await words(plain) == {"I sail", "I climb"}


async def test_what_came_in_without_a_model_is_kept_at_once_unless_it_follows_what_waits(
    judged: Space, plain: Space
) -> None:
    await judged.capture(user="I sail", conversation_id="c")
    await plain.capture(user="I climb", conversation_id="c")
    await plain.capture(user="I swim", conversation_id="d")
    report = await plain.drain()
    assert (report.done, report.waiting) == (1, 2)
    assert await words(plain) == {"I swim"}
    assert (await judged.drain()).done == 2


async def test_questions_about_new_memories_are_left_to_those_who_can_ask_them(
    judged: Space, plain: Space, chat: ChatServer
) -> None:
    await judged.save("I sail")
    assert (await plain.drain()).waiting == 1
    await judged.save("I sail no more")
    await judged.drain()
    assert len(chat.asked("entities")) == 2


async def test_what_is_replayed_waits_for_a_model_like_the_first_time(
    judged: Space, plain: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("triage", "no verdict at all")
    await judged.capture(user="I sail")
    for _ in range(3):
        await judged.drain()
        noon.advance(timedelta(hours=2))
    await judged.replay_failed()
    assert (await plain.drain()).waiting == 1
