"""Items and sessions of frameworks: kept as given, found by key, what they hold and meaning, by nobody else."""

from __future__ import annotations

import asyncio
import secrets
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pgvector import HalfVector
from psycopg.sql import SQL

from perdure import InvalidInput
from perdure.space_items import GetItem, PutItem, SearchItems, SpaceItems
from perdure.space_sessions import SpaceSessions
from perdure.store import items as store
from perdure.store.database import SpaceTransaction
from perdure.store.items import Reach
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure import Memory, Space
    from tests.doubles.clock import SkippingClock

ODD = {"text": "naïve 日本 👍", "n": 1.5, "none": None, "yes": True, "deep": [{"a": []}, "1", 1], "": "empty name"}


@pytest.fixture
def items(space: Space) -> SpaceItems:
    return SpaceItems.of(space)


async def keys_of(items: SpaceItems, **asked: object) -> list[str]:
    return [item.key for item in await items.search((), **asked)]  # type: ignore[arg-type]


async def test_a_value_comes_back_as_it_was_given(items: SpaceItems) -> None:
    await items.put(("a", "b"), "k", ODD)
    found = await items.get(("a", "b"), "k")
    assert found is not None
    assert (found.namespace, found.key, found.value) == (("a", "b"), "k", ODD)


async def test_reading_makes_no_space(memory: Memory) -> None:
    items = SpaceItems(memory, f"nobody-{secrets.token_hex(4)}")
    assert await items.get(("a",), "k") is None
    assert await items.search((), query="anything") == ()
    await items.delete(("a",), "k")
    assert await items.namespaces() == ()
    assert await memory.find_space(items.name) is None


async def test_another_audience_and_another_space_see_nothing(memory: Memory) -> None:
    name = f"space-{secrets.token_hex(6)}"
    mine, whole = SpaceItems(memory, name, "ada"), SpaceItems(memory, name)
    others = [whole, SpaceItems(memory, name, "bob"), SpaceItems(memory, f"{name}-2")]
    await mine.put(("a",), "k", {"secret": "canary"}, words=["canary"])
    for other in others:
        await other.put(("b",), "own", {})
        await other.delete(("a",), "k")
        assert await other.get(("a",), "k") is None
        assert await keys_of(other, query="canary") == ["own"]
        assert await other.namespaces() == (("b",),)
        await other.put(("a",), "k", {"secret": "theirs"})
    found = await mine.get(("a",), "k")
    assert found is not None
    assert found.value == {"secret": "canary"}


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"color": "red"}, {"one", "three"}),
        ({"size": {"$gt": 1}}, {"two", "three"}),
        ({"size": {"$gte": 1, "$lt": 3}}, {"one", "two"}),
        ({"size": {"$lte": 2}, "color": "red"}, {"one"}),
        ({"color": {"$ne": "red"}}, {"two", "four"}),
        ({"color": {"$eq": "blue"}}, {"two"}),
        ({"color": None}, {"four"}),
        ({"owner": {"name": "Ada"}}, {"one"}),
        ({"owner": {"name": "Ada", "town": "Rome"}}, set()),
        ({"owner": {}}, {"one", "two"}),
        ({"owner": {"age": {"$gt": 30}}}, {"one"}),
        ({"tags": ["x", "y"]}, {"three"}),
        ({"tags": ["x", "y", "z"]}, set()),
        ({"when": {"$lt": "2026-02-01"}}, {"four"}),
        ({"size": {"$gt": "1"}}, set()),
        ({"size": True}, set()),
    ],
)
async def test_a_filter_finds_what_holds_all_that_it_names(items: SpaceItems, wanted: dict, keys: set[str]) -> None:
    await items.run(
        [
            PutItem(("f",), "one", {"color": "red", "size": 1, "owner": {"name": "Ada", "age": 36}}),
            PutItem(("f",), "two", {"color": "blue", "size": 2.0, "owner": {"name": "Bob"}}),
            PutItem(("f",), "three", {"color": "red", "size": 3, "tags": ["x", "y"]}),
            PutItem(("f",), "four", {"when": "2026-01-31"}),
        ]
    )
    assert set(await keys_of(items, filter=wanted)) == keys


