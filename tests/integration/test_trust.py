"""Whose word a memory is: what the user says weighs as the user's, whoever said it first; a stranger's never does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from perdure import Space
from perdure.errors import InvalidInput
from perdure.ingest import ToolResult
from tests.doubles.chat_server import ChatServer, Request
from tests.doubles.clock import SkippingClock
from tests.integration.test_contradiction import everything, live, say
from tests.integration.test_triage import hand_in

AT_9 = "The flight leaves at 9 from gate number 3"
AT_8 = "The flight leaves at 8 from gate number 3"


def updates(request: Request) -> dict[str, str]:
    return {"verdict": "UPDATES", "reason": "the hour was changed"}


@pytest.fixture(autouse=True)
def judge(chat: ChatServer) -> None:
    chat.answer("contradiction", updates)


async def test_what_the_user_says_in_the_words_of_a_mail_is_the_users_and_no_later_mail_outdates_it(
    judged: Space, noon: SkippingClock
) -> None:
    await hand_in(judged, "email", AT_9, occurred_at=noon.now())
    await judged.drain()
    noon.advance(timedelta(hours=1))
    await judged.capture(user=AT_9, speaker="Grace")
    await judged.drain()
    (memory,) = await judged.list()
    assert memory.trust == "user"
    assert [(item.kind, item.trust) for item in await judged.evidence(memory.id)] == [
        ("email", "external"),
        ("exchange", "user"),
    ]
    assert [row["state"]["trust"] for row in await judged.history(memory.id)] == ["external"]
    noon.advance(timedelta(hours=1))
    await hand_in(judged, "email", AT_8, occurred_at=noon.now())
    await judged.drain()
    assert await live(judged) == [AT_8, AT_9]
    stored = await everything(judged)
    assert stored[AT_8].conflicts_with == (stored[AT_9].id,)


async def test_what_is_saved_in_the_words_of_a_mail_is_the_users(judged: Space, noon: SkippingClock) -> None:
    await hand_in(judged, "email", AT_9, occurred_at=noon.now())
    await judged.drain()
    outcome = await judged.save(AT_9, speaker="Grace")
    assert outcome.status == "merged"
    assert (await judged.list())[0].trust == "user"


async def test_without_a_model_the_users_words_are_the_users_too(space: Space) -> None:
    await hand_in(space, "email", AT_9)
    await space.drain()
    await space.capture(user=AT_9, speaker="Grace")
    await space.drain()
    (memory,) = await space.list()
    assert memory.trust == "user"
    await space.forget(memory.id)
    assert await space.list(superseded=True) == ()


async def test_a_mail_in_the_users_words_neither_lowers_nor_renews_what_the_user_said(
    judged: Space, noon: SkippingClock
) -> None:
    await judged.capture(user=AT_9, speaker="Grace", occurred_at=noon.now())
    await judged.drain()
    noon.advance(timedelta(days=2))
    await hand_in(judged, "email", AT_9, occurred_at=noon.now())
    await judged.drain()
    assert [memory.trust for memory in await judged.list()] == ["user"]
    # Said between the two: it is newer than what the user said, whatever the mail repeats.
    await say(judged, AT_8, speaker="Grace", occurred_at=noon.now() - timedelta(days=1))
    assert await live(judged) == [AT_8]


async def test_what_the_user_corrects_in_a_mails_memory_is_the_users_word(judged: Space, noon: SkippingClock) -> None:
    await hand_in(judged, "email", AT_9, occurred_at=noon.now())
    await judged.drain()
    (memory,) = await judged.list()
    assert (await judged.update(memory.id, tags=["flight"])).trust == "external"
    assert (await judged.update(memory.id, text=AT_9.replace("9", "10"))).trust == "user"
    noon.advance(timedelta(hours=1))
    await hand_in(judged, "email", AT_8, occurred_at=noon.now())
    await judged.drain()
    assert await live(judged) == [AT_9.replace("9", "10"), AT_8]
    await judged.forget(*[each.id for each in await judged.list()])
    assert await judged.list(superseded=True) == ()


async def test_what_a_tool_read_out_does_not_renew_what_the_user_said(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await say(judged, AT_9, occurred_at=noon.now())
    noon.advance(timedelta(days=2))
    chat.answer("triage", {"summary": AT_9, "said_by": "tool", "salience": 8})
    await judged.capture(user="Look it up", assistant="Done", tools=[{"name": "lookup", "content": AT_9}])
    await judged.drain()
    (memory,) = await judged.list()
    assert [(item.kind, item.trust) for item in await judged.evidence(memory.id)] == [
        ("exchange", "user"),
        ("exchange", "external"),
    ]
    chat.answer("triage", {"summary": AT_8, "said_by": "user", "salience": 8})
    await say(judged, AT_8, occurred_at=noon.now() - timedelta(days=1))
    assert await live(judged) == [AT_8]


@pytest.mark.parametrize("name", ["gmail", "outlook", "read_file", "browse", "slack", "get_weather", ""])
async def test_what_a_tool_answers_is_a_strangers_word_unless_the_host_says_otherwise(
    judged: Space, chat: ChatServer, name: str
) -> None:
    chat.answer("triage", {"summary": "The rent rises to 900 euros", "said_by": "assistant", "salience": 8})
    told = "The rent rises to 900 euros"
    await judged.capture(user="Anything new?", assistant=told, tools=[{"name": name, "content": told}])
    await judged.drain()
    assert [memory.trust for memory in await judged.list()] == ["external"]


async def test_a_host_can_vouch_for_its_own_tool(judged: Space, chat: ChatServer) -> None:
    chat.answer("triage", {"summary": "The heating stands at 19 degrees", "said_by": "tool", "salience": 8})
    tool = ToolResult("thermostat", "The heating stands at 19 degrees", trust="tool")  # type: ignore[arg-type]
    await judged.capture(user="How warm is it?", assistant="19 degrees", tools=[tool])
    await judged.drain()
    assert [memory.trust for memory in await judged.list()] == ["tool"]


async def test_no_tool_speaks_for_the_user(space: Space) -> None:
    with pytest.raises(InvalidInput, match="trust"):
        await space.capture(user="hello", tools=[{"name": "x", "content": "y", "trust": "user"}])


async def test_without_a_model_what_a_tool_answered_and_the_reply_to_it_are_kept_as_a_strangers(space: Space) -> None:
    await space.capture(
        user="What is new?",
        assistant="Mallory writes that the rent rises",
        tools=[{"name": "gmail", "content": "The rent rises"}, {"name": "clock", "content": "noon", "trust": "tool"}],
    )
    await space.drain()
    trusts = {memory.summary: memory.trust for memory in await space.list()}
    assert trusts == {
        "What is new?": "user",
        "Mallory writes that the rent rises": "external",
        "The rent rises": "external",
        "noon": "tool",
    }
    (hit,) = [memory for memory in await space.list() if memory.summary == "The rent rises"]
    assert [item.speaker for item in await space.evidence(hit.id)] == [None]


@pytest.mark.parametrize(
    ("user", "reply", "summary"),
    [
        ("Read me the mail from Bob", "Bob writes: the rent rises to 900 euros", "Bob: the rent rises to 900 euros"),
        ("Lies mir die Mail von Bob vor", "Bob schreibt: die Miete steigt auf 900", "Bob: die Miete steigt auf 900"),
        ("帮我读一下鲍勃的邮件", "鲍勃写道:房租涨到九百欧元", "鲍勃:房租涨到九百欧元"),
    ],
)
async def test_what_the_assistant_reads_out_on_request_is_not_the_users_word(
    judged: Space, chat: ChatServer, user: str, reply: str, summary: str
) -> None:
    chat.answer("triage", {"summary": summary, "said_by": "user", "salience": 8})
    await judged.capture(user=user, assistant=reply)
    await judged.drain()
    assert [memory.trust for memory in await judged.list()] == ["assistant"]


@pytest.mark.parametrize(
    ("user", "summary", "trust"),
    [
        ("Read me the mail from Bob", "Bob writes that the rent rises to 900 euros", "external"),
        ("Where do I live?", "Ada lives in Ohio beside Bob", "external"),
        ("Bob and I pay 900 euros of rent", "Bob and Ada pay 900 euros of rent", "user"),
    ],
)
async def test_a_distilled_fact_is_the_users_only_where_their_words_bear_it_out(
    judged: Space, chat: ChatServer, user: str, summary: str, trust: str
) -> None:
    chat.answer("distillation", {"facts": [{"text": summary, "salience": 8, "tags": [], "said_by": "user"}]})
    await judged.archive(
        [
            {"role": "user", "content": user},
            {"role": "tool", "content": "whatever a stranger wrote"},
            {"role": "assistant", "content": f"Well: {summary}"},
        ]
    )
    await judged.drain()
    assert [memory.trust for memory in await judged.list()] == [trust]


async def test_a_distilled_answer_is_the_assistants(judged: Space, chat: ChatServer) -> None:
    fact = {"text": "Ada lives in Ohio beside Bob", "salience": 8, "tags": [], "said_by": "user"}
    chat.answer("distillation", {"facts": [fact]})
    await judged.archive(
        [
            {"role": "user", "content": "Where does Bob live?"},
            {"role": "assistant", "content": "Ada lives in Ohio beside Bob"},
        ]
    )
    await judged.drain()
    assert [memory.trust for memory in await judged.list()] == ["assistant"]
