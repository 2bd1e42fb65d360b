"""What a new memory does to those near it: the four verdicts, and who may overturn whom."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from perdure import Space, StoredMemory
from perdure.rules.decay import PER_DAY
from tests.doubles.chat_server import ChatServer, Request
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.test_triage import hand_in

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls


async def say(space: Space, text: str, **options: object) -> None:
    await space.capture(user=text, **options)
    report = await space.drain()
    assert (report.done, report.failed) == (1, 0)


async def live(space: Space) -> list[str]:
    return sorted(memory.summary for memory in await space.list())


async def everything(space: Space) -> dict[str, StoredMemory]:
    return {memory.summary: memory for memory in await space.list(superseded=True)}


async def test_unrelated_memories_are_not_compared(judged: Space, chat: ChatServer) -> None:
    await say(judged, "My sister is called Elisabeth")
    await say(judged, "The garage door needs grease")
    assert chat.asked("contradiction") == []


async def test_a_compatible_memory_leaves_the_other_alone(judged: Space, chat: ChatServer) -> None:
    await say(judged, "I like green tea in the morning")
    await say(judged, "I like green tea in the evening")
    (request,) = chat.asked("contradiction")
    assert (request.data("old"), request.data("new")) == (
        "I like green tea in the morning",
        "I like green tea in the evening",
    )
    assert len(await live(judged)) == 2


@pytest.mark.parametrize("verdict", ["UPDATES", "CONTRADICTS"])
async def test_what_is_outdated_becomes_a_tombstone_that_says_why(
    judged: Space, chat: ChatServer, verdict: str
) -> None:
    await say(judged, "The meeting is at 3 pm")
    chat.answer("contradiction", {"verdict": verdict, "reason": "the hour was changed"})
    await judged.capture(user="The meeting is at 4 pm")
    report = await judged.drain()
    assert (report.outcomes["stored"], report.outcomes["superseded"]) == (1, 1)
    assert await live(judged) == ["The meeting is at 4 pm"]
    stored = await everything(judged)
    old, new = stored["The meeting is at 3 pm"], stored["The meeting is at 4 pm"]
    assert (old.superseded_by, old.superseded_reason) == (new.id, f"{verdict}: the hour was changed")
    assert old.superseded_at is not None
    history = await judged.history(old.id)
    assert [row["action"] for row in history] == ["supersede"]


async def test_a_duplicate_is_merged_with_its_tags_evidence_and_the_greater_salience(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer("triage", lambda request: {"tags": ["home"], "salience": 5})
    await say(judged, "I moved to Lisbon in May", operation_id="op-1")
    chat.answer("triage", lambda request: {"tags": ["Portugal"], "salience": 8})
    chat.answer("contradiction", {"verdict": "DUPLICATE"})
    await judged.capture(user="In May I moved to Lisbon", operation_id="op-2")
    report = await judged.drain()
    assert report.outcomes["merged"] == 1
    (memory,) = await judged.list()
    assert (memory.summary, memory.tags) == ("I moved to Lisbon in May", ("home", "Portugal"))
    assert memory.salience >= 8
    assert [item.external_id for item in await judged.evidence(memory.id)] == ["op-1", "op-2"]


async def test_the_same_words_are_merged_without_asking(judged: Space, chat: ChatServer) -> None:
    for number in range(3):
        await say(judged, "I moved to Lisbon in May", operation_id=f"op-{number}")
    assert chat.asked("contradiction") == []
    (memory,) = await judged.list()
    assert len(await judged.evidence(memory.id)) == 3


async def test_memories_that_share_an_entity_are_compared_however_far_apart_they_are(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer("entities", {"entities": ["Project Zebra"]})
    await say(judged, "Deadline of Project Zebra: 3 May")
    await say(judged, "Nobody expects zebras before autumn any more")
    assert [request.data("old") for request in chat.asked("contradiction")] == ["Deadline of Project Zebra: 3 May"]


async def test_a_stranger_cannot_overturn_what_the_user_said(judged: Space, chat: ChatServer) -> None:
    await say(judged, "The flight leaves at 9 from gate number 3")
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": "a mail says so"})
    await hand_in(judged, "email", "The flight leaves at 8 from gate number 3")
    await judged.drain()
    assert await live(judged) == [
        "The flight leaves at 8 from gate number 3",
        "The flight leaves at 9 from gate number 3",
    ]
    stored = await everything(judged)
    mine, theirs = (
        stored["The flight leaves at 9 from gate number 3"],
        stored["The flight leaves at 8 from gate number 3"],
    )
    assert (mine.conflicts_with, theirs.conflicts_with) == ((theirs.id,), (mine.id,))


async def test_the_user_overturns_what_a_stranger_said(judged: Space, chat: ChatServer, noon: SkippingClock) -> None:
    await hand_in(judged, "email", "The flight leaves at 9 from gate number 3")
    await judged.drain()
    noon.advance(timedelta(hours=1))
    chat.answer("contradiction", {"verdict": "UPDATES"})
    await say(judged, "The flight leaves at 8 from gate number 3")
    assert await live(judged) == ["The flight leaves at 8 from gate number 3"]


async def test_the_users_own_word_takes_the_place_of_the_same_in_a_mail_which_becomes_evidence_and_no_more(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer("triage", lambda request: {"tags": ["travel"], "salience": 8} if request.data("item") else None)
    await hand_in(judged, "email", "The flight leaves at 9 from gate number 3")
    await judged.drain()
    chat.answer("triage", {"tags": ["Lisbon"], "salience": 6})
    chat.answer("contradiction", {"verdict": "DUPLICATE"})
    await say(judged, "From gate number 3 the flight leaves at 9", operation_id="op-1")
    (memory,) = await judged.list(tags=["Lisbon"])
    assert (memory.trust, memory.tags) == ("user", ("Lisbon",))
    assert memory.salience < 8
    assert [item.kind for item in await judged.evidence(memory.id)] == ["email", "exchange"]


async def test_what_takes_a_place_inherits_the_salience_that_decay_has_left(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("quality", {"specificity": 0, "uniqueness": 0})
    chat.answer("triage", {"summary": "The flight leaves at 9 from gate 3", "said_by": "assistant", "salience": 8})
    await judged.capture(user="When do I have to be there?", assistant="The flight leaves at 9 from gate 3")
    await judged.drain()
    noon.advance(timedelta(days=10))
    chat.answer("triage", {"salience": 5})
    chat.answer("contradiction", {"verdict": "DUPLICATE"})
    await say(judged, "From gate 3 the flight leaves at 9")
    (memory,) = await judged.list()
    assert memory.trust == "user"
    assert memory.salience == pytest.approx(8 * PER_DAY**10)


async def test_a_mail_that_says_the_same_neither_renews_nor_lifts_what_the_user_said(
    judged: Space, chat: ChatServer
) -> None:
    verdicts = {"The meeting is at 3 pm": "DUPLICATE", "The meeting is at 4 pm": "CONTRADICTS"}
    await judged.capture(user="The meeting is at 3 pm", occurred_at="2026-01-01T10:00Z")
    await judged.drain()
    chat.answer("triage", lambda request: {"salience": 10, "tags": ["injected"]} if request.data("item") else None)
    chat.answer("contradiction", lambda request: {"verdict": verdicts[request.data("old")]})
    await hand_in(judged, "email", "The meeting is at 3 pm ok")
    await judged.drain()
    chat.answer("contradiction", {"verdict": "UPDATES"})
    await judged.capture(user="The meeting is at 4 pm", occurred_at="2026-02-10T10:00Z")
    await judged.drain()
    assert await live(judged) == ["The meeting is at 4 pm"]
    old = (await everything(judged))["The meeting is at 3 pm"]
    assert "injected" not in old.tags
    assert old.salience < 10
    assert [item.kind for item in await judged.evidence(old.id)] == ["exchange", "email"]


async def test_what_is_told_in_private_does_not_overturn_what_the_space_knows(judged: Space, chat: ChatServer) -> None:
    await say(judged, "The surprise party for Ada is on Friday evening")
    chat.answer("contradiction", {"verdict": "UPDATES"})
    private = judged._memory.space(judged.name, audience="surprise")
    await say(private, "The surprise party for Ada is on Sunday evening")
    assert await live(judged) == ["The surprise party for Ada is on Friday evening"]
    assert len(await live(private)) == 2
    stored = await everything(private)
    public, secret = (
        stored["The surprise party for Ada is on Friday evening"],
        stored["The surprise party for Ada is on Sunday evening"],
    )
    assert (public.conflicts_with, secret.conflicts_with) == ((), (public.id,))


async def test_other_audiences_are_not_even_compared(judged: Space, chat: ChatServer) -> None:
    chat.answer("contradiction", {"verdict": "UPDATES"})
    for audience in ("ada", "bob", None):
        await say(judged._memory.space(judged.name, audience=audience), f"The code of the door is 1{audience}")
    assert chat.asked("contradiction") == []


async def test_a_memory_of_several_chunks_is_outdated_as_a_whole(judged: Space, chat: ChatServer) -> None:
    plan = " ".join(f"In week {week} of the plan we run {week + 3} kilometres." for week in range(1, 40))
    await judged.save(plan, source_date="2026-01-01")
    chat.answer("contradiction", {"verdict": "UPDATES"})
    await say(judged, "In week 3 of the plan we run 9 kilometres.")
    assert await live(judged) == ["In week 3 of the plan we run 9 kilometres."]


async def test_contradicting_facts_that_two_workers_write_at_once_never_both_stay_live(
    judged: Space, chat: ChatServer, urls, embedder: HashedEmbedder, noon: SkippingClock
) -> None:
    chat.answer("contradiction", {"verdict": "CONTRADICTS"})
    for number, city in enumerate(("Boston", "Denver", "Austin", "Dallas")):
        await judged.capture(
            user=f"For work and family reasons I live in the city of {city}",
            conversation_id=f"c{number}",
            occurred_at=f"2026-02-0{number + 1}",
        )
    roles = {"thinker_url": chat.url, "subagent_url": chat.url}
    async with open_memory(urls, embedder, clock=noon, **roles) as other:
        reports = await asyncio.gather(judged.drain(), other.space(judged.name).drain())
    assert sum(report.done for report in reports) == 4
    assert await live(judged) == ["For work and family reasons I live in the city of Dallas"]


async def test_64_parallel_identical_exchanges_are_one_memory(judged: Space, chat: ChatServer) -> None:
    chat.answer("triage", {"summary": "The user is allergic to peanuts"})
    await asyncio.gather(
        *(judged.capture(user=f"peanuts, allergic ({number})", operation_id=f"op-{number}") for number in range(64))
    )
    reports = await asyncio.gather(*(judged.drain() for _ in range(4)))
    assert sum(report.done for report in reports) == 64
    (memory,) = await judged.list()
    assert len(await judged.evidence(memory.id)) == 64
    assert sum(report.outcomes.get("merged", 0) for report in reports) == 63


async def test_a_verdict_that_is_missing_is_an_attempt_and_nothing_is_stored(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await say(judged, "The meeting is at 3 pm")
    chat.answer("contradiction", "EXISTING_1: in no way CONTRADICTS")
    await judged.capture(user="The meeting is at 4 pm")
    for _ in range(3):
        report = await judged.drain()
        noon.advance(timedelta(minutes=30))
    assert report.failed == 1
    assert await live(judged) == ["The meeting is at 3 pm"]


async def test_a_memory_that_was_changed_while_it_was_judged_is_judged_again(judged: Space, chat: ChatServer) -> None:
    await say(judged, "The meeting is at 3 pm")
    (old,) = await judged.list()
    loop = asyncio.get_running_loop()

    def change(request: Request) -> dict[str, str]:
        update = judged.update(old.id, text="The meeting is at 5 pm")
        asyncio.run_coroutine_threadsafe(update, loop).result(10)
        return {"verdict": "UPDATES"}

    chat.then("contradiction", change, {"verdict": "COMPATIBLE"})
    await say(judged, "The meeting is at 4 pm")
    assert await live(judged) == ["The meeting is at 4 pm", "The meeting is at 5 pm"]
    assert [request.data("old") for request in chat.asked("contradiction")] == [
        "The meeting is at 3 pm",
        "The meeting is at 5 pm",
    ]


BONN = "For work and family reasons I live in the city of Bonn"
KIEL = "For work and family reasons I live in the city of Kiel"


async def test_two_people_who_say_contrary_things_of_themselves_are_both_right(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": "another city"})
    await say(judged, BONN, speaker="Ada")
    noon.advance(timedelta(hours=1))
    await say(judged, KIEL, speaker="Bob")
    stored = await everything(judged)
    assert await live(judged) == [BONN, KIEL]
    assert stored[BONN].conflicts_with == (stored[KIEL].id,)
    noon.advance(timedelta(hours=1))
    await say(judged, f"{KIEL}, and Ada lives there with me now", speaker="Bob")
    assert BONN not in await live(judged)


async def test_what_somebody_saves_of_themselves_outdates_nobody_else(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("contradiction", {"verdict": "CONTRADICTS", "reason": "another city"})
    await say(judged, BONN, speaker="Ada")
    noon.advance(timedelta(hours=1))
    await judged.save(KIEL, speaker="Bob")
    await judged.drain()
    assert await live(judged) == [BONN, KIEL]


async def test_in_a_family_that_nobody_knows_only_shared_names_are_asked_about_until_it_is_calibrated(
    urls: ServerUrls, chat: ChatServer, noon: SkippingClock
) -> None:
    embedder = HashedEmbedder(calibration=None)
    async with open_memory(urls, embedder, clock=noon, thinker_url=chat.url, subagent_url=chat.url) as memory:
        space = memory.space(f"uncalibrated-{noon.now().timestamp()}-{id(memory)}")
        await say(space, BONN)
        await say(space, KIEL)
        assert chat.asked("contradiction") == []
        chat.answer("entities", {"entities": ["Lovelace"]})
        await say(space, f"{BONN} beside Lovelace")
        await say(space, f"{KIEL} beside Lovelace")
        assert [request.data("old") for request in chat.asked("contradiction")] == [f"{BONN} beside Lovelace"]


async def test_the_prompt_of_each_verdict_score_and_name_is_kept_with_what_it_changed(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer("entities", {"entities": ["Bonn"]})
    chat.answer("quality", {"specificity": 1, "uniqueness": 1, "entities": ["Rhine"], "confidence": 1})
    await say(judged, BONN)
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": "moved"})
    await say(judged, KIEL)
    stored = await everything(judged)
    history = {row["action"]: row["made_by"] for row in await judged.history(stored[BONN].id)}
    assert history == {"entities": f"quality-1/{chat.model}", "supersede": f"contradiction-1/{chat.model}"}
    async with judged._memory.resources.database.owner() as owner:
        cursor = await owner.execute("SELECT marks FROM memories WHERE id = %s", (stored[BONN].id,))
        (row,) = await cursor.fetchall()
    assert row["marks"] == {"entities": f"quality-1/{chat.model}", "quality": f"quality-1/{chat.model}"}


async def test_names_that_could_not_be_found_hold_up_no_memory_and_are_asked_for_again(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    for _ in range(2):
        chat.then("entities", "no names, sorry")
    chat.answer("entities", {"entities": ["Bonn"]})
    await judged.capture(user=BONN)
    report = await judged.drain()
    assert (report.done, report.failed) == (1, 0)
    (memory,) = await judged.list()
    noon.advance(timedelta(hours=1))
    await judged.drain()
    assert (await judged.get(memory.id)).entities == ("Bonn",)
    async with judged._memory.resources.database.owner() as owner:
        cursor = await owner.execute("SELECT marks -> 'entities' AS made_by FROM memories WHERE id = %s", (memory.id,))
        assert [row["made_by"] for row in await cursor.fetchall()] == [f"entities-1/{chat.model}"]


async def test_a_saved_text_is_compared_though_its_names_could_not_be_found(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": "moved"})
    await judged.save(BONN)
    await judged.drain()
    noon.advance(timedelta(hours=1))
    chat.answer("entities", "no names, sorry")
    await judged.save(KIEL)
    await judged.drain()
    assert await live(judged) == [KIEL]


@pytest.mark.parametrize("arrives", ["saved", "restored", "changed"])
async def test_what_arrives_while_a_text_is_judged_is_judged_too(judged: Space, chat: ChatServer, arrives: str) -> None:
    outdated = (await judged.save("The meeting is at 1 pm")).ids[0]  # type: ignore[union-attr]
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": "moved"})
    await say(judged, "The meeting is at 2 pm")
    other = (await judged.save("Some cats sleep all day long")).ids[0]  # type: ignore[union-attr]
    await judged.drain()
    asked, may_answer = threading.Event(), threading.Event()

    def held_back(request: Request) -> dict[str, object]:
        asked.set()
        may_answer.wait(20)
        return {"verdict": "COMPATIBLE", "reason": "why not"}

    chat.answer("contradiction", held_back)
    await judged.capture(user="The meeting is at 4 pm")
    draining = asyncio.create_task(judged.drain())
    assert await asyncio.to_thread(asked.wait, 20)
    if arrives == "saved":
        await judged.save("The meeting is at 3 pm")
    elif arrives == "restored":
        await judged.restore(outdated)
    else:
        await judged.update(other, text="The meeting is at 3 pm")
    may_answer.set()
    assert (await draining).done == 1
    compared = {request.data("old") for request in chat.asked("contradiction") if "4 pm" in request.data("new")}
    late = "The meeting is at 1 pm" if arrives == "restored" else "The meeting is at 3 pm"
    assert compared == {"The meeting is at 2 pm", late}
