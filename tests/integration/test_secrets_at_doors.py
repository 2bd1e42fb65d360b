"""No table holds a secret, whichever door it came in by; and what the user asked not to remember leaves nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest

from perdure import EmbeddingUnavailable, Message, Nothing, Space
from perdure.store.embedded import ServerUrls
from perdure.types import SourceItem
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder

SECRET = "hunter2xyz"
SAID = f"By the way, my password is {SECRET}, keep it safe"
SENT = datetime(2026, 2, 1, 9, tzinfo=UTC)


async def everything(urls: ServerUrls, space: Space) -> str:
    """All rows of all tables that belong to the space, as text; binary columns as what they spell."""
    row = await space._memory.ensure_space(space.name)
    found: list[str] = []
    async with await psycopg.AsyncConnection.connect(urls.owner, autocommit=True) as connection:
        tables = await connection.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND column_name = 'space_id' ORDER BY 1"
        )
        for (table,) in await tables.fetchall():
            rows = await connection.execute(f'SELECT t::text FROM "{table}" t WHERE space_id = %s', (row.id,))
            found += [f"{table}: {text}" for (text,) in await rows.fetchall()]
    return "\n".join(found)


async def test_no_door_lets_a_secret_in(urls: ServerUrls, space: Space) -> None:
    await space.capture(user=SAID, assistant=f"Password: {SECRET}", tools=[{"name": "vault", "content": SAID}])
    await space.save(
        SAID, metadata={"note": SAID, "password": SECRET, SAID: 1}, tags=[f"pw: {SECRET}"], entities=[f"pw={SECRET}"]
    )
    saved = await space.save("I use a password manager")
    await space.update(saved.ids[0], text=SAID + " too", metadata={"note": [SAID]})  # type: ignore[union-attr]
    await space.import_messages([Message("m1", SAID)], source="chat")
    await space.archive([{"role": "user", "content": SAID}, {"role": "assistant", "content": SAID}])
    await space.bootstrap(SAID)
    await space.import_items([SourceItem("email", "x", SAID, SENT, title=SAID, metadata={"a": SAID})], source="work")
    await space.add_document(SAID, name=f"password={SECRET}", uploaded_by=f"password={SECRET}")
    queued = await everything(urls, space)
    assert SECRET not in queued
    assert queued.count("[secret: password]") > 8
    await space.drain()
    stored = await everything(urls, space)
    assert SECRET not in stored
    assert any("[secret: password]" in memory.summary for memory in await space.list())


async def test_no_name_or_key_lets_a_secret_in_and_two_stay_two(urls: ServerUrls, space: Space) -> None:
    keys = [f"password={SECRET}", f"password={SECRET}a"]
    for key in keys:
        await space.capture(
            user=f"I sing in {key[-3:]} choirs",
            tools=[{"name": key, "content": "hello"}],
            speaker=key,
            conversation_id=key,
            operation_id=key,
        )
        await space.save(f"I like {key[-3:]}", speaker=key, conversation_id=key, operation_id=f"save {key}")
        await space.archive([{"role": "user", "content": "I swim", "speaker": key}], conversation_id=key)
        await space.import_messages([Message("m1", "hello", speaker=key, conversation_id=key)], source="chat")
    again = await space.capture(
        user=f"I sing in {keys[0][-3:]} choirs",
        tools=[{"name": keys[0], "content": "hello"}],
        speaker=keys[0],
        conversation_id=keys[0],
        operation_id=keys[0],
    )
    assert again.status == "pending"
    assert SECRET not in await everything(urls, space)
    await space.drain()
    assert SECRET not in await everything(urls, space)
    assert len({memory.conversation_id for memory in await space.list() if memory.source == "conversation"}) == 2
    found = await space.list(conversation_id=keys[0], speaker=keys[0])
    assert {memory.summary for memory in found} >= {f"I sing in {keys[0][-3:]} choirs", f"I like {keys[0][-3:]}"}


async def test_no_secret_that_a_model_writes_is_kept(
    urls: ServerUrls, judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    """Whatever a model may write freely: summary, tags, entities, reasons, facts, a profile, a transition."""
    from datetime import timedelta

    text = f"the password is {SECRET}"
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": f"moved; {text}"})
    chat.answer("entities", {"entities": [f"pw: {SECRET}"]})
    chat.answer("quality", {"specificity": 1, "uniqueness": 1, "entities": [f"pw={SECRET}"], "confidence": 1})
    chat.answer("transition", f"Eva is gone, {text}")
    event = {"salience": 9, "paradigm_shift": True, "said_by": "user", "tags": [f"pw: {SECRET}"]}
    words = "On {} evening my wife Eva and I go to the choir in Bonn"
    for number, day in enumerate(("Monday", "Tuesday", "Friday")):
        summary = f"{words.format(day)}, {text}"
        chat.answer("triage", event | {"summary": summary})
        await judged.capture(user=words.format(day), conversation_id=f"c{number}")
        await judged.drain()
        noon.advance(timedelta(minutes=1))
        chat.answer("contradiction", {"verdict": "COMPATIBLE", "reason": text})
    facts = [{"text": f"Ada sings, {text}", "salience": 8, "tags": [f"pw: {SECRET}"], "said_by": "user"}]
    chat.answer("distillation", {"facts": facts})
    await judged.archive([{"role": "user", "content": "I sing"}])
    profile = {"facts": [{"text": f"Ada: {text}", "category": "fact", "tags": [f"pw: {SECRET}"]}]}
    profile["traits"] = [{"category": "goal", "key": f"pw: {SECRET}", "value": text}]  # type: ignore[dict-item]
    chat.answer("bootstrap", profile | {"name": f"pw: {SECRET}", "recurring_topics": [f"pw: {SECRET}"]})
    await judged.bootstrap("I am Ada and I sing")
    await judged.drain()
    for site in ("triage", "contradiction", "entities", "quality", "transition", "distillation", "bootstrap"):
        assert chat.asked(site), site
    stored = await everything(urls, judged)
    assert SECRET not in stored
    assert stored.count("[secret: password]") > 10


async def test_a_failed_exchange_holds_no_secret_and_no_log_does(
    urls: ServerUrls, judged: Space, chat: ChatServer, noon: SkippingClock, caplog: pytest.LogCaptureFixture
) -> None:
    from datetime import timedelta

    caplog.set_level("DEBUG")
    chat.answer("triage", "nonsense")
    await judged.capture(user=SAID)
    for _ in range(3):
        await judged.drain()
        noon.advance(timedelta(hours=2))
    assert len(await judged.failed()) == 1
    assert SECRET not in await everything(urls, judged)
    assert SECRET not in caplog.text
    assert all(SECRET not in request.data("user") for request in chat.asked("triage"))


async def test_a_save_that_could_not_be_embedded_leaves_no_secret_in_its_error(
    space: Space, embedder: HashedEmbedder
) -> None:
    embedder.outage = True
    with pytest.raises(EmbeddingUnavailable) as caught:
        await space.save(SAID)
    assert SECRET not in str(caught.value)


async def test_the_same_save_is_the_same_operation_although_its_secret_is_masked(space: Space) -> None:
    first = await space.save(SAID, operation_id="op-1")
    assert await space.save(SAID, operation_id="op-1") == first


@pytest.mark.parametrize("words", ["Don't remember this: I hate my job", "Ich hasse meinen Job. Merk dir das nicht!"])
async def test_what_the_user_asks_not_to_remember_leaves_nothing_behind(
    urls: ServerUrls, space: Space, words: str
) -> None:
    outcome = await space.capture(user=words, assistant="I won't.", operation_id="op-1")
    assert outcome == Nothing("the user asked not to remember this")
    assert "Job" not in (held := await everything(urls, space))
    assert "job" not in held
    assert "op-1" not in held


async def test_only_the_user_can_ask_not_to_remember(space: Space) -> None:
    await space.capture(user="What did the sign say?", assistant="Don't remember this.")
    assert (await space.drain()).done == 1


async def test_what_a_model_writes_is_masked_before_it_is_stored(
    urls: ServerUrls, judged: Space, chat: ChatServer
) -> None:
    leak, label = f"Ada's password is {SECRET}", f"pw: {SECRET}"
    chat.answer("triage", {"summary": leak, "tags": [label]})
    chat.answer("entities", {"entities": [label, "Ada"]})
    chat.answer("quality", {"entities": [label, "Bob"]})
    kept = {"text": f"Kept: {leak}", "salience": 8, "tags": [label], "said_by": "user"}
    chat.answer("distillation", {"facts": [kept]})
    fact = {"text": f"{leak}!", "category": "fact", "tags": [label]}
    chat.answer("bootstrap", {"name": "Ada", "location": f"where the {label}", "facts": [fact]})
    await judged.capture(user="What was it again?", assistant="As you said.")
    await judged.archive([{"role": "user", "content": "It is what I said"}])
    await judged.bootstrap("I'm Ada")
    await judged.drain()
    stored = await everything(urls, judged)
    assert SECRET not in stored
    summaries = {memory.summary for memory in await judged.list()}
    assert {
        "Ada's password is [secret: password]",
        "Kept: Ada's password is [secret: password]",
        "Ada – location: where the pw: [secret: password]",
    } <= summaries
    (triaged,) = [memory for memory in await judged.list() if memory.source == "conversation" and memory.entities]
    assert set(triaged.entities) == {"pw: [secret: password]", "Ada", "Bob"}
