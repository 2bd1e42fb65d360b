"""What was kept verbatim is judged once there is a judge; nothing forgotten comes back by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from perdure import Space
from perdure.errors import ModelUnavailable
from perdure.types import SourceItem
from tests.doubles.chat_server import ChatServer, Request
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.test_contradiction import everything, live


@pytest.fixture
async def before(urls, embedder: HashedEmbedder, judged: Space) -> AsyncIterator[Space]:
    """The same space, as a memory without a model sees it; three exchanges are in it."""
    async with open_memory(urls, embedder, clock=judged._memory.resources.database.clock) as memory:
        space = memory.space(judged.name)
        await space.capture(user="I moved to Lisbon in May", assistant="How nice!", speaker="Ada", conversation_id="c")
        await space.capture(user="What time is it?", assistant="Noon.", speaker="Ada", conversation_id="c")
        await space.capture(
            user="Will it rain?", tools=[{"name": "get_weather", "content": "Lisbon: rain at 3 pm"}], speaker="Ada"
        )
        await space.drain()
        yield space


async def test_what_is_worth_keeping_takes_the_place_of_the_words_and_the_rest_sinks(
    before: Space, judged: Space, chat: ChatServer
) -> None:
    moved = {"summary": "Ada moved to Lisbon in May", "salience": 8, "said_by": "user"}
    chat.answer(
        "triage",
        lambda request: moved if "Lisbon" in request.data("user") else {"salience": 1, "summary": "small talk"},
    )
    assert await judged.retriage() == 3
    assert len(await live(judged)) == 6
    report = await judged.drain()
    assert (report.done, report.failed) == (3, 0)
    assert {tuple(map(request.data, ("user", "assistant", "tools"))) for request in chat.asked("triage")} == {
        ("I moved to Lisbon in May", "How nice!", ""),
        ("What time is it?", "Noon.", ""),
        ("Will it rain?", "", "get_weather: Lisbon: rain at 3 pm"),
    }
    stored = await everything(judged)
    new = stored["Ada moved to Lisbon in May"]
    assert (new.speaker, new.trust, new.conversation_id) == ("Ada", "user", "c")
    assert stored["I moved to Lisbon in May"].superseded_by == new.id
    assert stored["How nice!"].superseded_by == new.id
    assert {text: memory.salience for text, memory in stored.items() if memory.superseded_at is None} == {
        "Ada moved to Lisbon in May": pytest.approx(new.salience),
        "What time is it?": 1.0,
        "Noon.": 1.0,
        "Will it rain?": 1.0,
        "Lisbon: rain at 3 pm": 1.0,
    }
    assert await judged.retriage() == 0


async def test_a_verdict_never_makes_more_of_what_is_not_worth_keeping(
    before: Space, judged: Space, chat: ChatServer
) -> None:
    (memory,) = [one for one in await before.list() if one.summary == "Noon."]
    await before.update(memory.id, salience=2)
    chat.answer("triage", {"salience": 4, "summary": "small talk"})
    await judged.retriage()
    await judged.drain()
    assert (await judged.get(memory.id)).salience == 2.0


async def test_where_the_judge_uses_the_very_words_they_stay(before: Space, judged: Space, chat: ChatServer) -> None:
    await judged.retriage()
    await judged.drain()
    assert await live(judged) == ["I moved to Lisbon in May", "What time is it?", "Will it rain?"]
    assert await judged.retriage() == 0


async def test_what_was_forgotten_while_it_waited_does_not_come_back(
    before: Space, judged: Space, chat: ChatServer
) -> None:
    await judged.retriage()
    (memory,) = [one for one in await before.list() if one.summary == "I moved to Lisbon in May"]
    await judged.forget(memory.id)
    await judged.drain()
    assert not any("Lisbon in May" in text for text in await everything(judged))


async def test_without_a_judge_nothing_is_put_back(before: Space) -> None:
    with pytest.raises(ModelUnavailable, match="PERDURE_THINKER_URL"):
        await before.retriage()


async def test_mails_and_events_are_judged_later_too(
    judged: Space, urls, embedder: HashedEmbedder, chat: ChatServer
) -> None:
    async with open_memory(urls, embedder, clock=judged._memory.resources.database.clock) as memory:
        space = memory.space(judged.name)
        when = datetime(2026, 3, 5, 14, tzinfo=UTC)
        await space.import_items(
            [
                SourceItem("email", "<1@example.org>", "Subject: Lease\nThe lease ends in June", when, speaker="Lena"),
                SourceItem("email", "<2@example.org>", "Subject: Sale\nHalf price on kettles", when, speaker="Shop"),
                SourceItem("calendar", "dentist#1", "Dentist on 5 March", when, series="dentist"),
            ],
            source="box",
        )
        await space.drain()
    worth = {"summary": "The lease ends in June", "salience": 6, "save": True, "said_by": "tool"}
    dentist = {"summary": "Dentist on 5 March at two", "salience": 5, "save": True, "said_by": "tool"}

    def verdict(request: Request) -> dict[str, object]:
        item = request.data("item")
        if "lease" in item:
            return worth
        return dentist if "Dentist" in item else {"salience": 1, "summary": "an advertisement", "save": False}

    chat.answer("triage", verdict)
    assert await judged.retriage() == 3
    report = await judged.drain()
    assert (report.done, report.failed) == (3, 0)
    stored = await everything(judged)
    lease, event = stored["The lease ends in June"], stored["Dentist on 5 March at two"]
    assert (lease.memory_type, lease.trust, lease.speaker) == ("email", "external", "Lena")
    assert stored["Subject: Lease\nThe lease ends in June"].superseded_by == lease.id
    assert (event.memory_type, event.superseded_at) == ("calendar", None)
    assert stored["Dentist on 5 March"].superseded_by == event.id
    sale = stored["Subject: Sale\nHalf price on kettles"]
    assert (sale.salience, sale.superseded_at) == (1.0, None)
    assert await judged.retriage() == 0


async def test_what_two_audiences_know_of_one_event_is_judged_apart(
    judged: Space, urls, embedder: HashedEmbedder, chat: ChatServer
) -> None:
    when = datetime(2026, 3, 5, 14, tzinfo=UTC)
    async with open_memory(urls, embedder, clock=judged._memory.resources.database.clock) as memory:
        for audience, words in ((None, "Ada is busy"), ("ada", "Ada sees the oncologist")):
            space = memory.space(judged.name, audience=audience)
            await space.import_items([SourceItem("calendar", f"u1#{words}", words, when, series="u1")], source=words)
            await space.drain()
    chat.answer("triage", lambda request: {"summary": f"It says: {request.data('item')}", "salience": 5, "save": True})
    assert await judged.retriage() == 2
    assert (await judged.drain()).failed == 0
    assert all(
        ("busy" in request.data("item")) != ("oncologist" in request.data("item")) for request in chat.asked("triage")
    )
    private = judged._memory.space(judged.name, audience="ada")
    assert not any("oncologist" in text for text in await live(judged))
    assert any("oncologist" in text for text in await live(private))
    assert any("busy" in text for text in await live(judged))