async def test_a_prefix_means_whole_labels(items: SpaceItems) -> None:
    for path in (("a",), ("a", "b"), ("a-b",), ("a", "bc"), ("ab",), ("a/", "b")):
        await items.put(path, "/".join(path), {})
    assert {found.namespace for found in await items.search(("a",))} == {("a",), ("a", "b"), ("a", "bc")}
    assert {found.namespace for found in await items.search(("a", "b"))} == {("a", "b")}
    assert await items.namespaces(prefixes=[("a",)]) == (("a",), ("a", "b"), ("a", "bc"))
    assert await items.namespaces(suffixes=[("b",)]) == (("a", "b"), ("a/", "b"))
    assert await items.namespaces(prefixes=[("*", "b")]) == (("a", "b"), ("a/", "b"))
    assert await items.namespaces(max_depth=1) == (("a",), ("a-b",), ("a/",), ("ab",))
    assert await items.namespaces(max_depth=1, limit=2, offset=1) == (("a-b",), ("a/",))


async def test_the_nearest_comes_first_and_what_has_no_words_last(items: SpaceItems) -> None:
    await items.put(("m",), "mute", {"text": "a cat"})
    await items.put(("m",), "dog", {}, words=["the dog sleeps"])
    await items.put(("m",), "cat", {}, words=["much about trains", "the cat sleeps on the sofa"])
    found = await items.search(("m",), query="cat on a sofa")
    assert [item.key for item in found] == ["cat", "dog", "mute"]
    assert found[0].score is not None
    assert found[1].score is not None
    assert 1 >= found[0].score > found[1].score
    assert found[2].score is None
    assert [item.key for item in await items.search(("m",), query="cat on a sofa", limit=1, offset=1)] == ["dog"]


async def test_each_vector_is_compared_once_and_found_by_its_key(space: Space, memory: Memory) -> None:
    await SpaceItems.of(space).put(("m",), "cat", {}, words=["the cat sleeps"])
    row = await memory.find_space(space.name)
    assert row is not None
    params = store._params(None, Reach(("m",), [], 10, 0))
    params |= {"family_id": memory.resources.family.id, "vector": HalfVector([1.0] + [0.0] * 255)}

    async def explain(tx: SpaceTransaction) -> str:
        rows = await tx.fetch_all(SQL("EXPLAIN ") + store._filled(store.NEAREST_ITEMS), params, prepare=False)
        return "\n".join(row["QUERY PLAN"] for row in rows)

    plan = await memory.resources.database.in_space(row.id, explain)
    assert "using store_item_vectors_pkey" in plan
    # A list of all items that is gone through for each of them takes minutes for 20,000.
    assert plan.count("CTE Scan") == 2, plan


async def test_a_value_written_anew_is_no_longer_found_by_its_old_words(items: SpaceItems) -> None:
    await items.put(("m",), "k", {}, words=["the cat sleeps"])
    first = await items.get(("m",), "k")
    await items.put(("m",), "k", {"new": 1}, words=["trains"])
    (found,) = await items.search(("m",), query="the cat sleeps")
    assert first is not None
    assert found.score is not None
    assert found.score < 0.5
    assert found.created_at == first.created_at
    assert found.updated_at > first.updated_at


async def test_operations_at_once_read_what_was_there_before_and_the_later_write_counts(items: SpaceItems) -> None:
    await items.put(("a",), "k", {"n": 1})
    answers = await items.run(
        [PutItem(("a",), "k", {"n": 2}), GetItem(("a",), "k"), PutItem(("a",), "k", {"n": 3}), SearchItems(("a",))]
    )
    assert answers[1].value == {"n": 1}  # type: ignore[union-attr]
    assert [item.value for item in answers[3]] == [{"n": 1}]  # type: ignore[union-attr]
    found = await items.get(("a",), "k")
    assert found is not None
    assert found.value == {"n": 3}


