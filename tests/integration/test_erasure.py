"""A source, a person, an audience are forgotten whole: what is previewed goes, others' stays, nothing comes back."""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime

import pytest

from perdure import InvalidInput, Memory, Message, NotFound, Space
from perdure.ingest import forgetting_origins
from perdure.space_items import SpaceItems
from perdure.store.database import SpaceTransaction
from perdure.store.failed import record_failure
from perdure.store.queue import Queue, QueuedWork
from perdure.types import SourceItem
from tests.integration.dumping import tables_with

SAID = datetime(2026, 2, 1, 9, tzinfo=UTC)


@pytest.fixture
def canary() -> str:
    return f"zq{secrets.token_hex(5)}x"


def told(number: int, text: str, speaker: str = "Ada") -> Message:
    return Message(text=text, external_id=f"m-{number}", speaker=speaker, occurred_at=SAID)


def mail(canary: str, speaker: str = "Bob") -> SourceItem:
    text = f"The door code is {canary}"
    return SourceItem("email", "<1@example.com>", text, occurred_at=SAID, speaker=speaker)


def archived(text: str, speaker: str = "Ada") -> dict[str, object]:
    return {"role": "user", "content": text, "at": "2026-02-01T09:00:00Z", "speaker": speaker}


async def summaries(space: Space) -> list[str]:
    return sorted(memory.summary for memory in await space.list(superseded=True, limit=1000))


async def test_of_a_source_goes_what_was_previewed_and_the_same_file_brings_nothing_back(
    memory: Memory, space: Space, canary: str
) -> None:
    chats = [told(number, f"{canary} message {number}") for number in range(3)]
    await space.import_messages(chats, source="chats")
    await space.import_messages([told(9, "I like figs")], source="other")
    preview = await space.preview_forget(source="import:chats")
    assert len(preview.ids) == 3
    assert await space.preview_forget(source="import:chats") == preview
    progress: list[int] = []
    receipt = await space.forget_source("import:chats", progress=progress.append)
    assert (receipt.ids, progress) == (preview.ids, [3])
    assert {table: receipt.removed[table] for table in preview.removed} == preview.removed
    assert await tables_with(memory, canary) == []
    assert await summaries(space) == ["I like figs"]
    again = await space.import_messages(chats, source="chats")
    copied = await space.import_messages(chats, source="copy of chats")
    assert (again.stored, copied.stored) == (0, 0)
    assert await summaries(space) == ["I like figs"]
    await space.save(f"{canary} message 1")
    assert len(await space.list()) == 2


async def test_an_unknown_source_names_those_that_there_are_to_this_audience(memory: Memory, space: Space) -> None:
    await space.save("I like figs")
    await space.import_messages([told(1, "I like plums")], source="mine")
    await memory.space(space.name, audience="dm").import_messages([told(2, "I like pears")], source="secret")
    preview = await space.preview_forget(source="import:nothing")
    assert preview.ids == ()
    assert preview.sources == ("import:mine", "user")
    assert (await space.forget_source("import:nothing")).ids == ()
    assert len(await space.list()) == 2


async def test_what_waits_of_a_source_goes_with_it_and_is_not_read_in_again(
    memory: Memory, space: Space, canary: str
) -> None:
    await space.import_items([mail(canary)], source="work")
    await space.capture(user="I like figs")
    receipt = await space.forget_source("email")
    assert receipt.removed["pending_triage"] == 1
    assert await tables_with(memory, canary) == []
    report = await space.import_items([mail(canary)], source="work")
    assert (report.enqueued, report.known) == (0, 1)
    await space.drain()
    assert await summaries(space) == ["I like figs"]


async def test_of_a_person_goes_what_they_said_by_every_way_in_and_what_others_said_stays(
    memory: Memory, space: Space, canary: str
) -> None:
    await space.set_person("u-7", name="Ada", aliases=["Countess"])
    await space.remember("{user} hides " + canary, about="person:u-7")
    await space.capture(user=f"My locker is {canary}", assistant="Noted.", speaker="Ada")
    await space.drain()
    await space.save(f"The key is {canary}", speaker="COUNTESS")
    await space.import_messages([told(1, f"{canary} again"), told(2, "Ada owes me a tea", "Bob")], source="chats")
    await space.capture(user=f"Also {canary}", speaker="u-7")
    await space.archive([archived(f"I told {canary}"), archived("So?", "Bob")])
    await space.archive([archived(f"I told {canary} twice")])
    await space.import_items([mail(canary, "Ada")], source="work")
    work = QueuedWork(
        7, Queue.TRIAGE, "conversation", "", None, "ada", {"user": canary, "assistant": ""}, SAID, SAID, 1
    )

    async def give_up(tx: SpaceTransaction) -> None:
        await record_failure(tx, work, f"no answer to {canary}", answer=canary)

    row = await memory.find_space(space.name)
    assert row is not None
    await memory.resources.database.in_space(row.id, give_up)
    preview = await space.preview_forget(user_id="u-7")
    assert preview.names == ("u-7", "Ada", "Countess")
    assert len(preview.facts) == 1
    assert preview.removed["pending_triage"] == 2
    receipt = await space.forget_person("u-7")
    assert receipt.ids == preview.ids
    assert receipt.facts == preview.facts
    assert receipt.removed["people"] == receipt.removed["failed_operations"] == 1
    assert receipt.removed["pending_distillation"] == receipt.rewritten["pending_distillation"] == 1
    assert await tables_with(memory, canary) == []
    await space.drain()
    assert set(await summaries(space)) == {"Noted.", "Ada owes me a tea", "So?"}
    assert (await space.forget_person("u-7")).ids == ()


