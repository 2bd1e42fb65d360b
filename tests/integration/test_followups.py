"""After a memory is stored it is scored, checked against what is older, and an upheaval is understood."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from perdure import Space, Stored
from perdure.store.embedded import ServerUrls
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock

SCORE = {"specificity": 0.8, "uniqueness": 0.4, "entities": ["Lisbon", "lisbon", "Ada"], "confidence": 0.6}
EVENT = "Ada and Bob broke up today"
NOTE = "The breakup of 1 March: plans with Bob no longer hold."


async def tell(space: Space, chat: ChatServer, summary: str, **verdict: object) -> None:
    chat.answer("triage", {"summary": summary, "said_by": "user", **verdict})
    await space.capture(user=summary, assistant="I see.", speaker="Ada")


async def test_quality_raises_the_salience_there_is_by_then_once_and_unites_entities(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer("quality", SCORE)
    chat.answer("entities", {"entities": ["Ada"]})
    await tell(judged, chat, "Ada moved to Lisbon", salience=6)
    report = await judged.drain()
    assert (report.done, report.followed_up) == (1, 1)
    (memory,) = await judged.list()
    assert memory.salience == pytest.approx(6 + 0.6 * 0.4)
    assert memory.confidence == pytest.approx(0.6)
    assert memory.entities == ("Ada", "Lisbon")
    await judged.drain()
    assert len(chat.asked("quality")) == 1


async def test_quality_is_asked_beside_what_is_similar(judged: Space, chat: ChatServer) -> None:
    await tell(judged, chat, "Ada moved to Lisbon in May")
    await judged.drain()
    await tell(judged, chat, "Ada moved to Lisbon in May with Bob")
    await judged.drain()
    first, second = chat.asked("quality")
    assert first.data("similar") == ""
    assert second.data("similar") == "1. Ada moved to Lisbon in May"
    assert second.data("memory") == "Ada moved to Lisbon in May with Bob"


async def test_bad_scores_delete_nothing(judged: Space, chat: ChatServer) -> None:
    chat.answer("quality", {"specificity": 0, "uniqueness": 0, "entities": [], "confidence": 0})
    await tell(judged, chat, "Ada likes things", salience=5)
    await judged.drain()
    (memory,) = await judged.list()
    assert (memory.salience, memory.confidence) == (5.0, 0.0)


async def test_a_saved_memory_outdates_an_older_one_but_is_never_taken_back(judged: Space, chat: ChatServer) -> None:
    old = await judged.save("Ada lives in Boston now", speaker="Ada")
    chat.answer("contradiction", {"reason": "moved", "verdict": "UPDATES"})
    new = await judged.save("Ada lives in Denver now", speaker="Ada")
    assert isinstance(old, Stored)
    assert isinstance(new, Stored)
    assert len(await judged.list()) == 2
    await judged.drain()
    assert [memory.id for memory in await judged.list()] == list(new.ids)
    outdated = await judged.get(old.ids[0])
    assert outdated.superseded_by == new.ids[0]


async def test_a_secret_in_a_note_on_an_upheaval_is_masked(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    for text in ("Ada and Bob plan a wedding", "Ada and Bob look for a flat"):
        await judged.save(text, speaker="Ada")
        noon.advance(timedelta(days=1))
    await judged.drain()
    chat.answer("transition", "The shared password is hunter2xyz no more.")
    await tell(judged, chat, EVENT, salience=9, paradigm_shift=True, tags=["love"])
    await judged.drain()
    (note,) = await judged.list(memory_type="transition")
    assert note.summary == "The shared password is [secret: password] no more."


async def test_an_upheaval_puts_what_was_known_in_a_new_light(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    for text in ("Ada and Bob plan a wedding", "Ada and Bob look for a flat"):
        await judged.save(text, speaker="Ada")
        noon.advance(timedelta(days=1))
    await judged.drain()
    chat.answer("transition", NOTE)
    await tell(judged, chat, EVENT, salience=9, paradigm_shift=True, tags=["love"])
    await judged.drain()
    (note,) = await judged.list(memory_type="transition")
    assert (note.summary, note.source, note.trust, note.salience) == (NOTE, "transition", "derived", 10.0)
    assert note.tags == ("transition", "love")
    (request,) = chat.asked("transition")
    assert request.data("event") == EVENT
    assert "Ada and Bob plan a wedding" in request.data("related")
    by_text = {memory.summary: memory for memory in await judged.list()}
    assert set(note.related_ids) == {memory.id for text, memory in by_text.items() if text != NOTE}
    assert all(note.id in memory.related_ids for text, memory in by_text.items() if text != NOTE)
    assert {one.external_id for one in await judged.evidence(note.id)} == {str(one) for one in note.related_ids}


async def test_erasing_a_memory_erases_what_was_concluded_from_it(judged: Space, chat: ChatServer) -> None:
    saved = [
        await judged.save(text, speaker="Ada") for text in ("Ada and Bob plan a wedding", "Ada and Bob look for a flat")
    ]
    await tell(judged, chat, EVENT, salience=9, paradigm_shift=True)
    await judged.drain()
    (note,) = await judged.list(memory_type="transition")
    assert isinstance(saved[0], Stored)
    receipt = await judged.forget(saved[0].ids[0])
    assert set(receipt.ids) == {saved[0].ids[0], note.id}
    left = await judged.list()
    assert {memory.summary for memory in left} == {"Ada and Bob look for a flat", EVENT}
    assert all(memory.related_ids == () for memory in left)


async def test_erasing_a_conclusion_leaves_what_it_rests_on(judged: Space, chat: ChatServer) -> None:
    for text in ("Ada and Bob plan a wedding", "Ada and Bob look for a flat"):
        await judged.save(text, speaker="Ada")
    await tell(judged, chat, EVENT, salience=9, paradigm_shift=True)
    await judged.drain()
    (note,) = await judged.list(memory_type="transition")
    assert (await judged.forget(note.id)).ids == (note.id,)
    assert len(await judged.list()) == 3


async def test_an_upheaval_that_touches_fewer_than_two_memories_is_not_written_about(
    judged: Space, chat: ChatServer
) -> None:
    await judged.save("Ada and Bob plan a wedding", speaker="Ada")
    await tell(judged, chat, EVENT, salience=9, paradigm_shift=True)
    await judged.drain()
    assert chat.asked("transition") == []
    assert len(await judged.list()) == 2


async def test_what_is_older_than_six_months_is_not_put_in_a_new_light(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    for text in ("Ada and Bob plan a wedding", "Ada and Bob look for a flat"):
        await judged.save(text, speaker="Ada")
    await judged.drain()
    noon.advance(timedelta(days=200))
    await tell(judged, chat, EVENT, salience=9, paradigm_shift=True)
    await judged.drain()
    assert chat.asked("transition") == []


async def test_a_memory_erased_before_its_turn_is_asked_nothing(judged: Space, chat: ChatServer) -> None:
    saved = await judged.save("Ada lives in Boston now", speaker="Ada")
    assert isinstance(saved, Stored)
    await judged.forget(saved.ids[0])
    report = await judged.drain()
    assert (report.followed_up, report.failed, report.waiting) == (0, 0, 0)
    assert chat.asked("contradiction") == []


@pytest.mark.parametrize("site", ["quality", "transition", "contradiction"])
async def test_a_memory_outdated_while_it_was_asked_about_is_left_alone(
    urls: ServerUrls, judged: Space, chat: ChatServer, site: str
) -> None:
    def outdate(_: object) -> object:
        with psycopg.connect(urls.owner, autocommit=True) as connection:
            connection.execute(
                "UPDATE memory_state SET superseded_at = now() WHERE (space_id, memory_id) IN"
                " (SELECT m.space_id, m.id FROM memories m JOIN spaces s ON s.id = m.space_id"
                "  WHERE s.name = %s AND m.summary = %s)",
                (judged.name, EVENT),
            )
        return (
            NOTE
            if site == "transition"
            else {"verdict": "UPDATES", "reason": "so"}
            if site == "contradiction"
            else SCORE
        )

    for text in ("Ada and Bob plan a wedding", "Ada and Bob look for a flat"):
        await judged.save(text, speaker="Ada")
    await judged.drain()
    if site == "contradiction":
        chat.answer(site, outdate)
        await judged.save(EVENT, speaker="Ada")
    else:
        await tell(judged, chat, EVENT, salience=9, paradigm_shift=site == "transition")
        chat.answer(site, outdate)
    report = await judged.drain()
    assert (report.failed, report.waiting) == (0, 0)
    assert chat.asked(site)
    assert {memory.summary for memory in await judged.list()} >= {
        "Ada and Bob plan a wedding",
        "Ada and Bob look for a flat",
    }
    (event,) = [memory for memory in await judged.list(superseded=True) if memory.summary == EVENT]
    assert event.confidence == 1.0 or site != "quality"
    assert await judged.list(memory_type="transition") == ()


async def test_without_models_nothing_is_left_to_follow_up(space: Space) -> None:
    await space.save("Ada lives in Boston now")
    report = await space.drain()
    assert (report.done, report.followed_up, report.waiting) == (0, 0, 0)
