"""What is concluded is concluded once, within the day's budget, and by the word that weighs most."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from perdure import ModelFailed, Space
from perdure.cognition import consolidation, think
from perdure.rules.identity import card
from tests.integration.conftest import open_memory
from tests.integration.test_cognition import number_of, of_type, save, trait, update
from tests.integration.test_upkeep import outdate, run

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls
    from tests.doubles.chat_server import ChatServer, Request
    from tests.doubles.clock import SkippingClock
    from tests.doubles.embedder import HashedEmbedder

HOUR = timedelta(hours=1)
HARBOUR = "Ada walks through the old harbour of Oslo, part {}."


async def think_for_a_moment(space: Space) -> None:
    """A run whose time is up after its first conclusion."""
    row = await space._memory.find_space(space.name)
    assert row is not None
    report = await think(space._memory.resources, row, "hurried", trigger="asked", until=0.0)
    assert not report.finished


async def fifty_notes(space: Space) -> None:
    for n in range(50):
        await save(space, f"Note {n} about matter {n * 7919}.", salience=3)


def pattern(request: Request) -> dict[str, object]:
    return {"patterns": [{"text": "Notes come back.", "rests_on": [number_of(request, "Note 3 ")]}]}


async def test_a_reflection_is_drawn_once_though_the_run_was_cut_off_after_it(judged: Space, chat: ChatServer) -> None:
    await fifty_notes(judged)
    chat.answer("reflection", pattern)
    await think_for_a_moment(judged)
    await judged.think()
    assert len(await of_type(judged, "reflection")) == 1
    assert len(chat.asked("reflection")) == 1


async def test_a_reflection_that_failed_is_drawn_once_by_the_next_run(judged: Space, chat: ChatServer) -> None:
    await fifty_notes(judged)
    chat.answer("reflection", "I would rather not say.")
    assert "reflection" in (await judged.think()).failed
    chat.answer("reflection", pattern)
    for _ in range(3):
        await judged.think()
    assert len(await of_type(judged, "reflection")) == 1


async def test_a_reflection_that_shows_nothing_is_not_asked_for_again(judged: Space, chat: ChatServer) -> None:
    await fifty_notes(judged)
    for _ in range(3):
        await judged.think()
    assert not await of_type(judged, "reflection")
    assert len(chat.asked("reflection")) == 1


async def test_no_question_is_asked_beyond_the_days_budget(
    urls: ServerUrls,
    embedder: HashedEmbedder,
    noon: SkippingClock,
    chat: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consolidation, "MOST", 1)
    async with open_memory(urls, embedder, clock=noon, thinker_url=chat.url, daily_call_budget=2) as memory:
        space = memory.space("thrifty")
        for n in range(3):
            await save(space, f"Matter {n * 7919} is weighty.", salience=9)
        report = await space.consolidate()
        assert report.outage is not None
        assert "2 background calls" in report.outage
        assert report.conclusions == {"consolidation": 2}
        assert len(chat.asked("consolidation")) == 2
        noon.advance(timedelta(days=1))
        assert (await space.consolidate()).outage is None
        assert len(chat.asked("consolidation")) == 3


async def test_what_is_left_of_an_episode_as_the_day_moves_on_is_none_of_its_own(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    for n in range(4):
        await save(judged, HARBOUR.format(n))
        if n == 2:
            await judged.think()
        noon.advance(8 * HOUR)
    asked = len(chat.asked("episode"))
    await judged.think()
    (episode,) = await of_type(judged, "episode")
    assert len(episode.related_ids) == 4, "what came later is told with those that fell out of the day"
    assert len(chat.asked("episode")) == asked + 1
    for _ in range(3):
        noon.advance(5 * HOUR)
        await judged.think()
    assert [each.id for each in await of_type(judged, "episode")] == [episode.id]
    assert len(chat.asked("episode")) == asked + 1


async def test_consolidation_can_be_asked_for_alone(judged: Space, chat: ChatServer) -> None:
    for n in range(3):
        await save(judged, HARBOUR.format(n), salience=9)
    assert (await judged.consolidate()).conclusions == {"consolidation": 1}
    assert not chat.asked("episode")
    assert (await judged.think()).conclusions == {"episodes": 1}


@pytest.mark.parametrize("odd", [{"pinned": True}, {"metadata": {"room": "9"}}, {"speaker": "Bob"}])
async def test_what_is_pinned_or_labelled_or_said_otherwise_is_not_merged(
    judged: Space, chat: ChatServer, odd: dict[str, object]
) -> None:
    one = await save(judged, "The rent is 900 euros.", salience=8)
    two = await save(judged, "Ada pays 900 euros of rent.", salience=9, **odd)
    chat.answer("consolidation", {"merges": [{"rests_on": [1, 2], "summary": "Ada pays a rent of 900 euros."}]})
    await judged.think()
    assert {memory.id for memory in await judged.list()} == {one, two}


async def test_one_piece_of_a_long_text_is_not_merged_away_from_the_others(judged: Space, chat: ChatServer) -> None:
    await judged.save("The rent is 900 euros.\n\n" + "The harbour was rebuilt in stone. " * 60, salience=8)
    await save(judged, "Ada pays 900 euros of rent.", salience=8)
    before = {memory.id for memory in await judged.list()}

    def answer(request: Request) -> dict[str, object]:
        numbers = [number_of(request, "The rent"), number_of(request, "Ada pays")]
        return {"merges": [{"rests_on": numbers, "summary": "Ada pays a rent of 900 euros."}]}

    chat.answer("consolidation", answer)
    await judged.consolidate()
    assert chat.asked("consolidation")
    assert {memory.id for memory in await judged.list()} == before


def cities(request: Request) -> dict[str, object]:
    """The card and a trait say what each memory that is shown says of where Ada lives."""
    found = re.findall(r"\[(\d+)\][^\n]*lives in (\w+)", request.data("memories"))
    return {
        "profile_updates": [update("location", city, [int(number)]) for number, city in found],
        "trait_updates": [trait("home", city, [int(number)]) for number, city in found],
    }


async def test_what_the_assistant_said_later_does_not_overrule_the_user(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("consolidation", cities)
    boston = await save(judged, "Ada lives in Boston.", salience=9)
    await judged.think()
    noon.advance(timedelta(days=1))
    denver = await save(judged, "Ada lives in Denver.", salience=9)
    await run(
        judged, "UPDATE memories SET trust = 'assistant' WHERE space_id = %(space_id)s AND id = %(id)s", id=denver
    )
    await judged.think()
    assert card((await judged.identity()).profile) == "location: Boston"
    assert [(row.value, row.evidence_ids) for row in await judged.traits()] == [("Boston", (boston,))]


async def test_older_news_changes_no_trait_and_the_same_again_adds_evidence(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("consolidation", cities)
    first = await save(judged, "Ada lives in Oslo.", salience=9)
    await judged.think()
    await save(judged, "Ada lives in Rome.", salience=9, source_date=noon.now() - timedelta(days=400))
    await judged.think()
    again = await save(judged, "As said, Ada lives in Oslo.", salience=9)
    await judged.think()
    assert [(row.value, row.evidence_ids) for row in await judged.traits()] == [("Oslo", (first, again))]


async def test_what_took_the_place_of_a_line_of_the_card_is_read_however_light_it_is(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer("consolidation", cities)
    boston = await save(judged, "Ada lives in Boston.", salience=9)
    await judged.think()
    denver = await save(judged, "Ada lives in Denver.", salience=4)
    oslo = await save(judged, "Ada lives in Oslo.", salience=4)
    await outdate(judged, boston, denver)
    await outdate(judged, denver, oslo)
    await judged.think()
    assert card((await judged.identity()).profile) == "location: Oslo"
    asked = len(chat.asked("consolidation"))
    await judged.think()
    assert len(chat.asked("consolidation")) == asked


async def test_what_was_told_as_a_start_reaches_the_card_at_the_next_run(judged: Space, chat: ChatServer) -> None:
    facts = [{"text": "Ada lives in Boston.", "category": "fact", "tags": []}]
    chat.answer("bootstrap", {"facts": facts})
    chat.answer("consolidation", cities)
    await judged.bootstrap("Hello, I'm Ada and live in Boston.")
    await judged.drain()
    (memory,) = await judged.list()
    assert memory.salience < consolidation.WEIGHTY
    await judged.think()
    assert card((await judged.identity()).profile) == "location: Boston"


async def test_a_thinker_that_is_spent_still_answers_who_asks(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer
) -> None:
    async with open_memory(urls, embedder, clock=noon, thinker_url=chat.url, daily_call_budget=0) as memory:
        space = memory.space("spent")
        await save(space, "The harbour closes in winter.", salience=9)
        assert "used up" in str((await space.think()).outage)
        chat.answer("consult_deep_thinker", "Sell it.")
        assert (await space.consult("Should Ada sell the boat?")).answer == "Sell it."
        chat.answer("consult_deep_thinker", "SEARCH: more")
        with pytest.raises(ModelFailed):
            await space.consult("Should Ada sell the boat?")


async def test_time_never_changes_the_card_nor_takes_away_what_it_rests_on(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("consolidation", cities)
    await save(judged, "Ada lives in Boston.", salience=9)
    await save(judged, "It rained.", salience=2)
    await judged.think()
    for _ in range(4):
        noon.advance(timedelta(days=100))
        await judged.upkeep()
    (identity,) = await of_type(judged, "identity")
    assert (identity.salience, identity.summary) == (10, "location: Boston")
    assert {memory.summary for memory in await judged.list()} == {"Ada lives in Boston.", "location: Boston"}


async def test_a_consultation_uses_nothing_of_the_budget_of_background_work(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer
) -> None:
    async with open_memory(urls, embedder, clock=noon, thinker_url=chat.url, daily_call_budget=1) as memory:
        space = memory.space("consulting")
        await space.save("Ada lives in Lisbon.", salience=9)
        chat.answer("consult_deep_thinker", "She does.")
        await space.consult("Where does Ada live?")
        assert (await space.stats()).paused is None
        assert [row.live for row in await space.usage() if row.call_site == "consult_deep_thinker"] == [True]
        await space.consolidate()
        assert len(chat.asked("consolidation")) == 1
