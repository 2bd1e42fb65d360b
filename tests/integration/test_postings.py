"""A memory is found by exactly the keys that its row spells out again, so that erasing it leaves none behind."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from perdure import Memory, Merged, Message, Space, Stored
from perdure.ingest.keys import stored_postings
from perdure.store.database import SpaceTransaction
from perdure.store.memories import FIND_DUPLICATES, MemoryRow, read_rows
from perdure.store.postings import DROP_EMPTY_COUNTS, Postings
from perdure.store.sketches import signature
from perdure.text import analyse
from tests.integration.ranking_spaces import LoadedSpace

SAID = [
    "I am running to the harbour, where the dogs are",
    "Who is it?",
    "to be or not to be",
    "我家有一只黑猫，你什么时候来？",
    "昨日コーヒーを買った",
    "ฉันชอบกินข้าวผัดกับไข่ดาว",
    "어제 서울에서 친구를 만났다",
    "Я видел мою собаку в марте",
    "قابلت أَحْمَد أمس",
    "fooBar user@x.org C++ e-mail U.S.A. 2023-05-08",
    "👍 ok",
    "x" * 500,
    "e\u0301" * 500,
]
SPEAKERS = [None, "Zoë Müller", "user", "Assistant", "小明", "Will", "Dr. Smith", "O'Brien"]
LONG = "\n\n".join(f"Paragraph {n}: " + "is the river high and the road closed again? " * 6 for n in range(12))


async def keys_in_tables(memory: Memory, space: Space) -> dict[int, Postings]:
    """What the posting tables hold, read by the owner; every memory of the space."""
    found = await memory.find_space(space.name)
    assert found is not None
    terms: dict[int, list[str]] = {}
    lengths: dict[int, set[int]] = {}
    keyed: dict[str, dict[int, list[str]]] = {"memory_entities": {}, "memory_facets": {}}
    async with memory.resources.database.owner() as owner:
        for row in await rows(owner, "SELECT * FROM memory_terms WHERE space_id = %s", found.id):
            terms.setdefault(row["memory_id"], []).extend([row["term"]] * row["tf"])
            lengths.setdefault(row["memory_id"], set()).add(row["length"])
        for table, keys in keyed.items():
            for row in await rows(owner, f"SELECT * FROM {table} WHERE space_id = %s", found.id):
                keys.setdefault(row["memory_id"], []).append(row["key"])
    assert all(len(length) == 1 for length in lengths.values())
    return {
        memory_id: Postings(
            memory_id,
            tuple(sorted(words)),
            tuple(sorted(keyed["memory_entities"].get(memory_id, ()))),
            tuple(sorted(keyed["memory_facets"].get(memory_id, ()))),
            lengths[memory_id].pop(),
        )
        for memory_id, words in terms.items()
    }


async def rows(owner: Any, statement: str, *params: object) -> list[dict[str, Any]]:
    return await (await owner.execute(statement, params)).fetchall()


async def rows_of(memory: Memory, space: Space) -> dict[int, MemoryRow]:
    found = await memory.find_space(space.name)
    assert found is not None
    ids = [stored.id for stored in await space.list(limit=1000)]

    async def read(tx: SpaceTransaction) -> dict[int, MemoryRow]:
        return await read_rows(tx, space.name, ids)

    return await memory.resources.database.in_space(found.id, read)


async def states(memory: Memory, space: Space) -> dict[int, dict[str, Any]]:
    found = await memory.find_space(space.name)
    assert found is not None
    async with memory.resources.database.owner() as owner:
        return {
            row["memory_id"]: row
            for row in await rows(owner, "SELECT * FROM memory_state WHERE space_id = %s", found.id)
        }


async def counted(memory: Memory, space: Space) -> tuple[Counter[tuple[str, str]], int, int]:
    found = await memory.find_space(space.name)
    assert found is not None
    async with memory.resources.database.owner() as owner:
        counts = await rows(owner, "SELECT kind, key, n FROM space_counts WHERE space_id = %s", found.id)
        (state,) = await rows(owner, "SELECT memories, terms FROM space_state WHERE space_id = %s", found.id)
    return Counter({(row["kind"], row["key"]): row["n"] for row in counts}), state["memories"], state["terms"]


async def check(memory: Memory, space: Space) -> None:
    """Tables, rows, state and counts say the same about every memory of the space."""
    tables, stored, state = (
        await keys_in_tables(memory, space),
        await rows_of(memory, space),
        await states(memory, space),
    )
    assert tables.keys() == stored.keys()
    counts: Counter[tuple[str, str]] = Counter()
    for memory_id, row in stored.items():
        spelled = stored_postings(row)
        assert Postings(memory_id, tuple(sorted(spelled.terms)), *_rest(spelled)) == tables[memory_id]
        assert state[memory_id]["term_count"] == spelled.length == analyse(row.memory.summary).length
        assert state[memory_id]["signature"] == signature(spelled.terms, spelled.entities)
        counts.update(("term", term) for term in set(spelled.terms))
        counts.update(("entity", key) for key in spelled.entities)
        counts.update(("facet", key) for key in spelled.facets)
    lengths = sum(postings.length for postings in tables.values())
    assert await counted(memory, space) == (counts, len(stored), lengths)


def _rest(postings: Postings) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    return postings.entities, postings.facets, postings.length


async def fill(space: Space) -> list[int]:
    ids: list[int] = []
    for number, text in enumerate(SAID):
        outcome = await space.save(
            text,
            speaker=SPEAKERS[number % len(SPEAKERS)],
            tags=["Été", "health"][: number % 3],
            entities=["Zoë", "New  York", "小明"][: number % 4],
            source_date=f"20{10 + number}-0{1 + number % 9}-1{number % 9}",
            metadata={"n": number},
        )
        assert isinstance(outcome, Stored)
        ids += outcome.ids
    messages = [
        Message(f"m{n}", text, speaker=name) for n, (text, name) in enumerate(zip(SAID, SPEAKERS, strict=False))
    ]
    await space.import_messages(messages, source="chat")
    long = await space.save(LONG, speaker="Ada Lovelace", entities=["River Lys"])
    assert isinstance(long, Stored)
    return [*ids, *long.ids]


async def test_a_row_spells_out_the_very_keys_it_was_stored_with(memory: Memory, space: Space) -> None:
    await fill(space)
    await check(memory, space)


async def test_a_changed_row_spells_out_its_new_keys(memory: Memory, space: Space) -> None:
    ids = await fill(space)
    for number, memory_id in enumerate(ids[: len(SAID)]):
        await space.update(
            memory_id, text=f"{SAID[-1 - number][:300]} changed", tags=["new"], entities=["Lake"][: number % 2]
        )
    await space.update(ids[-1], text="is that all?")
    await check(memory, space)


async def test_erasing_everything_leaves_no_posting_and_no_count(memory: Memory, space: Space) -> None:
    await fill(space)
    for stored in await space.list(limit=1000):
        if stored.chunk_of is None:
            await space.forget(stored.id)
    assert await keys_in_tables(memory, space) == {}
    assert await counted(memory, space) == (Counter(), 0, 0)


async def test_the_tags_of_a_merged_duplicate_filter_and_go_with_the_memory(memory: Memory, space: Space) -> None:
    first = await space.save("We meet at the harbour", tags=["plan", "Boat"])
    other = await space.save("The other boat", tags=["boat", "sea"])
    assert isinstance(first, Stored)
    assert isinstance(other, Stored)
    assert isinstance(await space.save("We meet at the harbour", tags=["boat", "sea"]), Merged)
    await check(memory, space)
    assert {found.id for found in await space.list(tags=["sea"])} == {first.ids[0], other.ids[0]}
    await space.forget(first.ids[0])
    await check(memory, space)


@pytest.mark.parametrize(
    ("speaker", "named"), [("Zoë Müller", True), ("user", False), ("ASSISTANT", False), (None, False)]
)
async def test_a_name_is_a_key_of_what_its_bearer_said_and_a_role_is_none(
    memory: Memory, space: Space, speaker: str | None, named: bool
) -> None:
    await space.save("I keep bees", speaker=speaker, source_date="2023-05-08")
    ((memory_id, row),) = (await rows_of(memory, space)).items()
    spelled = stored_postings(row)
    days = ("@y2023", "@m5", "@m5d8")
    assert spelled.terms == ("keep", "bee", *(("zoe", "muller") if named else ()), *days)
    assert spelled.entities == (("zoe", "zoe muller") if named else ())
    assert spelled.length == 2
    assert row.search_text.partition("\n")[2] == "bees"
    assert row.memory.entities == ()
    state = (await states(memory, space))[memory_id]
    assert state["speaker"] == (speaker and {"Zoë Müller": "zoe muller"}.get(speaker, speaker.lower()))


async def test_only_the_last_chunk_of_a_text_asks(memory: Memory, space: Space) -> None:
    outcome = await space.save(LONG)
    assert isinstance(outcome, Stored)

    async def asking() -> list[bool]:
        state = await states(memory, space)
        return [state[memory_id]["is_question"] for memory_id in outcome.ids]

    assert await asking() == [False] * (len(outcome.ids) - 1) + [True]
    await space.update(outcome.ids[0], text="is the road closed?")
    await space.update(outcome.ids[-1], text="it is open")
    assert await asking() == [False] * len(outcome.ids)
    await space.update(outcome.ids[-1], text="is it?")
    assert (await asking())[-1]


async def test_empty_counts_are_found_by_the_whole_primary_key(memory: Memory, space: Space) -> None:
    await space.save("The boiler was repaired")
    found = await memory.find_space(space.name)
    assert found is not None

    async def explain(tx: SpaceTransaction) -> str:
        # What the planner takes for a few rows depends on what other tests left; in a large table it has no choice.
        for way in ("seqscan", "hashjoin", "mergejoin", "bitmapscan"):
            await tx.execute(f"SET LOCAL enable_{way} = off")
        plan = await tx.fetch_all(f"EXPLAIN {DROP_EMPTY_COUNTS}", {"kinds": ["term"], "keys": ["boiler"]})
        return "\n".join(row["QUERY PLAN"] for row in plan)

    plan = await memory.resources.database.in_space(found.id, explain)
    (condition,) = [line for line in plan.splitlines() if "Index Cond" in line]
    assert all(column in condition for column in ("space_id", "kind", "key"))


async def test_duplicates_are_looked_up_by_hash_however_large_the_space(large: LoadedSpace) -> None:
    async def explain(tx: SpaceTransaction) -> str:
        plan = await tx.fetch_all(f"EXPLAIN {FIND_DUPLICATES}", {"hashes": [bytes([n]) * 16 for n in range(32)]})
        return "\n".join(row["QUERY PLAN"] for row in plan)

    plan = await large.database.in_space(large.space_id, explain)
    (condition,) = [line for line in plan.splitlines() if "Index Cond" in line]
    assert "content_hash = ANY" in condition
