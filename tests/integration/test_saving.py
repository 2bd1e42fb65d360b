"""What is saved is there, once, and what is forgotten is gone."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from perdure import (
    Conflict,
    EmbeddingUnavailable,
    InvalidInput,
    Memory,
    MemoryType,
    Merged,
    NotFound,
    Space,
    SpaceStats,
    Stored,
)
from tests.doubles.embedder import HashedEmbedder

LONG = "\n\n".join(f"Paragraph {n}: " + "the river was high and the road was closed again. " * 6 for n in range(12))


async def everything_stored(memory: Memory, space: Space) -> dict[str, int]:
    """Rows of every table that belongs to the space, counted by the owner, whom no policy binds."""
    found = await memory.find_space(space.name)
    assert found is not None
    counts = {}
    async with memory.resources.database.owner() as owner:
        tables = await (
            await owner.execute(
                "SELECT table_name FROM information_schema.columns"
                " WHERE column_name = 'space_id' AND table_schema = 'public'"
            )
        ).fetchall()
        for row in tables:
            name = row["table_name"]
            count = await (
                await owner.execute(f"SELECT count(*) AS n FROM {name} WHERE space_id = %s", [found.id])
            ).fetchone()
            counts[name] = count["n"]
    return counts


async def test_a_saved_memory_is_read_back_by_another_memory_at_once(
    memory: Memory, space: Space, urls, embedder
) -> None:
    from tests.integration.conftest import open_memory

    outcome = await space.save(
        "Ada is allergic to peanuts",
        salience=9,
        memory_type="fact",
        tags=["Health", "health"],
        metadata={"channel": "web"},
        source_date="2026-05-01",
    )
    assert isinstance(outcome, Stored)
    async with open_memory(urls, embedder) as other:
        seen = await other.space(space.name).get(outcome.ids[0])
    assert seen.summary == "Ada is allergic to peanuts"
    assert seen.salience == 9
    assert seen.memory_type is MemoryType.FACT
    assert seen.tags == ("Health",)
    assert seen.metadata == {"channel": "web"}
    assert seen.source_date == datetime(2026, 5, 1, tzinfo=UTC)


async def test_an_exact_duplicate_is_merged_with_its_tags_and_the_higher_salience(space: Space) -> None:
    first = await space.save("We meet at the harbour", salience=4, tags=["plan"])
    again = await space.save("We meet at the harbour", salience=8, tags=["boat"])
    assert isinstance(first, Stored)
    assert again == Merged(first.ids[0])
    seen = await space.get(first.ids[0])
    assert seen.salience == 8
    assert seen.tags == ("plan", "boat")
    assert len(await space.evidence(first.ids[0])) == 2


async def test_sixty_four_identical_saves_at_once_give_one_memory(space: Space) -> None:
    outcomes = await asyncio.gather(*(space.save("The code of the gate is 4471") for _ in range(64)))
    assert sum(isinstance(outcome, Stored) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Merged) for outcome in outcomes) == 63
    assert len(await space.list()) == 1


async def test_the_same_words_of_another_speaker_are_another_memory(space: Space) -> None:
    await space.save("I am vegan", speaker="Ada")
    await space.save("I am vegan", speaker="Bob")
    assert {memory.speaker for memory in await space.list()} == {"Ada", "Bob"}


async def test_a_repeated_operation_returns_the_first_outcome_and_a_changed_one_is_a_conflict(space: Space) -> None:
    first = await space.save("The flat has two rooms", operation_id="op-1")
    await space.save("Something in between")
    assert await space.save("The flat has two rooms", operation_id="op-1") == first
    with pytest.raises(Conflict, match="op-1"):
        await space.save("The flat has three rooms", operation_id="op-1")
    assert len(await space.list()) == 2


async def test_a_repeated_save_needs_no_embedder(space: Space, embedder: HashedEmbedder) -> None:
    first = await space.save("The flat has two rooms", operation_id="op-1")
    embedder.outage = True
    assert await space.save("The flat has two rooms", operation_id="op-1") == first


@pytest.mark.parametrize(
    "other",
    [
        {"salience": 9},
        {"memory_type": "fact"},
        {"tags": ["home"]},
        {"entities": ["flat"]},
        {"metadata": {"rooms": 2}},
        {"source_date": "2026-05-01"},
        {"conversation_id": "c1"},
        {"pinned": True},
        {"speaker": "Ada"},
    ],
)
async def test_an_operation_id_stands_for_the_whole_request(space: Space, other: dict[str, object]) -> None:
    await space.save("The flat has two rooms", operation_id="op-1")
    with pytest.raises(Conflict, match="op-1"):
        await space.save("The flat has two rooms", operation_id="op-1", **other)


async def test_an_operation_id_stands_for_its_audience_too(memory: Memory, space: Space) -> None:
    await space.save("The flat has two rooms", operation_id="op-1")
    with pytest.raises(Conflict, match="op-1"):
        await memory.space(space.name, audience="family").save("The flat has two rooms", operation_id="op-1")


async def test_a_save_that_could_not_be_embedded_leaves_no_empty_space(
    memory: Memory, space: Space, embedder: HashedEmbedder
) -> None:
    embedder.outage = True
    with pytest.raises(EmbeddingUnavailable):
        await space.save("The flat has two rooms")
    assert await memory.find_space(space.name) is None


async def test_a_long_text_becomes_siblings_that_hold_all_of_it(space: Space) -> None:
    outcome = await space.save(LONG)
    assert isinstance(outcome, Stored)
    assert len(outcome.ids) > 2
    chunks = [await space.get(memory_id) for memory_id in outcome.ids]
    assert all(len(chunk.summary.encode()) <= 1200 for chunk in chunks)
    assert [chunk.chunk_no for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.chunk_of for chunk in chunks[1:]} == {chunks[0].id}
    assert "".join("".join(chunk.summary.split()) for chunk in chunks) == "".join(LONG.split())


async def test_forgetting_one_chunk_erases_the_whole_text_and_every_trace_of_it(memory: Memory, space: Space) -> None:
    kept = await space.save("The cat is called Pixel", tags=["pets"])
    assert isinstance(kept, Stored)
    before = await everything_stored(memory, space)
    gone = await space.save(LONG, tags=["river"], entities=["River Lys"], metadata={"k": "v"})
    assert isinstance(gone, Stored)
    await space.update(gone.ids[0], salience=7)
    receipt = await space.forget(gone.ids[1])
    assert receipt.ids == gone.ids
    after = await everything_stored(memory, space)
    # The operation id stays, without a word of the text, so that a late replay can't bring it back.
    assert after.pop("operations") == before.pop("operations") + 1
    # So do digests of it, by which an older telling of it is known.
    assert after.pop("forgotten_texts") > before.pop("forgotten_texts")
    # And that somebody saved, changed and forgot something, and its ids.
    assert after.pop("audit_log") == before.pop("audit_log") + 3
    assert after == before
    with pytest.raises(NotFound):
        await space.get(gone.ids[0])
    assert (await space.search("river road closed")).hits[0].memory.id == kept.ids[0]


async def test_forgetting_several_erases_all_or_none(space: Space) -> None:
    stored = await space.save("The bike has a flat tyre")
    assert isinstance(stored, Stored)
    with pytest.raises(NotFound):
        await space.forget(stored.ids[0], 999_999_999)
    assert len(await space.list()) == 1


async def test_an_update_is_found_by_its_new_words_only_and_keeps_the_old_ones_in_history(space: Space) -> None:
    stored = await space.save("The dentist is on Tuesday", tags=["health"], pinned=True)
    assert isinstance(stored, Stored)
    await space.save("A film about whales")
    changed = await space.update(stored.ids[0], text="The dentist is on Thursday")
    assert (changed.summary, changed.tags, changed.pinned) == ("The dentist is on Thursday", ("health",), True)
    top = (await space.search("Thursday", exact=True)).hits[0]
    assert top.memory.id == stored.ids[0]
    assert "thursday" in top.matched
    assert all("tuesday" not in hit.matched for hit in (await space.search("Tuesday", exact=True)).hits)
    (entry,) = await space.history(stored.ids[0])
    assert entry["summary"] == "The dentist is on Tuesday"


async def test_an_update_to_a_text_that_is_there_already_is_refused(space: Space) -> None:
    await space.save("Monday is free")
    other = await space.save("Friday is free")
    assert isinstance(other, Stored)
    with pytest.raises(Conflict, match="same text"):
        await space.update(other.ids[0], text="Monday is free")


async def test_an_update_waits_for_its_vector_and_loses_nothing_that_changed_meanwhile(
    space: Space, embedder: HashedEmbedder
) -> None:
    stored = await space.save("The dentist is on Tuesday", tags=["old"])
    assert isinstance(stored, Stored)
    embedder.hang_s = 0.5
    slow = asyncio.create_task(space.update(stored.ids[0], text="The dentist is on Thursday", entities=["dentist"]))
    await asyncio.sleep(0.2)
    embedder.hang_s = 0
    await space.update(stored.ids[0], salience=9, tags=["new"])
    await space.pin(stored.ids[0])
    changed = await slow
    assert (changed.summary, changed.entities) == ("The dentist is on Thursday", ("dentist",))
    assert (changed.salience, changed.tags, changed.pinned) == (9, ("new",), True)


async def test_updates_of_different_fields_at_once_all_take_effect(space: Space, embedder: HashedEmbedder) -> None:
    stored = await space.save("The boiler was repaired")
    assert isinstance(stored, Stored)
    (memory_id,) = stored.ids
    embedder.hang_s = 0.05
    changes = {
        "salience": 9,
        "memory_type": "fact",
        "tags": ["house"],
        "entities": ["boiler"],
        "metadata": {"channel": "web"},
    }
    await asyncio.gather(
        *(space.update(memory_id, **{name: value}) for name, value in changes.items()),
        space.pin(memory_id),
        space.save("The boiler was repaired", tags=["merged"], salience=6),
    )
    seen = await space.get(memory_id)
    assert (seen.salience, seen.memory_type, seen.pinned) == (9, "fact", True)
    assert (seen.entities, seen.metadata) == (("boiler",), {"channel": "web"})
    assert "house" in seen.tags


async def test_the_ranges_of_a_history_follow_each_other_from_the_day_it_came_in(space: Space) -> None:
    stored = await space.save("The boiler was repaired", source_date="2020-01-01", entities=["boiler"])
    assert isinstance(stored, Stored)
    (memory_id,) = stored.ids
    await space.update(memory_id, entities=["boiler", "cellar"])
    await asyncio.gather(*(space.update(memory_id, salience=value) for value in (6, 7, 8, 9)), space.pin(memory_id))
    await space.save("The boiler was repaired", tags=["house"])
    entries = await space.history(memory_id)
    assert [entry["action"] for entry in entries if entry["action"] != "update"] == ["pin", "merge"]
    ends = [entry["valid_to"] for entry in entries]
    assert [entry["valid_from"] for entry in entries] == [(await space.get(memory_id)).created_at, *ends[:-1]]
    assert ends == sorted(ends)
    assert entries[0]["state"]["entities"] == ["boiler"]
    assert entries[1]["state"]["entities"] == ["boiler", "cellar"]
    assert entries[-1]["state"]["tags"] == []
    assert entries[-1]["state"]["pinned"] is True


async def test_what_changes_nothing_leaves_no_history(space: Space) -> None:
    stored = await space.save("The boiler was repaired", tags=["house"], salience=7)
    assert isinstance(stored, Stored)
    (memory_id,) = stored.ids
    await space.pin(memory_id, pinned=False)
    await space.update(memory_id, salience=7, tags=["house"])
    await space.save("The boiler was repaired", tags=["House"], salience=3)
    assert await space.history(memory_id) == ()
    assert (await space.get(memory_id)).tags == ("house",)


async def test_a_merged_long_text_is_merged_in_all_its_chunks(space: Space) -> None:
    first = await space.save(LONG, tags=["river"], salience=4)
    assert isinstance(first, Stored)
    assert await space.save(LONG, tags=["road"], salience=8) == Merged(first.ids[0])
    for memory_id in first.ids:
        chunk = await space.get(memory_id)
        assert (chunk.tags, chunk.salience) == (("river", "road"), 8)
        assert len(await space.evidence(memory_id)) == 2
    assert {memory.id for memory in await space.list(tags=["road"], limit=100)} == set(first.ids)


async def test_an_update_that_keeps_the_words_needs_no_embedder(space: Space, embedder: HashedEmbedder) -> None:
    stored = await space.save("The boiler was repaired")
    assert isinstance(stored, Stored)
    embedder.outage = True
    assert (await space.update(stored.ids[0], text="The boiler was repaired", salience=8)).salience == 8
    embedder.outage = False
    assert (await space.search("boiler repaired")).hits[0].similarity > 0.8


async def test_two_new_texts_for_one_memory_at_once_are_a_conflict_for_one(
    space: Space, embedder: HashedEmbedder
) -> None:
    stored = await space.save("Monday is free")
    assert isinstance(stored, Stored)
    embedder.hang_s = 0.2
    both = await asyncio.gather(
        *(space.update(stored.ids[0], text=f"{day} is free") for day in ("Friday", "Sunday")), return_exceptions=True
    )
    assert sum(isinstance(result, Conflict) for result in both) == 1
    assert (await space.get(stored.ids[0])).summary in {"Friday is free", "Sunday is free"}


@pytest.mark.parametrize("chunk", [0, 1])
async def test_a_long_text_saved_again_after_one_of_its_chunks_changed_is_stored_anew(space: Space, chunk: int) -> None:
    first = await space.save(LONG)
    assert isinstance(first, Stored)
    await space.update(first.ids[chunk], text="a wholly different part")
    again = await space.save(LONG)
    assert isinstance(again, Stored)
    assert not set(again.ids) & set(first.ids)
    assert await space.save(LONG) == Merged(again.ids[0])


async def test_a_long_text_whose_chunks_kept_their_words_is_still_a_duplicate(space: Space) -> None:
    first = await space.save(LONG)
    assert isinstance(first, Stored)
    for memory_id in first.ids:
        await space.update(memory_id, salience=8)
    assert await space.save(LONG) == Merged(first.ids[0])


async def test_an_update_longer_than_one_memory_is_refused_with_the_limit(space: Space) -> None:
    stored = await space.save("Short")
    assert isinstance(stored, Stored)
    with pytest.raises(InvalidInput, match="1200 bytes"):
        await space.update(stored.ids[0], text=LONG)
    assert (await space.get(stored.ids[0])).summary == "Short"


async def test_reading_never_makes_a_space(memory: Memory) -> None:
    ghost = memory.space("nobody-wrote-here")
    assert (await ghost.recall("anything?")).memories == ()
    assert (await ghost.search("anything")).hits == ()
    assert await ghost.list() == ()
    with pytest.raises(NotFound):
        await ghost.stats()
    assert "nobody-wrote-here" not in {row.name for row in await memory.spaces()}


async def test_when_the_embedder_is_away_nothing_is_written_and_the_caller_is_told(
    memory: Memory, space: Space, embedder: HashedEmbedder
) -> None:
    await space.save("first")
    embedder.outage = True
    with pytest.raises(EmbeddingUnavailable):
        await space.save("second")
    embedder.outage = False
    stats = await space.stats()
    assert isinstance(stats, SpaceStats)
    assert stats.memories == 1


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n\t "}, "text"),
        ({"text": "x" * 1_000_000}, "text"),
        ({"text": 7}, "text"),
        ({"text": "ok", "salience": 0}, "salience"),
        ({"text": "ok", "salience": 10.5}, "salience"),
        ({"text": "ok", "salience": float("nan")}, "salience"),
        ({"text": "ok", "memory_type": "opinion"}, "memory_type"),
        ({"text": "ok", "tags": ["x" * 101]}, "tags"),
        ({"text": "ok", "tags": [str(n) for n in range(33)]}, "tags"),
        ({"text": "ok", "source_date": "0001-01-01"}, "source_date"),
        ({"text": "ok", "source_date": "9999-12-31"}, "source_date"),
        ({"text": "ok", "source_date": "yesterday"}, "source_date"),
        ({"text": "ok", "metadata": {"x": float("inf")}}, "metadata"),
        ({"text": "ok", "metadata": {"x": "y" * 20_000}}, "metadata"),
        ({"text": "ok", "operation_id": ""}, "operation_id"),
    ],
)
async def test_bad_input_names_field_value_and_limit_and_writes_nothing(
    memory: Memory, space: Space, arguments: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await space.save(**arguments)
    assert refused.value.field == field
    assert refused.value.limit
    assert await memory.find_space(space.name) is None


@pytest.mark.parametrize(
    "text",
    [
        "nul \x00 inside",
        "lone surrogate \ud800 inside",
        "שלום, נפגש ביום שלישי",
        "مرحبا، نلتقي يوم الثلاثاء",
        "ฉันชอบกินข้าวผัดกับไข่ดาว",
        "👨‍👩‍👧‍👦 family day 🎉",
        "Mixed 混合 текст نص ทดสอบ",
        "'; DROP TABLE memories; --",
        "%(space_id)s {slot} %% \\",
        "e\u0301" * 900,
    ],
)
async def test_any_script_is_stored_and_found_again(space: Space, text: str) -> None:
    outcome = await space.save(text)
    assert isinstance(outcome, Stored)
    (hit, *_) = (await space.search(text)).hits
    assert hit.memory.id in outcome.ids
    assert "\x00" not in hit.memory.summary


async def test_what_was_recalled_is_not_saved_again_as_new(space: Space) -> None:
    await space.save("The landlord raises the rent in January")
    recalled = await space.recall("When does the landlord raise the rent?")
    assert "<memories>" in recalled.tail
    with pytest.raises(InvalidInput, match="recalled"):
        await space.save(recalled.tail)
    outcome = await space.save(f"{recalled.tail}\nThe rent is 900 a month")
    assert isinstance(outcome, Stored)
    assert (await space.get(outcome.ids[0])).summary.strip() == "The rent is 900 a month"