async def test_what_is_wrong_with_one_operation_keeps_all_from_being_done(items: SpaceItems) -> None:
    with pytest.raises(InvalidInput):
        await items.run([PutItem(("a",), "k", {}), PutItem(("a.b",), "k", {})])
    assert await items.get(("a",), "k") is None


@pytest.mark.parametrize(
    ("field", "operation"),
    [
        ("namespace", PutItem((), "k", {})),
        ("namespace", PutItem(("",), "k", {})),
        ("namespace", PutItem(("x" * 1025,), "k", {})),
        ("namespace", GetItem(tuple("abcdefghijklmnopqrstuvwxyzabcdefg"), "k")),
        ("key", PutItem(("a",), "", {})),
        ("key", PutItem(("a",), "nul\0", {})),
        ("key", GetItem(("a",), "k" * 513)),
        ("value", PutItem(("a",), "k", {"n": float("nan")})),
        ("value", PutItem(("a",), "k", {"n": object()})),
        ("value", PutItem(("a",), "k", {1: "one"})),  # type: ignore[dict-item]
        ("value", PutItem(("a",), "k", {"big": "x" * 1024 * 1024})),
        ("ttl_minutes", PutItem(("a",), "k", {}, ttl_minutes=0)),
        ("ttl_minutes", PutItem(("a",), "k", {}, ttl_minutes=float("inf"))),
        ("filter", SearchItems(filter={"a": {"$near": 1}})),
        ("limit", SearchItems(limit=0)),
        ("offset", SearchItems(offset=-1)),
    ],
)
async def test_bad_input_is_named_at_the_door(items: SpaceItems, field: str, operation: PutItem | GetItem) -> None:
    with pytest.raises(InvalidInput) as refused:
        await items.run([operation])
    assert refused.value.field == field


async def test_the_longest_names_fit(items: SpaceItems) -> None:
    labels = tuple(f"{position:02}{'ü' * 14}" for position in range(32))
    await items.put(labels, "k" * 512, {"n": 1})
    assert await items.get(labels, "k" * 512) is not None


async def test_reading_puts_the_end_off_and_looking_without_refresh_does_not(urls, noon: SkippingClock) -> None:
    async with open_memory(urls, HashedEmbedder(), clock=noon) as memory:
        items = SpaceItems(memory, f"space-{secrets.token_hex(6)}")
        for key in ("read", "searched", "left"):
            await items.put(("t", key), key, {}, ttl_minutes=10)
        await items.put(("t", "forever"), "forever", {})
        noon.advance(timedelta(minutes=8))
        assert await items.get(("t", "read"), "read") is not None
        assert len(await items.search(("t", "searched"))) == 1
        assert await items.get(("t", "left"), "left", refresh=False) is not None
        assert len(await items.search(("t", "left"), refresh=False)) == 1
        noon.advance(timedelta(minutes=8))
        assert set(await keys_of(items, refresh=False)) == {"read", "searched", "forever"}
        assert await items.get(("t", "left"), "left") is None
        assert ("t", "left") not in await items.namespaces()
        noon.advance(timedelta(minutes=2))
        assert set(await keys_of(items)) == {"forever"}


async def test_two_who_write_one_key_at_once_leave_one_of_the_two_whole(items: SpaceItems) -> None:
    await items.put(("a",), "k", {})
    texts = [f"{word} and nothing else" for word in ("trains", "cats", "ships", "lamps")]
    await asyncio.gather(*(items.put(("a",), "k", {"text": text}, words=[text]) for text in texts))
    found = await items.get(("a",), "k")
    assert found is not None
    (again,) = await items.search(("a",), query=found.value["text"])
    assert again.score == pytest.approx(1, abs=0.01)


