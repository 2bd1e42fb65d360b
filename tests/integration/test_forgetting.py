"""After `forget` no table holds a word that only the forgotten memory and its sources held; others lose none."""

from __future__ import annotations

import secrets
from datetime import timedelta

import pytest
from psycopg import sql

from perdure import Space
from perdure.store.database import SpaceTransaction
from perdure.store.failed import record_failure
from perdure.store.queue import Queue, QueuedWork, enqueue
from perdure.store.spaces import lock_space
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock
from tests.integration.test_contradiction import everything, live, say
from tests.integration.test_triage import hand_in

AT_3 = "On every Monday of this year the weekly meeting of the whole team begins at 3 pm"
AT_4 = "On every Monday of this year the weekly meeting of the whole team begins at 4 pm"

TEXT_COLUMNS = """
    SELECT c.table_name, c.column_name
    FROM information_schema.columns c
    JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
    WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
      AND (c.data_type IN ('text', 'jsonb', 'json', 'ARRAY', 'tsvector', 'character varying', 'bytea'))
    ORDER BY 1, 2
"""


async def held_by(space: Space, word: str) -> list[str]:
    """Every column of the database, as found in its catalogue, in which this word stands anywhere."""
    found = []
    async with space._memory.resources.database.owner() as owner:
        columns = await (await owner.execute(TEXT_COLUMNS)).fetchall()
        assert {"memories", "memory_history", "pending_triage", "failed_operations", "space_counts"} <= {
            row["table_name"] for row in columns
        }
        for row in columns:
            table, column = sql.Identifier(row["table_name"]), sql.Identifier(row["column_name"])
            query = sql.SQL("SELECT count(*) AS n FROM {} WHERE {}::text ILIKE {}").format(
                table, column, sql.Literal(f"%{word}%")
            )
            counted = await (await owner.execute(query)).fetchone()
            if counted and counted["n"]:
                found.append(f"{row['table_name']}.{row['column_name']}")
    return found


@pytest.fixture
def canary() -> str:
    return f"zq{secrets.token_hex(5)}x"


async def test_nothing_is_left_of_an_exchange_that_was_kept_as_it_was_said(space: Space, canary: str) -> None:
    await space.capture(
        user=f"My locker is called {canary}",
        assistant=f"Fine: {canary}",
        tools=[{"name": "lookup", "content": f"about {canary}"}],
        speaker="Ada",
    )
    await space.save("I like figs", tags=["food"])
    await space.drain()
    assert len(await held_by(space, canary)) > 3
    ids = [memory.id for memory in await space.list() if canary in memory.summary]
    assert len(ids) == 3
    await space.forget(*ids)
    assert await held_by(space, canary) == []
    assert await live(space) == ["I like figs"]


async def test_nothing_is_left_of_a_judged_exchange_its_tags_and_its_names(
    judged: Space, chat: ChatServer, canary: str
) -> None:
    chat.answer("triage", {"summary": f"Ada's locker is {canary}", "tags": [canary], "salience": 7})
    chat.answer("entities", {"entities": [canary.title()]})
    chat.answer("quality", {"specificity": 1, "uniqueness": 1, "entities": [f"Locker {canary}"], "confidence": 1})
    await judged.capture(user=f"My locker is called {canary}", speaker="Ada", conversation_id="c")
    await judged.drain()
    (memory,) = await judged.list()
    await judged.update(memory.id, metadata={"locker": canary}, tags=["x", canary])
    await judged.pin(memory.id)
    await judged.forget(memory.id)
    assert await held_by(judged, canary) == []


async def test_nothing_is_left_in_the_original_that_was_judged_later(
    space: Space, judged: Space, chat: ChatServer, canary: str
) -> None:
    plain = space._memory.space(judged.name)
    await plain.capture(user=f"My locker is called {canary}, by the pool")
    await plain.drain()
    chat.answer("triage", {"summary": f"The user's locker is {canary}", "salience": 7})
    assert await judged.retriage() == 1
    await judged.drain()
    stored = await everything(judged)
    assert len(stored) == 2
    receipt = await judged.forget(stored[f"The user's locker is {canary}"].id)
    assert sorted(receipt.ids) == sorted(memory.id for memory in stored.values())
    assert await held_by(judged, canary) == []


async def test_forgetting_an_original_forgets_what_was_judged_of_it(
    space: Space, judged: Space, chat: ChatServer, canary: str
) -> None:
    plain = space._memory.space(judged.name)
    await plain.capture(user=f"My locker is called {canary}, by the pool")
    await plain.drain()
    (original,) = await plain.list()
    chat.answer("triage", {"summary": f"The user's locker is {canary}", "salience": 7})
    await judged.retriage()
    await judged.drain()
    await judged.forget(original.id)
    assert await held_by(judged, canary) == []


