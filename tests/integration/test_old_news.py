"""What was replaced or forgotten doesn't come back with an older telling of it; told anew, it is news."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from perdure import Message, Space
from perdure.types import SourceItem
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock

FLAT = "I live in a flat in Boston"
HOUSE = "I live in a house in Denver"
MORNING = datetime(2026, 3, 1, 8, tzinfo=UTC)
LATER = timedelta(hours=1)


async def words(space: Space) -> list[str]:
    return sorted(memory.summary for memory in await space.list(limit=100))


async def only(space: Space, text: str) -> int:
    (found,) = [memory.id for memory in await space.list(limit=100) if memory.summary == text]
    return found


def say(text: str, at: datetime | None = MORNING) -> dict[str, object]:
    return {"role": "user", "content": text, "speaker": "Ada"} | ({"at": at.isoformat()} if at else {})


async def moved(judged: Space, chat: ChatServer, noon: SkippingClock) -> None:
    """Ada said where she lives, and an hour later where she lives now."""
    chat.answer("entities", {"entities": ["home"]})
    for text in (FLAT, HOUSE):
        await judged.capture(user=text, speaker="Ada", occurred_at=noon.now())
        chat.answer("contradiction", {"verdict": "UPDATES"})
        await judged.drain()
        noon.advance(LATER)
    assert await words(judged) == [HOUSE]


def distils(chat: ChatServer, *facts: str) -> None:
    told = [{"text": fact, "salience": 7, "tags": [], "said_by": "user"} for fact in facts]
    chat.answer("distillation", {"facts": told})


async def test_what_was_replaced_stays_so_when_the_old_message_is_archived(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await moved(judged, chat, noon)
    distils(chat, FLAT, "Ada has a cat called Momo")
    await judged.archive([say(f"{FLAT}, and I have a cat called Momo", noon.now() - 2 * LATER)])
    report = await judged.drain()
    assert report.outcomes == {"nothing": 1, "stored": 1}
    assert await words(judged) == ["Ada has a cat called Momo", HOUSE]


async def test_a_message_that_nobody_dated_is_older_than_what_is_known(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await moved(judged, chat, noon)
    distils(chat, FLAT)
    await judged.archive([say(FLAT, None)])
    await judged.drain()
    assert await words(judged) == [HOUSE]


async def test_what_was_said_again_after_it_was_replaced_is_news(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await moved(judged, chat, noon)
    distils(chat, FLAT)
    await judged.archive([say(FLAT, noon.now())])
    await judged.drain()
    assert await words(judged) == [FLAT, HOUSE]


async def test_of_several_values_the_last_one_counts_for_how_new_the_truth_is(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await moved(judged, chat, noon)
    await judged.capture(user="I live on a boat in Lisbon", speaker="Ada", occurred_at=noon.now())
    await judged.drain()
    distils(chat, FLAT)
    await judged.archive([say(FLAT, noon.now() - timedelta(minutes=1))])
    await judged.drain()
    assert await words(judged) == ["I live on a boat in Lisbon"]


async def test_an_import_of_old_talk_brings_nothing_back_that_was_replaced(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await moved(judged, chat, noon)
    old = Message("1", FLAT, "Ada", noon.now() - 2 * LATER, "talk")
    report = await judged.import_messages([old], source="talk.jsonl")
    assert (report.stored, report.known) == (0, 1)
    assert await words(judged) == [HOUSE]


async def test_what_was_forgotten_stays_so_when_its_messages_are_archived(space: Space) -> None:
    await space.capture(user=FLAT, assistant="Noted, thanks!", speaker="Ada", occurred_at=MORNING)
    await space.drain()
    await space.forget(await only(space, FLAT))
    await space.archive(
        [say("  i live in a FLAT in Boston "), {"role": "assistant", "content": "Noted, thanks!"}, say("I like figs")]
    )
    await space.drain()
    assert await words(space) == ["I like figs", "Noted, thanks!"]


async def test_a_model_is_not_shown_again_what_was_forgotten_in_other_words(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    said = "By the way, my doctor says that I have diabetes"
    chat.answer("triage", {"summary": "Ada has diabetes"})
    await judged.capture(user=said, speaker="Ada", occurred_at=noon.now())
    await judged.drain()
    noon.advance(LATER)
    await judged.forget(await only(judged, "Ada has diabetes"))
    distils(chat, "Ada is a diabetic")
    await judged.archive([say(said, noon.now() - LATER), say("I like figs", noon.now() - LATER)])
    await judged.archive([say(said, noon.now() - LATER)])
    await judged.drain()
    (request,) = chat.asked("distillation")
    assert "diabetes" not in request.user


@pytest.mark.parametrize("summary", [FLAT, "Ada resides in Boston"])
async def test_a_capture_that_was_queued_when_its_words_were_forgotten_stores_nothing(
    judged: Space, chat: ChatServer, noon: SkippingClock, summary: str
) -> None:
    await judged.capture(user=FLAT, speaker="Ada", occurred_at=noon.now())
    await judged.drain()
    await judged.capture(user=FLAT, speaker="Ada", occurred_at=noon.now())
    noon.advance(LATER)
    await judged.forget(await only(judged, FLAT))
    chat.answer("triage", {"summary": summary})
    await judged.drain()
    assert await words(judged) == []
    # The same of an exchange that a host tells us of too late.
    await judged.capture(user=FLAT, speaker="Ada", occurred_at=noon.now() - LATER)
    report = await judged.drain()
    assert report.outcomes == {"nothing": 1}
    assert await words(judged) == []


async def test_without_a_model_a_queued_capture_brings_nothing_back_either(space: Space) -> None:
    await space.capture(user=FLAT, speaker="Ada")
    await space.drain()
    await space.capture(user=FLAT, assistant="Boston!", speaker="Ada")
    await space.forget(await only(space, FLAT))
    await space.drain()
    assert await words(space) == ["Boston!"]


async def test_what_was_forgotten_may_be_told_anew(space: Space) -> None:
    await space.save(FLAT, speaker="Ada")
    await space.forget(await only(space, FLAT))
    await space.capture(user=FLAT, speaker="Ada")
    await space.drain()
    assert await words(space) == [FLAT]
    await space.forget(await only(space, FLAT))
    await space.save(FLAT)
    assert await words(space) == [FLAT]


async def test_the_same_words_of_another_audience_are_not_forgotten(space: Space) -> None:
    ada = space._memory.space(space.name, audience="ada")
    await ada.save(FLAT, speaker="Ada")
    await ada.forget(await only(ada, FLAT))
    for handle in (space, ada):
        await handle.archive([say(FLAT)])
    await space.drain()
    assert await words(ada) == await words(space) == [FLAT]


async def test_what_somebody_else_said_in_the_same_words_and_waits_is_not_forgotten(space: Space) -> None:
    ada, bob = (space._memory.space(space.name, audience=name) for name in ("ada", "bob"))
    await ada.save(FLAT, speaker="Ada")
    for handle in (ada, bob, space):
        await handle.capture(user=FLAT)
    await ada.forget(await only(ada, FLAT))
    await space.drain()
    assert await words(space) == [FLAT]
    assert await words(bob) == [FLAT, FLAT]
    assert await words(ada) == [FLAT]


async def test_small_talk_around_what_was_forgotten_is_no_trace_of_it(space: Space) -> None:
    await space.capture(user="yes", assistant="Then Boston it is", speaker="Ada")
    await space.drain()
    await space.capture(user="yes", assistant="So it is a deal", speaker="Ada")
    for memory in await space.list():
        await space.forget(memory.id)
    await space.drain()
    assert "So it is a deal" in await words(space)


@pytest.mark.parametrize("at", [MORNING, None])
async def test_a_file_of_another_name_brings_nothing_back_that_was_forgotten(space: Space, at: datetime | None) -> None:
    message = Message("1", FLAT, "Ada", at, "talk")
    await space.import_messages([message], source="talk.jsonl")
    await space.forget(await only(space, FLAT))
    report = await space.import_messages([message], source="copy of talk.jsonl")
    assert (report.stored, report.known) == (0, 1)
    assert await words(space) == []


async def test_a_mail_that_was_queued_twice_is_not_judged_again_once_it_is_forgotten(space: Space) -> None:
    first, second = (SourceItem("email", name, "The rent rises in May", MORNING) for name in ("a@x", "b@x"))
    await space.import_items([first], source="inbox")
    await space.drain()
    await space.import_items([second], source="inbox")
    await space.forget(await only(space, "The rent rises in May"))
    await space.drain()
    assert await words(space) == []


async def test_no_word_of_what_was_forgotten_is_left_in_any_table(space: Space) -> None:
    await space.capture(user=FLAT, speaker="Ada")
    await space.drain()
    await space.forget(await only(space, FLAT))
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def read(tx):  # type: ignore[no-untyped-def]
        return await tx.fetch_all("SELECT digest FROM forgotten_texts WHERE space_id = %(space_id)s")

    traces = await space._memory.resources.database.in_space(row.id, read)
    assert traces
    assert all(len(each["digest"]) == 16 for each in traces)
