"""A text about the user becomes memories from the first day, or is kept as it is."""

from __future__ import annotations

import pytest

from perdure import Conflict, Nothing, Pending, Space
from tests.doubles.chat_server import GARBAGE, ChatServer

TEXT = "I'm Ada, an engineer in Lisbon. Bob is my brother. I climb, and I like short answers."
PROFILE = {
    "name": "Ada",
    "pronouns": "",
    "location": "Lisbon",
    "occupation": "engineer",
    "important_people": [{"name": "Bob", "relation": "brother"}],
    "recurring_topics": ["climbing"],
    "traits": [{"category": "style", "key": "answers", "value": "likes short answers"}],
    "facts": [
        {"text": "Ada climbs", "category": "fact", "tags": ["sport"]},
        {"text": "ADA climbs", "category": "fact", "tags": []},
    ],
}


async def test_every_thing_the_text_says_becomes_a_memory_of_its_own(judged: Space, chat: ChatServer) -> None:
    chat.answer("bootstrap", PROFILE)
    assert isinstance(await judged.bootstrap(TEXT, speaker="Ada", operation_id="b-1"), Pending)
    report = await judged.drain()
    assert report.outcomes == {"stored": 7}
    kept = {memory.summary: memory for memory in await judged.list()}
    assert set(kept) == {
        "Ada – name: Ada",
        "Ada – location: Lisbon",
        "Ada – occupation: engineer",
        "Ada – brother: Bob",
        "Ada – recurring topic: climbing",
        "Ada – answers: likes short answers",
        "Ada climbs",
    }
    assert {(one.salience, one.source, one.trust, one.speaker) for one in kept.values()} == {
        (7.0, "bootstrap", "user", "Ada")
    }
    assert kept["Ada – answers: likes short answers"].memory_type == "preference"
    assert kept["Ada – recurring topic: climbing"].tags == ("interest", "user_knowledge", "recurring_topic")
    assert set(kept["Ada – brother: Bob"].entities) == {"Ada", "Bob"}
    (evidence,) = await judged.evidence(kept["Ada climbs"].id)
    assert (evidence.kind, evidence.external_id, evidence.excerpt) == ("bootstrap", "b-1", TEXT)
    (request,) = chat.asked("bootstrap")
    assert request.data("text") == TEXT


async def test_without_a_thinker_the_text_is_kept_as_it_is_in_chunks(space: Space) -> None:
    text = "\n".join(f"{number}. I like this and that, and my password is hunter2." for number in range(60))
    await space.bootstrap(text)
    await space.drain()
    kept = sorted(await space.list(), key=lambda one: one.chunk_no)
    assert len(kept) > 1
    assert {(one.salience, one.source, one.trust) for one in kept} == {(7.0, "bootstrap", "user")}
    assert "hunter2" not in "".join(one.summary for one in kept)


async def test_a_profile_of_nobody_stores_nothing(judged: Space, chat: ChatServer) -> None:
    empty = {name: "" if isinstance(value, str) else [] for name, value in PROFILE.items()}
    chat.answer("bootstrap", empty)
    await judged.bootstrap("Lorem ipsum")
    report = await judged.drain()
    assert report.outcomes == {"nothing": 1}


async def test_a_long_text_is_read_in_pieces_and_what_both_say_is_kept_once(judged: Space, chat: ChatServer) -> None:
    chat.answer("bootstrap", PROFILE)
    await judged.bootstrap(f"{TEXT}\n" * 300)
    report = await judged.drain()
    assert (report.done, report.outcomes) == (2, {"stored": 7, "merged": 7})
    assert len(chat.asked("bootstrap")) == 2
    assert len(await judged.list()) == 7


async def test_a_piece_of_a_long_text_that_fails_loses_nothing_of_the_others(judged: Space, chat: ChatServer) -> None:
    chat.answer("bootstrap", lambda request: GARBAGE if "Berta" in request.user else PROFILE)
    await judged.bootstrap(f"{TEXT}\n" * (16_000 // (len(TEXT) + 1)) + f"I'm Berta, {'a climber, ' * 20}\n" * 50)
    report = await judged.drain()
    assert (report.done, report.waiting) == (1, 1)
    assert len(await judged.list()) == 7


async def test_a_text_that_says_nothing_is_not_staged(space: Space) -> None:
    assert await space.bootstrap("🙂 …") == Nothing("no letter or digit in the text")


async def test_the_same_operation_is_staged_once(space: Space) -> None:
    first = await space.bootstrap(TEXT, operation_id="b-2")
    assert await space.bootstrap(TEXT, operation_id="b-2") == first
    with pytest.raises(Conflict):
        await space.bootstrap("Somebody else", operation_id="b-2")
    assert (await space.drain()).done == 1


async def test_a_text_that_is_not_to_be_remembered_is_not_staged(space: Space) -> None:
    said = "Don't remember this: I'm looking for a new job."
    assert await space.bootstrap(said, operation_id="b-3") == Nothing("the user asked not to remember this")
    assert (await space.drain()).done == 0