async def test_a_reason_that_quotes_what_is_forgotten_goes_with_it(
    judged: Space, chat: ChatServer, noon: SkippingClock, canary: str
) -> None:
    await say(judged, AT_3)
    noon.advance(timedelta(minutes=1))
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": f"moved to {canary}"})
    await say(judged, f"{AT_4} in {canary}")
    stored = await everything(judged)
    old, new = stored[AT_3], stored[f"{AT_4} in {canary}"]
    assert old.superseded_by == new.id
    # Brought back and outdated once more: the reason stands in three rows of its history.
    await judged.restore(old.id)
    chat.answer("triage", lambda request: {"summary": request.data("user")})
    await judged.forget(new.id)
    assert await held_by(judged, canary) == []
    (kept,) = await judged.list(superseded=True)
    assert kept.summary == AT_3
    assert [row["action"] for row in await judged.history(kept.id)] == ["supersede", "restore"]


async def test_a_tombstone_keeps_that_something_took_its_place_and_not_what(
    judged: Space, chat: ChatServer, canary: str
) -> None:
    await say(judged, AT_3)
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": f"moved to {canary}"})
    await say(judged, f"{AT_4} in {canary}")
    stored = await everything(judged)
    await judged.forget(stored[f"{AT_4} in {canary}"].id)
    assert await held_by(judged, canary) == []
    (old,) = await judged.list(superseded=True)
    assert (old.superseded_by, old.superseded_reason) == (None, "what took its place was erased")
    assert old.superseded_at is not None


async def test_nothing_is_left_of_what_was_merged(judged: Space, chat: ChatServer, canary: str) -> None:
    await say(judged, "My locker is number 5 by the pool")
    chat.answer("contradiction", {"verdict": "DUPLICATE", "reason": f"both are {canary}"})
    await say(judged, f"My locker is number 5 by the pool, {canary}")
    (memory,) = await judged.list()
    await judged.forget(memory.id)
    assert await held_by(judged, canary) == []


async def test_nothing_is_left_of_a_duplicate_whose_place_was_taken(
    judged: Space, chat: ChatServer, canary: str
) -> None:
    await hand_in(judged, "email", f"The locker by the pool is {canary}")
    await judged.drain()
    chat.answer("contradiction", {"verdict": "DUPLICATE", "reason": "the same"})
    await say(judged, f"My locker by the pool is {canary}")
    (memory,) = await judged.list()
    assert len(await everything(judged)) == 2
    await judged.forget(memory.id)
    assert await held_by(judged, canary) == []


async def test_the_excerpt_that_a_sister_shows_of_the_same_message_goes_and_the_sister_stays(
    judged: Space, chat: ChatServer, canary: str
) -> None:
    facts = [
        {"text": f"Ada's locker is {canary}", "salience": 8, "tags": [], "said_by": "user"},
        {"text": "Ada swims on Mondays", "salience": 8, "tags": [], "said_by": "user"},
    ]
    chat.answer("distillation", {"facts": facts})
    await judged.archive([{"role": "user", "content": f"I swim on Mondays; my locker is {canary}"}], speaker="Ada")
    await judged.drain()
    stored = await everything(judged)
    await judged.forget(stored[f"Ada's locker is {canary}"].id)
    assert await held_by(judged, canary) == []
    (sister,) = await judged.list()
    (evidence,) = await judged.evidence(sister.id)
    assert (sister.summary, evidence.kind, evidence.excerpt) == ("Ada swims on Mondays", "archive", "")


async def test_an_archive_that_waits_loses_the_message_that_quotes_and_keeps_the_others(
    space: Space, canary: str
) -> None:
    await space.capture(user=f"My locker is called {canary}", conversation_id="c")
    await space.drain()
    await space.archive(
        [
            {"role": "user", "content": f"My locker is called {canary}"},
            {"role": "assistant", "content": f"So your locker is {canary}, noted"},
            {"role": "user", "content": "And I swim on Mondays"},
        ],
        conversation_id="c",
    )
    (memory,) = await space.list()
    await space.forget(memory.id)
    assert await held_by(space, canary) == []
    await space.drain()
    assert await live(space) == ["And I swim on Mondays"]


async def test_an_exchange_that_waits_loses_the_side_that_quotes(space: Space, canary: str) -> None:
    await space.save(f"My locker is called {canary}")
    await space.capture(user="I swim on Mondays", assistant=f"With your locker {canary} at hand!")
    (memory,) = await space.list()
    await space.forget(memory.id)
    assert await held_by(space, canary) == []
    await space.drain()
    assert await live(space) == ["I swim on Mondays"]


