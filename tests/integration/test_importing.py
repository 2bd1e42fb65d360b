"""An import stores every message exactly once, however often and from however many processes it is run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from perdure import EmbeddingUnavailable, InvalidInput, Memory, Message, Space
from perdure.ingest import batches
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

START = datetime(2025, 7, 1, 9, tzinfo=UTC)


def message(number: int, text: str | None = None, **fields: object) -> Message:
    return Message(
        external_id=f"m{number}",
        text=f"message {number} about topic {number * 7919}" if text is None else text,
        speaker="Ada" if number % 2 else "assistant",
        occurred_at=START + timedelta(minutes=number),
        conversation_id=f"c{number // 10}",
        line=number + 1,
        **fields,
    )


async def test_a_second_run_stores_nothing_and_embeds_nothing(space: Space, embedder: HashedEmbedder) -> None:
    messages = [message(number) for number in range(40)]
    first = await space.import_messages(messages, source="chat")
    assert (first.stored, first.merged, first.known, first.empty, first.refused) == (40, 0, 0, 0, ())
    calls = embedder.calls
    second = await space.import_messages(messages, source="chat")
    assert (second.stored, second.known) == (0, 40)
    assert embedder.calls == calls
    assert len(await space.list(limit=1000)) == 40


async def test_what_a_message_was_is_kept_with_it(space: Space) -> None:
    await space.import_messages([message(7, "I sold the blue bicycle")], source="chat")
    (stored,) = await space.list()
    assert (stored.source, stored.speaker, stored.trust, stored.conversation_id) == ("import:chat", "Ada", "user", "c0")
    assert stored.source_date == START + timedelta(minutes=7)
    (evidence,) = await space.evidence(stored.id)
    assert (evidence.kind, evidence.external_id, evidence.excerpt) == ("import:chat", "m7", "I sold the blue bicycle")


async def test_bad_messages_are_refused_by_line_and_the_rest_goes_on(space: Space) -> None:
    messages = [message(0), message(1, ""), message(2, "x" * 1_000_000), message(3, "👍"), message(4)]
    report = await space.import_messages(messages, source="chat")
    assert (report.stored, report.empty, report.seen) == (2, 1, 5)
    assert [(error.field, error.line) for error in report.refused] == [("text", 2), ("text", 3)]


async def test_a_message_that_stands_twice_in_a_batch_is_stored_once(space: Space) -> None:
    report = await space.import_messages([message(1), message(1), message(2)], source="chat")
    assert report.stored == 2
    assert len(await space.list()) == 2


async def test_the_same_words_at_another_time_are_one_memory_with_the_evidence_of_both(space: Space) -> None:
    report = await space.import_messages([message(1, "ok thanks"), message(3, "ok thanks")], source="chat")
    assert (report.stored, report.merged) == (1, 1)
    (stored,) = await space.list()
    assert [e.external_id for e in await space.evidence(stored.id)] == ["m1", "m3"]


async def test_a_message_without_a_time_is_dated_by_its_import(space: Space) -> None:
    await space.import_messages([Message("m1", "no idea when")], source="chat")
    (stored,) = await space.list()
    assert stored.source_date <= stored.created_at
    assert stored.created_at - stored.source_date < timedelta(minutes=5)


async def test_ids_belong_to_their_source(space: Space) -> None:
    await space.import_messages([message(1, "from the first chat")], source="one")
    report = await space.import_messages([message(1, "from the second chat")], source="two")
    assert report.stored == 1


async def test_two_processes_importing_the_same_file_store_every_message_once(
    space: Space, urls, embedder: HashedEmbedder
) -> None:
    messages = [message(number) for number in range(300)]

    async def run(target: Space) -> int:
        stored = 0
        for _, batch in batches(messages, 32):
            stored += (await target.import_messages(batch, source="chat")).stored
        return stored

    async with open_memory(urls, embedder) as other:
        stored = await asyncio.gather(run(space), run(other.space(space.name)))
    assert sum(stored) == 300
    assert len(await space.list(limit=1000)) == 300


async def test_an_import_without_an_embedder_stores_nothing_of_the_batch(
    space: Space, embedder: HashedEmbedder
) -> None:
    embedder.outage = True
    with pytest.raises(EmbeddingUnavailable):
        await space.import_messages([message(1), message(2)], source="chat")
    embedder.outage = False
    assert (await space.import_messages([message(1), message(2)], source="chat")).stored == 2


async def test_a_forgotten_message_does_not_come_back_with_the_next_import(memory: Memory, space: Space) -> None:
    await space.import_messages([message(1)], source="chat")
    (stored,) = await space.list()
    await space.forget(stored.id)
    report = await space.import_messages([message(1)], source="chat")
    assert (report.stored, report.known) == (0, 1)
    assert await space.list() == ()


def test_batches_keep_order_and_never_mix_spaces() -> None:
    stream = [message(n, space="a" if n < 5 else "b") for n in range(9)]
    assert [(space, [m.external_id for m in batch]) for space, batch in batches(stream, 3)] == [
        ("a", ["m0", "m1", "m2"]),
        ("b", ["m5", "m6", "m7"]),
        ("a", ["m3", "m4"]),
        ("b", ["m8"]),
    ]


@pytest.mark.parametrize("spaces", [1, 2, 64, 65, 200])
def test_spaces_that_take_turns_make_full_batches_up_to_64_of_them(spaces: int) -> None:
    stream = [message(n, space=f"s{n % spaces}") for n in range(spaces * 40)]
    made = list(batches(stream, 20))
    by_space: dict[str | None, list[Message]] = {}
    for space, batch in made:
        assert {m.space for m in batch} == {space}
        by_space.setdefault(space, []).extend(batch)
    assert all(by_space[f"s{n}"] == stream[n::spaces] for n in range(spaces))
    if spaces <= 64:
        assert {len(batch) for _, batch in made} == {20}


def test_what_stood_before_the_damage_of_a_file_is_handed_out_first() -> None:
    def stream() -> Iterator[Message]:
        yield from (message(n, space=f"s{n % 3}") for n in range(8))
        raise InvalidInput("file", "…", "it is damaged")

    made = batches(stream(), 3)
    assert [len(next(made)[1]) for _ in range(3)] == [3, 3, 2]
    with pytest.raises(InvalidInput, match="damaged"):
        next(made)


def test_no_more_than_64_batches_are_held_back() -> None:
    read = 0

    def stream() -> Iterator[Message]:
        nonlocal read
        for read in range(1, 10_001):
            yield message(read, space=f"s{read}")

    handed = 0
    for _, batch in batches(stream(), 20):
        handed += len(batch)
        assert read - handed <= 64
    assert handed == 10_000