async def test_another_embedder_finds_items_once_they_are_embedded(urls) -> None:
    name = f"space-{secrets.token_hex(6)}"
    async with open_memory(urls, HashedEmbedder()) as memory:
        await SpaceItems(memory, name).put(("m",), "cat", {}, words=["the cat sleeps", "on the sofa"])
    async with open_memory(urls, HashedEmbedder(128, "other")) as memory:
        items = SpaceItems(memory, name)
        assert [item.score for item in await items.search(("m",), query="cat")] == [None]
        assert await items.embed() == 2
        assert [item.score is not None for item in await items.search(("m",), query="cat")] == [True]
        assert await items.embed() == 0


async def test_upkeep_takes_away_what_has_ended_where_nobody_writes_any_more(urls, noon: SkippingClock) -> None:
    async with open_memory(urls, HashedEmbedder(), clock=noon) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        items = SpaceItems.of(space)
        await items.put(("t",), "short", {}, words=["a lamp"], ttl_minutes=10)
        await items.put(("t",), "long", {}, ttl_minutes=60 * 24 * 30)
        noon.advance(timedelta(days=2))
        assert (await space.upkeep()).retired["store_items"] == 1
        assert await keys_of(items) == ["long"]


async def test_items_and_sessions_move_house_with_their_space(memory: Memory, space: Space, tmp_path: Path) -> None:
    await SpaceItems.of(space).put(("a", "b"), "k", ODD, words=["the cat sleeps"], ttl_minutes=60)
    before = await SpaceItems.of(space).get(("a", "b"), "k", refresh=False)
    session = [{"text": "a\0b \ud83d", "z": 1, "a": 2}]
    await SpaceSessions.of(space).add("s", session)
    await memory.export_space(space.name, tmp_path / "space.jsonl")
    await memory.import_space(tmp_path / "space.jsonl", name=f"{space.name}-2")
    there = memory.space(f"{space.name}-2")
    assert await SpaceItems.of(there).get(("a", "b"), "k", refresh=False) == before
    (found,) = await SpaceItems.of(there).search((), query="the cat sleeps")
    assert found.score == pytest.approx(1, abs=0.01)
    assert await SpaceSessions.of(there).items("s") == session


async def test_a_session_comes_back_item_by_item_to_the_byte(space: Space) -> None:
    sessions = SpaceSessions.of(space)
    given = [{"n": number, "text": "a\0b \ud83d é", "z": 1, "a": 2} for number in range(50)]
    await sessions.add("s", given[:20])
    await sessions.add("s", given[20:])
    assert await sessions.items("s") == given
    assert [list(item) for item in await sessions.items("s", limit=2)] == [["n", "text", "z", "a"]] * 2
    assert [item["n"] for item in await sessions.items("s", limit=3)] == [47, 48, 49]
    assert await sessions.items("s", limit=0) == []
    assert (await sessions.pop("s"))["n"] == 49
    assert len(await sessions.items("s")) == 49
    await sessions.clear("s")
    assert await sessions.items("s") == []
    assert await sessions.pop("s") is None


async def test_two_who_take_the_last_item_get_one_each(space: Space) -> None:
    sessions = SpaceSessions.of(space)
    await sessions.add("s", [{"n": number} for number in range(6)])
    taken = await asyncio.gather(*(sessions.pop("s") for _ in range(3)))
    numbers = [item["n"] for item in taken if item is not None]
    left = [item["n"] for item in await sessions.items("s")]
    assert sorted(numbers + left) == list(range(6))


async def test_sessions_of_others_are_not_there(memory: Memory) -> None:
    name = f"space-{secrets.token_hex(6)}"
    mine, other = SpaceSessions(memory, name, "ada"), SpaceSessions(memory, name)
    await mine.add("s", [{"text": "canary"}])
    await other.add("t", [{}])
    assert await other.items("s") == []
    assert await other.pop("s") is None
    await other.clear("s")
    assert await mine.items("s") == [{"text": "canary"}]
    assert await SpaceSessions(memory, f"{name}-2", "ada").items("s") == []