async def test_what_was_given_up_keeps_no_answer_error_or_message_that_quotes(judged: Space, canary: str) -> None:
    outcome = await judged.save(f"My locker is called {canary}")
    row = await judged._memory.ensure_space(judged.name)

    async def give_up(tx: SpaceTransaction) -> None:
        await lock_space(tx)
        for user in ("I swim on Mondays", f"My locker is called {canary}"):
            work = QueuedWork(
                1, Queue.TRIAGE, "conversation", "c", None, "Ada",
                {"user": user, "assistant": "", "tools": [], "operation_id": f"op-{len(user)}", "recalled_ids": []},
                tx.now, tx.now, 2,
            )  # fmt: skip
            await record_failure(tx, work, f"ModelFailed: {canary} is no verdict", f"Sure! The locker is {canary}")
        await enqueue(
            tx, Queue.FOLLOWUP, "transition", {"ids": [10**9], "summary": f"My locker is called {canary}"},
            audience=None, speaker=None, occurred_at=tx.now,
        )  # fmt: skip

    await judged._memory.resources.database.in_space(row.id, give_up)
    assert outcome.status == "stored"
    await judged.forget(outcome.ids[0])
    assert await held_by(judged, canary) == []
    (left,) = await judged.failed()
    assert left.error == "it quoted what was forgotten"


async def test_a_transition_goes_with_what_it_rests_on_and_its_canary_with_it(
    judged: Space, chat: ChatServer, canary: str
) -> None:
    for day in ("Monday", "Tuesday"):
        await judged.save(f"On {day} evening my wife Eva and I go to the choir in {canary}")
    chat.answer("triage", {"salience": 9, "paradigm_shift": True, "said_by": "user"})
    chat.answer("transition", f"Eva is gone, and {canary} with her")
    await judged.capture(user=f"On Friday evening my wife Eva and I went to the choir in {canary} for the last time")
    await judged.drain()
    assert [row.summary for row in await judged.list(memory_type="transition")]
    await judged.forget(*[memory.id for memory in await judged.list()])
    assert await held_by(judged, canary) == []


async def test_nothing_is_left_of_a_text_of_many_chunks_or_of_what_it_said_before(space: Space, canary: str) -> None:
    outcome = await space.save(" ".join(f"Sentence {n} about the locker {canary}." for n in range(120)))
    assert outcome.status == "stored"
    await space.update(outcome.ids[0], text=f"Now it is another locker: {canary}")
    await space.forget(outcome.ids[1])
    assert await held_by(space, canary) == []


@pytest.mark.parametrize(
    ("forgotten", "said", "quoted", "word"),
    [
        ("我的储物柜叫做蓝鲸七号", "我星期一游泳", "好的,你的储物柜叫做蓝鲸七号", "蓝鲸"),
        ("ទូចាក់សោរបស់ខ្ញុំឈ្មោះត្រីបាឡែនខៀវ", "ខ្ញុំហែលទឹកនៅថ្ងៃចន្ទ", "យល់ព្រមទូចាក់សោរបស់អ្នកឈ្មោះត្រីបាឡែនខៀវ", "បាឡែន"),
        ("ตู้เก็บของของฉันชื่อวาฬสีน้ำเงิน", "ฉันว่ายน้ำวันจันทร์", "โอเคตู้เก็บของของคุณชื่อวาฬสีน้ำเงิน", "วาฬ"),
    ],
)
async def test_words_written_without_spaces_leave_nothing_either(
    space: Space, forgotten: str, said: str, quoted: str, word: str
) -> None:
    await space.save(forgotten)
    await space.capture(user=said, assistant=quoted)
    (memory,) = await space.list()
    await space.forget(memory.id)
    assert await held_by(space, word) == []
    await space.drain()
    assert await live(space) == [said]


async def test_a_quotation_of_one_of_several_forgotten_memories_is_found(space: Space) -> None:
    await space.save("My locker in the gym is called walrus blue")
    await space.save("Grandmother keeps twelve beehives behind the chapel, a gift of her neighbour Anselm")
    await space.capture(user="I swim on Monday", assistant="So your locker in the gym is called walrus")
    await space.forget(*[memory.id for memory in await space.list()])
    assert await held_by(space, "walrus") == []


async def test_what_only_shares_a_word_with_the_forgotten_keeps_waiting(space: Space) -> None:
    await space.save("I like figs")
    await space.capture(user="Figs are ripe now, so I want to plant three trees")
    (memory,) = await space.list()
    await space.forget(memory.id)
    await space.drain()
    assert await live(space) == ["Figs are ripe now, so I want to plant three trees"]


async def test_an_answer_that_no_one_could_use_is_erased_with_the_memory_it_quotes(
    judged: Space, chat: ChatServer, canary: str
) -> None:
    await say(judged, f"{AT_3} in {canary}")
    chat.answer("contradiction", f"The old one says {canary}, so")
    await judged.capture(user=f"{AT_4} in the hall")
    for _ in range(3):
        await judged.drain()
        judged._memory.resources.database.clock.advance(timedelta(hours=1))  # type: ignore[attr-defined]
    assert [row.op_type for row in await judged.failed()] == ["triage"]
    (memory,) = await judged.list()
    await judged.forget(memory.id)
    assert await held_by(judged, canary) == []
    assert len(await judged.failed()) == 1
