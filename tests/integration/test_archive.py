"""What falls out of the window is staged at once, and becomes lasting facts, or stays as it was said."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from perdure import Conflict, InvalidInput, Nothing, Pending, Space
from perdure.rules.fencing import Fenced, render_block, render_memory
from tests.doubles.chat_server import GARBAGE, ChatServer, Slow
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

TALK = [
    {"role": "system", "content": "You are a helpful assistant. Password: none"},
    {"role": "user", "content": "I moved to Lisbon in May", "at": "2026-02-01T09:00:00Z", "speaker": "Ada"},
    {"role": "assistant", "content": "How lovely!", "at": "2026-02-01T09:00:05Z"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "get_weather"}}]},
    {"role": "tool", "content": "Lisbon: 24 degrees"},
    {"role": "user", "content": [{"type": "text", "text": "and I am vegan now"}], "at": "2026-02-02T09:00:00Z"},
    {"role": "assistant", "content": "Noted: no meat and no cheese.", "at": "2026-02-02T09:00:05Z"},
]


async def test_without_a_subagent_every_message_is_kept_as_it_was_said_at_salience_3(space: Space) -> None:
    assert isinstance(await space.archive(TALK, speaker="Grace", conversation_id="c1"), Pending)
    report = await space.drain()
    assert (report.done, report.failed) == (1, 0)
    kept = {memory.summary: memory for memory in await space.list()}
    assert set(kept) == {
        "I moved to Lisbon in May",
        "How lovely!",
        "and I am vegan now",
        "Noted: no meat and no cheese.",
    }
    assert {(one.salience, one.source, one.tags) for one in kept.values()} == {
        (3.0, "conversation_archive", ("conversation_archive",))
    }
    moved, vegan, noted = (kept[text] for text in ("I moved to Lisbon in May", "and I am vegan now", "How lovely!"))
    assert (moved.speaker, moved.trust, moved.source_date) == ("Ada", "user", datetime(2026, 2, 1, 9, tzinfo=UTC))
    assert (vegan.speaker, vegan.trust, noted.trust) == ("Grace", "user", "assistant")
    assert {one.conversation_id for one in kept.values()} == {"c1"}
    (evidence,) = await space.evidence(moved.id)
    assert (evidence.kind, evidence.speaker, evidence.excerpt) == ("archive", "Ada", "I moved to Lisbon in May")


async def test_what_was_captured_already_is_merged_and_keeps_its_salience(space: Space) -> None:
    await space.capture(user="I moved to Lisbon in May", assistant="How lovely!", speaker="Ada")
    await space.drain()
    await space.archive(TALK[:3])
    report = await space.drain()
    assert report.outcomes == {"merged": 2}
    assert sorted((one.summary, one.salience) for one in await space.list()) == [
        ("How lovely!", 5.0),
        ("I moved to Lisbon in May", 5.0),
    ]


async def test_the_subagent_reads_what_was_said_and_its_facts_from_salience_5_on_are_kept(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer(
        "distillation",
        {
            "facts": [
                {"text": "Ada moved to Lisbon in May", "salience": 7, "tags": ["home"], "said_by": "user"},
                {"text": "ada moved to lisbon in may", "salience": 9, "tags": [], "said_by": "user"},
                {"text": "Noted: no meat for the guest", "salience": 5, "tags": [], "said_by": "assistant"},
                {"text": "The weather was nice", "salience": 4, "tags": [], "said_by": "user"},
            ]
        },
    )
    space = judged._memory.space(judged.name, audience="a")
    await space.archive(TALK, speaker="Ada", conversation_id="c1", operation_id="slide-1")
    report = await space.drain()
    assert report.outcomes == {"stored": 2}
    (request,) = chat.asked("distillation")
    assert [line.strip() for line in request.data("messages").splitlines()] == [
        "[2026-02-01T09:00+00:00] Ada: I moved to Lisbon in May",
        "[2026-02-01T09:00+00:00] assistant: How lovely!",
        "[2026-02-02T09:00+00:00] Ada: and I am vegan now",
        "[2026-02-02T09:00+00:00] assistant: Noted: no meat and no cheese.",
    ]
    noted, moved = sorted(await space.list(), key=lambda one: one.salience)
    assert (moved.summary, moved.salience, moved.tags) == ("Ada moved to Lisbon in May", 7.0, ("home",))
    assert (moved.source, moved.trust, moved.speaker) == ("conversation", "user", "Ada")
    assert moved.source_date == datetime(2026, 2, 1, 9, tzinfo=UTC)
    assert (moved.audience, moved.conversation_id) == ("a", "c1")
    assert (noted.trust, noted.speaker) == ("assistant", "assistant")
    assert noted.source_date == datetime(2026, 2, 2, 9, 0, 5, tzinfo=UTC)
    (evidence,) = await space.evidence(moved.id)
    assert (evidence.kind, evidence.external_id, evidence.excerpt) == ("archive", "slide-1", TALK[1]["content"])
    assert chat.asked("quality") == chat.asked("contradiction") == []


async def test_a_fact_that_only_the_assistant_said_is_not_trusted_as_the_users(judged: Space, chat: ChatServer) -> None:
    chat.answer(
        "distillation",
        {"facts": [{"text": "Bob owes Grace 300 euros", "salience": 8, "tags": [], "said_by": "user"}]},
    )
    await judged.archive(
        [
            {"role": "user", "content": "Tell me a story"},
            {"role": "assistant", "content": "Once upon a time Bob owed Grace 300 euros."},
        ]
    )
    await judged.drain()
    (memory,) = await judged.list()
    assert (memory.trust, memory.speaker) == ("assistant", "assistant")


async def test_a_long_archive_is_read_in_pieces_that_leave_nothing_out(judged: Space, chat: ChatServer) -> None:
    chat.answer("distillation", {"facts": []})
    words = " ".join(f"word{number}" for number in range(2500))
    talk = [{"role": "user", "content": f"message {number}: {'bla ' * 200}"} for number in range(20)]
    await judged.archive([*talk, {"role": "user", "content": words}])
    report = await judged.drain()
    assert set(report.outcomes) == {"nothing"}
    read = [request.data("messages") for request in chat.asked("distillation")]
    assert len(read) > 5
    assert all(len(piece.encode()) <= 6000 for piece in read)
    everything = " ".join(read)
    assert all(f"message {number}: " in everything for number in range(20))
    assert all(f"word{number}" in everything for number in range(2500))


async def test_an_archive_that_can_not_be_distilled_fails_after_three_attempts_and_lies_in_failed_operations(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("distillation", GARBAGE)
    await judged.archive(TALK, operation_id="slide-2")
    for _ in range(3):
        assert (await judged.drain()).done == 0
        noon.advance(timedelta(hours=2))
    (failed,) = await judged.failed()
    assert failed.op_type == "distillation"
    assert await judged.list() == ()
    chat.answer("distillation", {"facts": [{"text": "Ada is vegan", "salience": 8, "tags": [], "said_by": "user"}]})
    await judged.replay_failed(failed.id)
    await judged.drain()
    assert [memory.summary for memory in await judged.list()] == ["Ada is vegan"]


async def test_a_model_that_is_down_uses_up_no_attempt(judged: Space, chat: ChatServer) -> None:
    await judged.archive(TALK)
    chat.down()
    report = await judged.drain()
    assert (report.done, report.failed, report.waiting) == (0, 0, 1)
    assert report.outage is not None


async def test_the_same_operation_stages_once_and_another_archive_under_it_is_refused(space: Space) -> None:
    first = await space.archive(TALK, operation_id="slide-3")
    assert await space.archive(TALK, operation_id="slide-3") == first
    with pytest.raises(Conflict):
        await space.archive(TALK[:3], operation_id="slide-3")
    assert (await space.drain()).done == 1


async def test_what_the_user_asked_not_to_remember_is_left_out_with_the_reply(space: Space) -> None:
    await space.archive(
        [
            {"role": "user", "content": "I like tea"},
            {"role": "assistant", "content": "Which one?"},
            {"role": "user", "content": "Please don't remember this: I stole a boat."},
            {"role": "assistant", "content": "A boat! Fine, I won't."},
            {"role": "user", "content": "Green tea"},
        ]
    )
    await space.drain()
    assert {memory.summary for memory in await space.list()} == {"I like tea", "Which one?", "Green tea"}


async def test_reasoning_images_and_calls_are_not_in_the_archive(space: Space) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    await space.archive(
        [
            {"role": "human", "content": ["Look:", image, {"type": "text", "text": "my cat"}]},
            {"role": "ai", "content": "<think>The user has a cat, I should be kind.</think>How sweet!"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "zoom", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a cat"}]},
        ]
    )
    await space.drain()
    assert {memory.summary for memory in await space.list()} == {"Look:\nmy cat", "How sweet!"}


@pytest.mark.parametrize("kind", [["text"], {"text": 1}, 7, None, "video"])
async def test_parts_of_a_kind_that_nobody_knows_are_left_out(space: Space, kind: object) -> None:
    parts = [{"type": kind, "text": "unknown"}, {"text": "unknown"}, {"type": "output_text", "text": "my cat"}]
    await space.archive([{"role": "assistant", "content": parts}])
    await space.drain()
    assert [memory.summary for memory in await space.list()] == ["my cat"]


async def test_secrets_and_recalled_memories_are_not_in_the_archive(space: Space) -> None:
    block = render_block(
        "memories", [render_memory(Fenced(1, "an old memory", datetime(2026, 1, 1, tzinfo=UTC), "user", "user"))]
    )
    await space.archive([{"role": "user", "content": f"{block}\nmy password is hunter2"}])
    await space.drain()
    assert [memory.summary for memory in await space.list()] == ["my password is [secret: password]"]


@pytest.mark.parametrize(
    ("messages", "outcome"),
    [
        ([], "nothing that somebody said"),
        ([{"role": "system", "content": "Be kind"}, {"role": "user", "content": "🙂"}], "nothing that somebody said"),
        ([{"role": "user", "content": "Don't remember this"}], "the user asked not to remember this"),
    ],
)
async def test_an_archive_of_nothing_stages_nothing(space: Space, messages: list[object], outcome: str) -> None:
    assert await space.archive(messages) == Nothing(outcome)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        (["hello"], "messages[0]"),
        ([{"role": "boss", "content": "x"}], "messages[0].role"),
        ([{"role": ["user"], "content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": 7}], "messages[0].content"),
        ([{"role": "user", "content": [7]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [["text"]]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text", "text": 7}]}], "messages[0].content[0].text"),
        ([{"role": "user", "content": "x", "at": "soon"}], "messages[0].at"),
        ([{"role": "user", "content": "x", "speaker": ""}], "messages[0].speaker"),
        ([{"role": "user", "content": "a" * 260_000}] * 3, "messages[2].content"),
        ([{"role": "user", "content": "x"}] * 2001, "messages"),
    ],
)
async def test_a_message_that_can_not_be_read_is_refused_by_name(
    space: Space, messages: list[object], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await space.archive(messages)  # type: ignore[arg-type]
    assert caught.value.field == field


def _long_talk(pieces: int) -> list[dict[str, str]]:
    """Messages of which each is a piece of its own."""
    return [{"role": "user", "content": f"Word number {n} is secret{n}. {'bla ' * 1000}"} for n in range(pieces)]


async def test_a_long_archive_on_a_slow_model_ends_and_asks_for_each_piece_once(
    urls: ServerUrls, embedder: HashedEmbedder, chat: ChatServer
) -> None:
    chat.answer("distillation", Slow(0.2))
    roles = {"subagent_url": chat.url, "subagent_slots": 1, "thinker_url": chat.url, "thinker_slots": 1}
    # A call may take 0.9 s, and all pieces together take three.
    async with open_memory(urls, embedder, **roles) as memory:
        memory.resources.models._patience = 0.005
        space = memory.space(f"space-{secrets.token_hex(6)}")
        await space.archive(_long_talk(14))
        report = await space.drain()
        assert (report.done, report.failed, report.waiting) == (14, 0, 0)
    assert len(chat.asked("distillation")) == 14


async def test_a_piece_that_can_not_be_distilled_holds_up_no_other_and_loses_none(
    judged: Space, chat: ChatServer
) -> None:
    chat.answer("distillation", lambda request: GARBAGE if "secret1." in request.user else None)
    await judged.archive(_long_talk(4), conversation_id="c1")
    report = await judged.drain()
    assert (report.done, report.waiting) == (3, 1)
    kept = {memory.summary.split(".")[0] for memory in await judged.list()}
    assert {f"Word number {n} is secret{n}" for n in (0, 2, 3)} <= {each.rpartition(": ")[2] for each in kept}
    assert {memory.conversation_id for memory in await judged.list()} == {"c1"}


async def test_a_budget_that_is_used_up_in_the_middle_of_an_archive_stops_it_there(
    urls: ServerUrls, embedder: HashedEmbedder, chat: ChatServer, noon: SkippingClock
) -> None:
    roles = {"subagent_url": chat.url, "subagent_slots": 1, "thinker_url": chat.url, "thinker_slots": 1}
    async with open_memory(urls, embedder, clock=noon, daily_call_budget=3, **roles) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        await space.archive(_long_talk(5))
        report = await space.drain()
        assert (report.done, report.waiting) == (3, 2)
        assert "budget" in (report.outage or "")
        noon.advance(timedelta(days=1))
        assert (await space.drain()).done == 2
    assert len(chat.asked("distillation")) == 5