async def test_memories_in_which_others_name_a_person_are_named_and_stay(space: Space) -> None:
    await space.save("Ada owes me a tea", entities=["Ada"], speaker="Bob")
    preview = await space.preview_forget(user_id="Ada")
    assert (preview.ids, len(preview.named_in)) == ((), 1)
    await space.forget_person("Ada")
    assert len(await space.list()) == 1


async def test_a_name_that_two_people_bear_tells_neither_of_them(space: Space) -> None:
    await space.set_person("u-1", name="Sam")
    await space.set_person("u-2", name="SAM")
    await space.save("I like figs", speaker="Sam")
    preview = await space.preview_forget(user_id="u-1")
    assert (preview.names, preview.shared, preview.ids) == (("u-1",), ("Sam",), ())
    await space.forget_person("u-1")
    assert len(await space.list()) == 1


async def test_what_a_person_bore_out_of_others_words_no_longer_names_them(
    memory: Memory, space: Space, canary: str
) -> None:
    await space.capture(user="The party is on Friday", speaker="Bob")
    await space.drain()
    await space.capture(user="The party is on Friday", speaker=canary)
    await space.drain()
    assert "memory_evidence" in await tables_with(memory, canary)
    await space.forget_person(canary)
    assert await tables_with(memory, canary) == []
    assert "The party is on Friday" in await summaries(space)


async def test_forgetting_in_one_audience_neither_removes_nor_tells_of_others(
    memory: Memory, space: Space, canary: str
) -> None:
    us, them = (memory.space(space.name, audience=name) for name in ("us", "them"))
    for handle, text in ((space, "public"), (us, canary), (them, "private")):
        await handle.import_messages([told(1, f"The code is {text}")], source="chats")
    receipt = await us.forget_source("import:chats")
    assert (len(receipt.ids), receipt.removed["memories"]) == (1, 1)
    assert await tables_with(memory, canary) == []
    assert await summaries(them) == ["The code is private", "The code is public"]
    with pytest.raises(InvalidInput):
        await us.forget_source("import:chats", everywhere=True)
    every = await space.forget_source("import:chats", everywhere=True)
    assert len(every.ids) == 2
    assert await summaries(them) == []


async def test_of_an_audience_everything_goes_and_nothing_of_others(memory: Memory, space: Space, canary: str) -> None:
    us = memory.space(space.name, audience="us")
    await us.save(f"The code is {canary}")
    await us.set_task(f"Change {canary}")
    await SpaceItems.of(us).put(("look",), canary, {"colour": canary})
    await us.add_document(f"All about {canary}", name=f"{canary}.txt")
    await us.capture(user=f"Again {canary}")
    await us.import_items([mail(canary)], source=canary)
    await space.save("I like figs")
    preview = await us.preview_forget(everything=True)
    receipt = await us.forget_everything()
    assert receipt.ids == preview.ids
    assert {name: receipt.removed[name] for name in preview.removed} == preview.removed
    assert await tables_with(memory, canary) == []
    assert await summaries(space) == ["I like figs"]


async def test_a_task_that_quotes_what_is_forgotten_goes_with_it(memory: Memory, space: Space, canary: str) -> None:
    outcome = await space.save(f"The code is {canary}")
    await space.set_task(f"Tell Tom that the code is {canary}")
    receipt = await space.forget(*outcome.ids)  # type: ignore[union-attr]
    assert receipt.removed["current_tasks"] == 1
    assert await tables_with(memory, canary) == []


async def test_two_at_once_forget_a_source_once(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting_origins, "BATCH", 2)
    await space.import_messages([told(number, f"Message number {number}") for number in range(9)], source="chats")
    one, two = await asyncio.gather(space.forget_source("import:chats"), space.forget_source("import:chats"))
    assert not set(one.ids) & set(two.ids)
    assert len({*one.ids, *two.ids}) == 9
    assert one.removed["memories"] + two.removed.get("memories", 0) == 9


async def test_cut_off_between_two_batches_it_goes_on_where_it_was(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting_origins, "BATCH", 2)
    await space.import_messages([told(number, f"Message number {number}") for number in range(5)], source="chats")

    def stop(done: int) -> None:
        raise KeyError(done)

    with pytest.raises(KeyError):
        await space.forget_source("import:chats", progress=stop)
    assert len(await space.list()) == 3
    assert len((await space.forget_source("import:chats")).ids) == 3


async def test_a_preview_changes_nothing_and_asks_for_one_thing(space: Space) -> None:
    outcome = await space.save("I like figs")
    ids = outcome.ids  # type: ignore[union-attr]
    assert (await space.preview_forget(ids=ids)).ids == ids
    with pytest.raises(InvalidInput):
        await space.preview_forget()
    with pytest.raises(InvalidInput):
        await space.preview_forget(ids=ids, source="user")
    with pytest.raises(NotFound):
        await space.preview_forget(ids=[10**9])
    assert (await space.preview_forget(everything=True)).removed["memories"] == 1
    assert len(await space.list()) == 1
