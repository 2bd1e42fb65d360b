"""A space moves house: what was exported, wiped and imported is what it was."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Conflict, InvalidInput, Memory, Message, NotFound, Participant, Space, TurnState
from perdure.store.catalogue import tables_of_spaces
from perdure.store.embedded import ServerUrls
from perdure.transfer import LEFT_OUT, is_export
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure.store.database import SpaceTransaction

PEANUTS = "Ada is allergic to peanuts"


async def rich(space: Space) -> Space:
    """A space with something in nearly every table."""
    await space.save(PEANUTS, salience=9, tags=["health"], entities=["Ada"], metadata={"id": 7}, pinned=True)
    saved = await space.save("東京で会いましょう. Ada moved to Lima. " * 80, operation_id="long", speaker="Ada")
    await space.update(saved.ids[0], salience=3)  # type: ignore[union-attr]
    gone = await space.save("A secret to be forgotten")
    await space.forget(*gone.ids)  # type: ignore[union-attr]
    await space.import_messages([Message("1", "I play the cello"), Message("2", "Hello")], source="chat")
    await space.capture(user="I live in Lima now", assistant="Nice.", operation_id="turn")
    await space.drain()
    await space.capture(user="And I have a cat called Miro", assistant="Lovely.", conversation_id="c")
    await space.archive([{"role": "user", "content": "My brother is Tom"}])
    await space.set_task("Pack for Lima")
    momo = await space.persona("Momo")
    ada = Participant("7", "Ada")
    await space.remember("Ada collects stamps", about="person:7", tags=["stamps"])
    await space.create_long_term_memory(
        TurnState("guild", "kitchen", momo, ada, (ada,)),
        {"memory_content": "{bot} answers in one sentence", "memory_scope": "server_wide"},
    )
    await space.set_person("7", name="Ada", privacy="partial")
    await space.set_server("guild", self_teaching_enabled=True)
    await space.add_document("The porter has the spare key.", name="rules.md", channels=["kitchen"])
    await space.think()
    await space.upkeep()
    return space


@pytest.fixture
async def other(urls: ServerUrls) -> AsyncIterator[Memory]:
    """A memory on the same server whose embedder is of another family."""
    async with open_memory(urls, HashedEmbedder(dimensions=48)) as memory:
        yield memory


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as file:
        return [json.loads(line) for line in file]


def content(path: Path) -> list[dict[str, Any]]:
    """The rows without what is of the moment: who imported, and what workers have done since."""
    return [line for line in lines(path)[1:-1] if line["table"] not in {"upkeep_state", "cognition_state"}]


async def wipe(memory: Memory, name: str) -> None:
    from perdure.transfer.importing import discard

    row = await memory.find_space(name)
    assert row is not None
    await discard(memory.resources, row)
    memory._spaces.pop(name)


async def test_export_wipe_import_export_is_the_same(space: Space, memory: Memory, tmp_path: Path) -> None:
    await rich(space)
    before, found = await space.list(limit=1000), await space.search("peanuts", plain=True)
    one = await memory.export_space(space.name, tmp_path / "one.jsonl", vectors=True)
    assert one.counts["memories"] == len(before) + len(await space.list(limit=1000, superseded=True)) - len(before)
    await wipe(memory, space.name)
    with pytest.raises(NotFound):
        await space.stats()
    imported = await memory.import_space(tmp_path / "one.jsonl")
    assert imported.embedded == 0
    await memory.export_space(space.name, tmp_path / "two.jsonl.gz", vectors=True)
    assert content(tmp_path / "two.jsonl.gz") == content(tmp_path / "one.jsonl")
    assert await space.list(limit=1000) == before
    again = await space.search("peanuts", plain=True)
    assert [hit.memory for hit in again.hits] == [hit.memory for hit in found.hits]
    assert [hit.score for hit in again.hits] == pytest.approx([hit.score for hit in found.hits], abs=1e-6)
    assert (await space.stats()).pending > 0
    saved = await space.save("What is new after the move gets an id of its own")
    assert saved.status == "stored"
    await space.drain()


async def test_another_embedding_model_finds_it_too(
    space: Space, memory: Memory, other: Memory, tmp_path: Path
) -> None:
    await rich(space)
    await memory.export_space(space.name, tmp_path / "one.jsonl", vectors=True)
    name = f"{space.name}-there"
    imported = await other.import_space(tmp_path / "one.jsonl", name=name)
    assert imported.embedded == imported.counts["memories"]
    there = other.space(name)
    await other.export_space(name, tmp_path / "two.jsonl")
    vectors = {"memory_vectors", "server_memory_vectors", "personal_memory_vectors", "document_vectors"}
    assert without_sketches(content(tmp_path / "two.jsonl")) == without_sketches(
        [line for line in content(tmp_path / "one.jsonl") if line["table"] not in vectors]
    )
    assert (await there.search("peanuts", plain=True)).hits[0].memory.summary == PEANUTS
    assert (await there.search_documents("spare key porter", channel="kitchen"))[0].name == "rules.md"


def without_sketches(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, "row": {key: value for key, value in line["row"].items() if key != "sketch"}} for line in rows]


async def test_every_table_of_a_space_is_exported_or_left_out_for_a_reason(
    space: Space, memory: Memory, tmp_path: Path
) -> None:
    await rich(space)
    await memory.export_space(space.name, tmp_path / "all.jsonl", vectors=True)
    row = await memory.find_space(space.name)
    assert row is not None

    async def names(tx: SpaceTransaction) -> set[str]:
        return {table.name for table in await tables_of_spaces(tx)}

    every = await memory.resources.database.in_space(row.id, names)
    assert set(lines(tmp_path / "all.jsonl")[0]["columns"]) == every - set(LEFT_OUT)
    assert set(LEFT_OUT) <= every
    filled = {line["table"] for line in lines(tmp_path / "all.jsonl")[1:-1]}
    assert {"memories", "memory_state", "memory_vectors", "memory_evidence", "memory_history", "documents"} <= filled
    assert {"pending_triage", "pending_distillation", "people", "personas", "server_memories"} <= filled


async def test_what_is_written_meanwhile_is_not_in_it(space: Space, memory: Memory, tmp_path: Path) -> None:
    await space.import_messages([Message(str(n), f"Fact number {n}") for n in range(600)], source="chat")
    done = asyncio.Event()

    async def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            await space.save(f"Written meanwhile, number {number}")

    writing = asyncio.create_task(write())
    try:
        exported = await memory.export_space(space.name, tmp_path / "busy.jsonl")
    finally:
        done.set()
        await writing
    rows = lines(tmp_path / "busy.jsonl")[1:-1]
    for table, count in exported.counts.items():
        assert sum(line["table"] == table for line in rows) == count
    assert exported.counts["memories"] == exported.counts["memory_state"]


async def test_an_import_that_was_interrupted_goes_on(
    space: Space, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perdure.transfer import importing

    await space.import_messages([Message(str(n), f"Fact number {n}") for n in range(700)], source="chat")
    await memory.export_space(space.name, tmp_path / "one.jsonl", vectors=True)
    name = f"{space.name}-copy"
    write_rows, calls = importing.write_rows, 0

    async def breaking(*args: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        await write_rows(*args)

    monkeypatch.setattr(importing, "write_rows", breaking)
    with pytest.raises(BaseException, match=r"^$"):
        await memory.import_space(tmp_path / "one.jsonl", name=name)
    assert await memory.find_space(name) is None
    before = calls
    await memory.import_space(tmp_path / "one.jsonl", name=name)
    whole = calls - before
    await memory.export_space(name, tmp_path / "two.jsonl", vectors=True)
    assert content(tmp_path / "two.jsonl") == content(tmp_path / "one.jsonl")
    calls = 100
    await memory.import_space(tmp_path / "one.jsonl", name=f"{name}-2")
    assert whole < calls - 100


async def test_a_space_that_is_there_is_left_alone(space: Space, memory: Memory, tmp_path: Path) -> None:
    await space.save(PEANUTS)
    await memory.export_space(space.name, tmp_path / "one.jsonl")
    with pytest.raises(Conflict, match="already"):
        await memory.import_space(tmp_path / "one.jsonl")
    assert len(await space.list()) == 1


DAMAGES = {
    "cut": lambda rows: rows[:-1],
    "a line missing": lambda rows: [*rows[:3], *rows[4:]],
    "a word changed": lambda rows: [line.replace(b"peanuts", b"walnuts") for line in rows],
    "newer": lambda rows: [rows[0].replace(b'"perdure_export": 1', b'"perdure_export": 99'), *rows[1:]],
    "no JSON": lambda rows: [rows[0], b"{", *rows[1:]],
    "another table": lambda rows: [rows[0], b'{"table":"spaces","row":{}}\n', *rows[1:]],
    "no manifest": lambda rows: rows[1:],
    "empty": lambda rows: [],
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_file_names_the_line_and_writes_nothing(
    space: Space, memory: Memory, tmp_path: Path, damage: str
) -> None:
    await space.save(PEANUTS)
    await memory.export_space(space.name, tmp_path / "one.jsonl")
    rows = (tmp_path / "one.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "bad.jsonl").write_bytes(b"".join(DAMAGES[damage](rows)))
    before = len(await memory.spaces())
    with pytest.raises(InvalidInput) as refused:
        await memory.import_space(tmp_path / "bad.jsonl", name=f"{space.name}-copy")
    assert refused.value.line is not None
    assert len(await memory.spaces()) == before


async def test_what_the_database_refuses_leaves_nothing(space: Space, memory: Memory, tmp_path: Path) -> None:
    from perdure.transfer.format import Manifest, Writer

    await space.save(PEANUTS)
    await memory.export_space(space.name, tmp_path / "one.jsonl")
    told, *rows = lines(tmp_path / "one.jsonl")
    with (tmp_path / "bad.jsonl").open("wb") as file:
        writer = Writer(file)
        writer.manifest(Manifest(**told))
        for line in rows[:-1]:
            if line["table"] == "memory_state":
                line["row"]["salience"] = 99
            writer.write(line)
        writer.end()
    before = len(await memory.spaces())
    with pytest.raises(InvalidInput, match="memory_state_salience") as refused:
        await memory.import_space(tmp_path / "bad.jsonl", name=f"{space.name}-copy")
    assert "peanuts" not in str(refused.value)
    assert len(await memory.spaces()) == before


async def test_an_export_is_known_by_its_beginning(space: Space, memory: Memory, tmp_path: Path) -> None:
    await space.save(PEANUTS)
    await memory.export_space(space.name, tmp_path / "one.jsonl.gz")
    assert is_export(tmp_path / "one.jsonl.gz")
    (tmp_path / "chat.jsonl").write_text('{"text": "Hello"}\n', encoding="utf-8")
    assert not is_export(tmp_path / "chat.jsonl")


async def test_pauses_of_the_file_cost_nothing_that_was_there(space: Space, memory: Memory, tmp_path: Path) -> None:
    await space.save(PEANUTS)
    (tmp_path / "one.jsonl").write_text("precious", encoding="utf-8")
    with pytest.raises(InvalidInput, match="written"):
        await memory.export_space(space.name, tmp_path / "missing" / "one.jsonl")
    await memory.export_space(space.name, tmp_path / "one.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["one.jsonl"]
