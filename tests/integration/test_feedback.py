"""What comes of a recall: memories are counted, boosted once a day, and learn whether they were of use, once."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from perdure import Feedback, Hit, InvalidInput, Memory, Recall, Space, Stored, StoredMemory
from perdure.ingest import drain_pending_triage
from perdure.llm import Models
from perdure.rules.salience import boosted
from perdure.rules.usefulness import after_verdict
from perdure.store.changes import supersede
from perdure.store.database import SpaceTransaction
from perdure.store.embedded import ServerUrls
from perdure.store.memories import read_rows
from tests.doubles.chat_server import WRONG_JSON, ChatServer, Refuse, Request
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

DAY = timedelta(days=1)


@pytest.fixture
async def alone(urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock) -> AsyncIterator[Space]:
    """A space of a memory without a language model, at a time that stands still."""
    async with open_memory(urls, embedder, clock=noon) as memory:
        yield memory.space(f"space-{secrets.token_hex(6)}")


async def saved(space: Space, text: str, **given: object) -> StoredMemory:
    outcome = await space.save(text, **given)  # type: ignore[arg-type]
    assert isinstance(outcome, Stored)
    return await space.get(outcome.ids[0])


def prompted(*memories: StoredMemory) -> Recall:
    """A recall that put these memories into the prompt."""
    hits = tuple(Hit(memory, 1.0, 1.0, {}, ()) for memory in memories)
    return Recall("", hits, (), "", "", (), {})


async def turn(space: Space, user: str, reply: str, *memories: StoredMemory, **given: object) -> None:
    await space.capture(user, reply, recall=prompted(*memories), **given)  # type: ignore[arg-type]
    await space.drain()


def yes_for(*ids: str) -> object:
    """A judge that finds useful whatever holds one of these words."""

    def judge(request: Request) -> dict[str, str]:
        return {"verdict": "YES" if any(each in request.data("memory") for each in ids) else "NO"}

    return judge


async def test_each_memory_of_the_prompt_is_judged_and_counted(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    nuts = await saved(judged, "Ada is allergic to peanuts", salience=4)
    chess = await saved(judged, "Ada plays chess on Mondays", salience=4)
    chat.answer("usefulness", yes_for("peanuts"))
    await turn(judged, "What shall I cook?", "A curry without nuts.", nuts, chess)
    helped, idle = await judged.get(nuts.id), await judged.get(chess.id)
    assert helped.usefulness == pytest.approx(after_verdict(0.5, True))
    assert helped.salience == pytest.approx(boosted(4))
    assert idle.usefulness == pytest.approx(after_verdict(0.5, False))
    assert idle.salience == 4
    assert {helped.retrieval_count, idle.retrieval_count} == {1}
    assert {helped.last_retrieved_at, idle.last_retrieved_at} == {noon.now()}
    asked = chat.asked("usefulness")
    assert [request.data("reply") for request in asked] == ["A curry without nuts."] * 2
    assert {request.data("user") for request in asked} == {"What shall I cook?"}


async def test_it_happens_once_per_exchange_whoever_repeats_or_competes(judged: Space, chat: ChatServer) -> None:
    nuts = await saved(judged, "Ada is allergic to peanuts")
    for _ in range(3):
        await judged.capture("Hm", "A curry.", recall=prompted(nuts), operation_id="turn-1")
    await asyncio.gather(*(judged.drain() for _ in range(4)))
    await judged.drain()
    assert (await judged.get(nuts.id)).retrieval_count == 1
    assert len(chat.asked("usefulness")) == 1


async def test_a_judge_that_talks_nonsense_is_no_verdict(judged: Space, chat: ChatServer) -> None:
    nuts = await saved(judged, "Ada is allergic to peanuts")
    chat.answer("usefulness", WRONG_JSON)
    await turn(judged, "What shall I cook?", "A curry without peanuts.", nuts)
    seen = await judged.get(nuts.id)
    assert (seen.usefulness, seen.retrieval_count) == (0.5, 1)
    assert seen.salience == pytest.approx(boosted(5))
    assert not await judged.failed()


async def test_what_the_judge_cannot_be_asked_now_is_asked_later(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    nuts = await saved(judged, "Ada is allergic to peanuts")
    chat.answer("usefulness", Refuse(503, "no slot"))
    await turn(judged, "What shall I cook?", "A curry without peanuts.", nuts)
    assert (await judged.get(nuts.id)).retrieval_count == 0
    chat.answer("usefulness", {"verdict": "YES"})
    noon.advance(DAY)
    await judged.drain()
    seen = await judged.get(nuts.id)
    assert (seen.usefulness, seen.retrieval_count) == (pytest.approx(0.55), 1)


async def test_what_waits_for_a_judge_that_is_gone_goes_by_the_reply(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    nuts = await saved(judged, "Ada is allergic to peanuts")
    chat.answer("usefulness", Refuse(503, "no slot"))
    await turn(judged, "What shall I cook?", "A curry without peanuts.", nuts)
    noon.advance(DAY)
    row = await judged._memory.find_space(judged.name)
    assert row is not None
    resources = replace(judged._memory.resources, models=Models.none())
    await drain_pending_triage(resources, row, "a worker without a model")
    seen = await judged.get(nuts.id)
    assert (seen.usefulness, seen.retrieval_count) == (pytest.approx(0.55), 1)


async def test_an_exchange_that_comes_to_nothing_counts_all_the_same(judged: Space, chat: ChatServer) -> None:
    nuts = await saved(judged, "Ada is allergic to peanuts")
    chat.answer("triage", {"salience": 1, "save": False})
    await turn(judged, "Thanks!", "You're welcome.", nuts)
    assert (await judged.get(nuts.id)).retrieval_count == 1


async def test_without_a_model_a_citation_or_the_words_of_a_memory_show_its_use(alone: Space) -> None:
    nuts = await saved(alone, "Ada is allergic to peanuts")
    tram = await saved(alone, "The tram to Belém is number fifteen")
    chess = await saved(alone, "Ada plays chess on Mondays")
    reply = f"Take tram fifteen, and bring no peanuts; see [{chess.id}]."
    await turn(alone, "What shall I bring?", reply, nuts, tram, chess)
    assert [(await alone.get(each.id)).usefulness for each in (nuts, tram, chess)] == pytest.approx([0.55] * 3)


async def test_without_a_model_a_reply_never_shows_that_a_memory_was_useless(alone: Space) -> None:
    nuts = await saved(alone, "Ada is allergic to peanuts")
    await turn(alone, "Tell me about peanuts, I'm allergic", "Peanuts are legumes.", nuts)
    seen = await alone.get(nuts.id)
    assert (seen.usefulness, seen.retrieval_count) == (0.5, 1)
    assert seen.salience == pytest.approx(boosted(5))


@pytest.mark.parametrize(
    ("text", "user", "reply"),
    [
        ("艾达对花生过敏", "今晚做什么菜？", "做一道不放花生的咖喱吧。"),
        ("Ада не ест арахис", "Что приготовить?", "Карри без арахиса."),
        ("에이다는 땅콩 알레르기가 있다", "뭘 요리할까?", "땅콩 알레르기를 생각해서 카레를 만드세요."),
        ("อาด้าแพ้ถั่วลิสง", "ทำอะไรกินดี", "แกงที่ไม่มีถั่วลิสง"),
        ("آدا لديها حساسية من الفول السوداني", "ماذا أطبخ؟", "كاري بدون الفول السوداني"),
    ],
)
async def test_that_works_in_other_scripts(alone: Space, text: str, user: str, reply: str) -> None:
    memory = await saved(alone, text)
    await turn(alone, user, reply, memory)
    assert (await alone.get(memory.id)).usefulness == pytest.approx(0.55)


async def test_the_users_name_in_the_reply_shows_nothing(alone: Space) -> None:
    memories = [await saved(alone, f"Ada {what}") for what in ("sings", "paints", "runs", "rides")]
    await turn(alone, "Good morning", "Good morning, Ada!", memories[0])
    assert (await alone.get(memories[0].id)).usefulness == 0.5


async def test_fifty_injections_on_one_day_boost_once_and_the_next_day_once_more(
    alone: Space, noon: SkippingClock
) -> None:
    memory = await saved(alone, "Ada is allergic to peanuts", salience=3)
    for number in range(50):
        await alone.feedback([memory.id] if number % 2 else prompted(memory))
    seen = await alone.get(memory.id)
    assert seen.salience == pytest.approx(boosted(3))
    assert seen.retrieval_count == 50
    noon.advance(timedelta(hours=12))
    await alone.feedback([memory.id])
    assert boosted(3, 2) - 0.05 < (await alone.get(memory.id)).salience < boosted(3, 2)


async def test_fifty_injections_that_never_help_do_not_lift_a_memory(alone: Space, noon: SkippingClock) -> None:
    memory = await saved(alone, "Ada is allergic to peanuts", salience=3)
    other = await saved(alone, "Ada plays chess", salience=3)
    for _ in range(50):
        noon.advance(DAY)
        await alone.feedback([memory.id], useful={memory.id: False})
        await alone.feedback([other.id], useful={other.id: True})
    useless, useful = await alone.get(memory.id), await alone.get(other.id)
    assert useless.salience == pytest.approx(1.0, abs=0.01)
    assert useless.usefulness < 0.01
    assert useful.salience > 5
    assert useful.usefulness > 0.99


async def test_a_memory_that_helps_after_being_useless_is_boosted_the_same_day(alone: Space) -> None:
    memory = await saved(alone, "Ada is allergic to peanuts", salience=3)
    await alone.feedback([memory.id], useful={memory.id: False})
    assert (await alone.get(memory.id)).salience == 3
    await alone.feedback([memory.id], useful={memory.id: True})
    assert (await alone.get(memory.id)).salience == pytest.approx(boosted(3))


async def test_every_retrieval_boosts_where_the_mission_is_wanted_to_the_letter(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock
) -> None:
    async with open_memory(urls, embedder, clock=noon, boost="every") as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        kept = await saved(space, "Ada is allergic to peanuts", salience=3)
        for times, salience in ((5, 3.99), (10, 4.84), (20, 6.19), (50, 8.47)):
            while (await space.get(kept.id)).retrieval_count < times:
                await space.feedback([kept.id], useful={kept.id: False})
            assert (await space.get(kept.id)).salience == pytest.approx(salience, abs=0.005)


async def test_decay_is_settled_before_the_boost(alone: Space, noon: SkippingClock) -> None:
    memory = await saved(alone, "Ada is allergic to peanuts", salience=8)
    noon.advance(20 * DAY)
    await alone.feedback([memory.id])
    assert (await alone.get(memory.id)).salience == pytest.approx(boosted(8 * 0.977**14 * 0.954**6))


async def test_the_chunks_of_one_text_are_counted_and_boosted_together(alone: Space) -> None:
    outcome = await alone.save(" ".join(f"Sentence {number} of the long letter." for number in range(120)))
    assert isinstance(outcome, Stored)
    assert len(outcome.ids) > 2
    last = await alone.get(outcome.ids[-1])
    told = await alone.feedback(prompted(last), useful={last.id: True})
    assert told == Feedback(outcome.ids, ())
    seen = [await alone.get(each) for each in outcome.ids]
    assert {each.retrieval_count for each in seen} == {1}
    assert [each.salience for each in seen] == pytest.approx([boosted(5)] * len(seen))
    assert [each.usefulness for each in seen] == pytest.approx([0.55] * len(seen))


async def test_a_text_helped_if_one_of_its_chunks_did(alone: Space) -> None:
    outcome = await alone.save(" ".join(f"Sentence {number} of the long letter." for number in range(120)))
    assert isinstance(outcome, Stored)
    first, second, *_ = outcome.ids
    await alone.feedback([first, second], useful={first: False, second: True})
    seen = await alone.get(first)
    assert (seen.usefulness, seen.retrieval_count) == (pytest.approx(0.55), 1)


async def test_what_was_forgotten_superseded_or_is_not_this_audiences_is_ignored(alone: Space) -> None:
    memory: Memory = alone._memory  # type: ignore[assignment]
    gone, outdated, kept = [await saved(alone, f"Ada {what}") for what in ("sings", "paints", "runs")]
    private = await saved(memory.space(alone.name, audience="bob"), "Bob is afraid of Ada")
    elsewhere = await saved(memory.space(alone.name + "-other"), "Ada rides")
    await alone.forget(gone.id)
    row = await memory.find_space(alone.name)
    assert row is not None

    async def outdate(tx: SpaceTransaction) -> int:
        rows = list((await read_rows(tx, alone.name, [outdated.id])).values())
        return await supersede(tx, rows, kept.id, reason="test", changed_by="test", at=tx.now)

    await memory.resources.database.in_space(row.id, outdate)
    told = await alone.feedback(prompted(gone, outdated, kept, private, elsewhere))
    assert told == Feedback((kept.id,), tuple(sorted([gone.id, outdated.id, private.id, elsewhere.id])))
    await turn(alone, "Well", "Ada paints, sings, rides.", gone, outdated, private, elsewhere)
    assert (await memory.space(alone.name, audience="bob").get(private.id)).retrieval_count == 0
    assert (await memory.space(elsewhere.space).get(elsewhere.id)).retrieval_count == 0
    assert (await alone.get(outdated.id)).retrieval_count == 0


async def test_incognito_leaves_nothing_behind_not_even_a_count(alone: Space) -> None:
    memory = await saved(alone, "Ada is allergic to peanuts")
    await turn(alone, "What shall I cook?", "No peanuts.", memory, incognito=True)
    await turn(alone, "Please don't remember this: I cook tonight", "No peanuts.", memory)
    assert await alone.get(memory.id) == memory


async def test_reading_counts_nothing(alone: Space) -> None:
    memory = await saved(alone, "Ada is allergic to peanuts")
    await alone.recall("Is Ada allergic to peanuts?")
    await alone.search("peanuts")
    assert await alone.get(memory.id) == memory


async def test_forgetting_takes_along_the_words_that_wait_to_be_judged(judged: Space, chat: ChatServer) -> None:
    nuts = await saved(judged, "Ada is allergic to peanuts")
    await judged.drain()
    chat.answer("usefulness", Refuse(503, "no slot"))
    await turn(judged, "What shall I cook?", "A curry.", nuts)
    assert (await judged.stats()).waiting["pending_followups"] == 1
    await judged.forget(nuts.id)
    assert (await judged.stats()).waiting["pending_followups"] == 0


async def test_feedback_at_the_same_time_loses_nothing(alone: Space) -> None:
    memory = await saved(alone, "Ada is allergic to peanuts", salience=3)
    await asyncio.gather(*(alone.feedback([memory.id], useful={memory.id: True}) for _ in range(20)))
    seen = await alone.get(memory.id)
    expected = 0.5
    for _ in range(20):
        expected = after_verdict(expected, True)
    assert seen.retrieval_count == 20
    assert seen.usefulness == pytest.approx(expected)
    assert seen.salience == pytest.approx(boosted(3))


@pytest.mark.parametrize(
    ("retrieved", "useful", "field"),
    [
        ("42", None, "retrieved"),
        (None, None, "retrieved"),
        ([0], None, "retrieved"),
        ([True], None, "retrieved"),
        (range(1, 200), None, "retrieved"),
        ([1], {2: True}, "useful"),
        ([1], {1: "yes"}, "useful[1]"),
        ([1], [1], "useful"),
    ],
)
async def test_bad_feedback_is_refused_by_name(alone: Space, retrieved: object, useful: object, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await alone.feedback(retrieved, useful=useful)  # type: ignore[arg-type]
    assert refused.value.field == field


async def test_feedback_on_a_space_that_is_not_there_makes_none(alone: Space) -> None:
    assert await alone.feedback([1, 2]) == Feedback((), (1, 2))
    assert await alone._memory.find_space(alone.name) is None
