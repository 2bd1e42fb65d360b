"""What is true now, after all that was said: corrections, changes of mind, late news, and what was brought back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from perdure import Space
from perdure.types import SourceItem
from tests.doubles.chat_server import ChatServer, Request
from tests.doubles.clock import SkippingClock
from tests.integration.test_contradiction import everything, live, say
from tests.integration.test_triage import hand_in

AT_3 = "The meeting is at 3 pm"
AT_4 = "The meeting is at 4 pm"
BOSTON = "For work and family reasons I live in the city of Boston"
DENVER = "For work and family reasons I live in the city of Denver"


def sensible(request: Request) -> dict[str, str]:
    """The same words say the same; other ones about the same thing say something new."""
    verdict = "DUPLICATE" if request.data("new") == request.data("old") else "UPDATES"
    return {"verdict": verdict, "reason": "it changed"}


@pytest.fixture(autouse=True)
def judge(chat: ChatServer) -> None:
    chat.answer("contradiction", sensible)


@pytest.mark.parametrize(
    ("first", "then", "correction"),
    [
        (AT_3, AT_4, "sorry, 4 pm"),
        ("Das Treffen beginnt um 15 Uhr", "Das Treffen beginnt um 16 Uhr", "Entschuldigung, um 16 Uhr"),
        ("会议下午三点开始", "会议下午四点开始", "抱歉,是下午四点"),
    ],
    ids=["English", "German", "Chinese"],
)
async def test_a_correction_seconds_later_holds(
    judged: Space, chat: ChatServer, first: str, then: str, correction: str
) -> None:
    chat.answer("triage", lambda request: {"summary": then if request.data("user") == correction else first})
    await judged.capture(user=first, conversation_id="c", occurred_at="2026-03-01T11:59:50Z")
    await judged.capture(
        user=correction, assistant=f"Got it: {then}", conversation_id="c", occurred_at="2026-03-01T11:59:54Z"
    )
    report = await judged.drain()
    assert (report.done, report.waiting) == (2, 0)
    assert await live(judged) == [then]
    (memory,) = await judged.list()
    assert memory.trust == "user"


async def test_a_correction_holds_however_the_two_are_drained(judged: Space, noon: SkippingClock) -> None:
    await judged.capture(user=AT_3, conversation_id="a", occurred_at=noon.now())
    noon.advance(timedelta(seconds=4))
    await judged.capture(user=AT_4, conversation_id="b", occurred_at=noon.now())
    await asyncio.gather(judged.drain(), judged.drain())
    assert await live(judged) == [AT_4]


async def test_boston_denver_and_boston_again(judged: Space, noon: SkippingClock) -> None:
    for city in (BOSTON, DENVER, BOSTON):
        await say(judged, city)
        noon.advance(timedelta(days=30))
    assert await live(judged) == [BOSTON]
    rows = await judged.list(superseded=True)
    assert [(row.summary, row.superseded_at is None) for row in rows] == [
        (BOSTON, True),
        (DENVER, False),
        (BOSTON, False),
    ]
    newest, denver, oldest = rows
    assert (oldest.superseded_by, denver.superseded_by) == (denver.id, newest.id)


async def test_boston_denver_and_boston_again_captured_at_once(judged: Space, noon: SkippingClock) -> None:
    for number, city in enumerate((BOSTON, DENVER, BOSTON)):
        await judged.capture(user=city, conversation_id=f"c{number}", operation_id=f"op-{number}")
        noon.advance(timedelta(seconds=10))
    await asyncio.gather(judged.drain(), judged.drain())
    assert await live(judged) == [BOSTON]


async def test_an_old_mail_that_arrives_late_does_not_overturn_newer_talk(judged: Space, noon: SkippingClock) -> None:
    await hand_in(judged, "email", "The flight leaves at 9 from gate number 3", occurred_at=noon.now())
    await judged.drain()
    noon.advance(timedelta(days=2))
    await hand_in(
        judged,
        "email",
        "The flight leaves at 8 from gate number 3",
        occurred_at=noon.now() - timedelta(days=10),
    )
    report = await judged.drain()
    assert (report.outcomes["stored"], report.outcomes["superseded"]) == (1, 1)
    assert await live(judged) == ["The flight leaves at 9 from gate number 3"]
    stored = await everything(judged)
    late = stored["The flight leaves at 8 from gate number 3"]
    assert late.superseded_by == stored["The flight leaves at 9 from gate number 3"].id


async def test_old_news_does_not_overturn_a_truth_that_was_said_again_since(judged: Space, noon: SkippingClock) -> None:
    start = noon.now()
    await say(judged, BOSTON, operation_id="op-1")
    noon.advance(timedelta(days=20))
    await say(judged, BOSTON, operation_id="op-2")
    noon.advance(timedelta(days=1))
    await say(judged, DENVER, occurred_at=start + timedelta(days=10))
    assert await live(judged) == [BOSTON]


async def test_a_mail_of_tomorrow_does_not_overturn_what_the_user_says_after_reading_it(
    judged: Space, noon: SkippingClock
) -> None:
    await hand_in(
        judged, "calendar", "The flight leaves at 9 from gate number 3", occurred_at=noon.now() + timedelta(days=9)
    )
    await judged.drain()
    noon.advance(timedelta(hours=1))
    await say(judged, "The flight leaves at 8 from gate number 3")
    assert await live(judged) == ["The flight leaves at 8 from gate number 3"]


async def test_a_superseded_memory_that_is_brought_back_counts_again_and_can_be_outdated_again(
    judged: Space, noon: SkippingClock
) -> None:
    await say(judged, AT_3)
    noon.advance(timedelta(minutes=1))
    await say(judged, AT_4)
    stored = await everything(judged)
    await judged.restore(stored[AT_3].id)
    assert await live(judged) == [AT_3, AT_4]
    back = await everything(judged)
    assert back[AT_3].conflicts_with == (stored[AT_4].id,)
    assert back[AT_4].conflicts_with == (stored[AT_3].id,)
    hits = await judged.search("When is the meeting?")
    assert stored[AT_3].id in {hit.memory.id for hit in hits.hits}
    noon.advance(timedelta(minutes=1))
    await say(judged, "The meeting is at 5 pm")
    assert await live(judged) == ["The meeting is at 5 pm"]


async def test_a_changed_event_replaces_the_earlier_one_and_a_cancelled_one_closes_it(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    friday = noon.now() + timedelta(days=5)
    chat.answer("triage", lambda request: {"summary": request.data("item")})
    await hand_in(judged, "calendar", "Dentist, Friday 9:00", series="dentist", occurred_at=friday)
    await judged.drain()
    chat.answer("triage", lambda request: {"summary": request.data("item"), "save": False})
    moved = friday + timedelta(days=3)
    await hand_in(judged, "calendar", "Dentist, Monday 14:30", series="dentist", occurred_at=moved)
    await judged.drain()
    (memory,) = await judged.list()
    assert (memory.summary, memory.source_date) == ("Dentist, Monday 14:30", moved)
    assert chat.asked("contradiction") == []
    await hand_in(judged, "calendar", "Dentist", series="dentist", occurred_at=moved, cancelled=True)
    report = await judged.drain()
    assert report.outcomes["nothing"] == 1
    assert await judged.list() == ()


async def test_a_cancelled_event_does_not_take_back_what_the_user_said_of_it(
    judged: Space, noon: SkippingClock
) -> None:
    await say(judged, "The flight leaves at 9 from gate number 3")
    chat_says_same = {"summary": "The flight leaves at 9 from gate number 3"}
    await hand_in(judged, "calendar", chat_says_same["summary"], series="flight")
    await judged.drain()
    await hand_in(judged, "calendar", "cancelled", series="flight", cancelled=True)
    await judged.drain()
    assert "The flight leaves at 9 from gate number 3" in await live(judged)


async def test_without_a_model_an_event_is_revised_and_closed_by_its_evidence(space: Space) -> None:
    await hand_in(space, "calendar", "Dentist, Friday 9:00", series="dentist", external_id="r1")
    await hand_in(space, "calendar", "Dentist, Monday 14:30", series="dentist", external_id="r2")
    await hand_in(space, "calendar", "Choir, Tuesday 19:00", series="choir", external_id="r1")
    report = await space.drain()
    assert (report.done, report.outcomes) == (3, {"stored": 3, "superseded": 1})
    assert await live(space) == ["Choir, Tuesday 19:00", "Dentist, Monday 14:30"]
    await hand_in(space, "calendar", "Dentist, Monday 14:30", series="dentist", external_id="r3", cancelled=True)
    await space.drain()
    assert await live(space) == ["Choir, Tuesday 19:00"]


async def test_an_event_in_one_persons_calendar_leaves_the_same_in_anothers_alone(judged: Space) -> None:
    ada, ben = (judged._memory.space(judged.name, audience=name) for name in ("ada", "ben"))
    starts = datetime(2026, 3, 5, 14, tzinfo=UTC)
    for space, words in ((ada, "Dentist at two"), (ben, "Dentist at three")):
        item = SourceItem("calendar", f"dentist#{words}", words, starts, series="dentist")
        await space.import_items([item], source="calendar")
        await space.drain()
    assert (await live(ada), await live(ben)) == (["Dentist at two"], ["Dentist at three"])
    gone = SourceItem("calendar", "dentist#gone", "Dentist", starts, series="dentist", cancelled=True)
    await ben.import_items([gone], source="calendar")
    await ben.drain()
    assert (await live(ada), await live(ben)) == (["Dentist at two"], [])
