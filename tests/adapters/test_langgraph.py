"""The store does what LangGraph's own does: asked the same, `InMemoryStore` and it give the same answers."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, TypedDict

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from perdure import InvalidInput, PerdureError
from perdure.adapters.langgraph import PerdureStore
from tests.adapters.conftest import alone
from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure import Space, sync

LABELS = ("a", "b", "a-b", "ü", "*x")
KEYS = ("k", "k.1", "ключ", "k k")


class Turn(TypedDict):
    text: str


def told(result: Any) -> Any:
    """What two stores have to agree on: times and the order of equals are each one's own."""
    if isinstance(result, Item):
        return (result.namespace, result.key, result.value)
    if isinstance(result, list) and result and isinstance(result[0], SearchItem):
        return sorted(map(told, result), key=repr)
    return result


def some_value(rng: random.Random) -> dict[str, Any]:
    return {
        "n": rng.randint(0, 4),
        "color": rng.choice(["red", "blue", None]),
        "deep": {"tags": rng.choice([[], ["x"], ["x", {"y": 1}]]), "size": rng.random()},
    }


def some_filter(rng: random.Random) -> dict[str, Any] | None:
    operator = rng.choice(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
    return rng.choice(
        [
            None,
            {"color": rng.choice(["red", None])},
            {"n": {operator: rng.randint(0, 4)}},
            {"n": {"$gt": 0, "$lt": 3}, "color": {"$ne": "red"}},
            {"deep": {"tags": ["x", {"y": 1}]}},
            {"deep": {"size": {"$lt": 0.5}}},
            {"missing": None},
            {"missing": {"$ne": 1}},
        ]
    )


def some_op(rng: random.Random, paths: list[tuple[str, ...]]) -> Op:
    path = rng.choice(paths)
    match rng.randint(0, 6):
        case 0 | 1 | 2:
            return PutOp(path, rng.choice(KEYS), some_value(rng))
        case 3:
            return PutOp(path, rng.choice(KEYS), None)
        case 4:
            return GetOp(path, rng.choice(KEYS))
        case 5:
            return SearchOp(path[: rng.randint(0, len(path))], some_filter(rng), limit=1000)
        case _:
            patterns = [
                MatchCondition(rng.choice(["prefix", "suffix"]), rng.choice([path[:1], path[-1:], ("*", *path[1:])]))
                for _ in range(rng.randint(0, 2))
            ]
            return ListNamespacesOp(tuple(patterns), rng.choice([None, 1, 2]), limit=1000)


@pytest.mark.parametrize("seed", range(8))
async def test_asked_the_same_it_answers_as_the_store_of_langgraph_does(space: Space, seed: int) -> None:
    rng = random.Random(seed)
    paths = [tuple(rng.choices(LABELS, k=rng.randint(1, 4))) for _ in range(5)]
    theirs, ours = InMemoryStore(), PerdureStore(space, fields=())
    for path in paths:  # namespaces that are empty again are still listed by theirs
        for store in (theirs, ours):
            await store.aput(path, "stays", {"n": 0, "deep": {"size": 0.0}})
    for _ in range(12):
        batch = [some_op(rng, paths) for _ in range(rng.randint(1, 8))]
        expected = [told(result) for result in await theirs.abatch(batch)]
        assert [told(result) for result in await ours.abatch(batch)] == expected, batch


async def test_by_meaning_it_finds_what_the_store_of_langgraph_finds(space: Space) -> None:
    embedder = HashedEmbedder()

    async def embed(texts: list[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in await embedder.embed(texts, "document")]

    theirs = InMemoryStore(index={"dims": 256, "embed": embed, "fields": ["text", "parts[*].text"]})
    ours = PerdureStore(space, fields=["text", "parts[*].text"])
    for store in (theirs, ours):
        await store.aput(("m",), "cat", {"text": "the cat sleeps on the sofa"})
        await store.aput(("m",), "train", {"parts": [{"text": "a late train"}, {"text": "a ticket for the train"}]})
        await store.aput(("m",), "other", {"title": "the cat", "text": "nothing"}, index=["title"])
        await store.aput(("m",), "mute", {"text": "the cat sleeps on the sofa"}, index=False)
    for query in ("cat on a sofa", "train ticket", "the cat"):
        expected = await theirs.asearch(("m",), query=query)
        found = await ours.asearch(("m",), query=query)
        assert found[0].key == expected[0].key
        assert found[-1].key == expected[-1].key == "mute"
        assert found[-1].score is expected[-1].score is None
        scores = {item.key: item.score for item in expected[:3]}
        assert {item.key: item.score for item in found[:3]} == pytest.approx(scores, abs=0.01)
        page = await ours.asearch(("m",), query=query, limit=2, offset=1)
        assert [item.key for item in page] == [item.key for item in found[1:3]]


async def test_a_value_is_found_as_a_whole_where_no_fields_are_named(space: Space) -> None:
    store = PerdureStore(space)
    await store.aput(("m",), "one", {"memory": "likes hiking in the alps"})
    await store.aput(("m",), "two", {"memory": "works at a bakery"})
    assert (await store.asearch(("m",), query="hiking in the alps"))[0].key == "one"


async def test_a_time_to_live_is_kept_and_put_off_by_reading(space: Space) -> None:
    store = PerdureStore(space, ttl={"default_ttl": 0.02, "refresh_on_read": False})
    await store.aput(("t",), "short", {})
    await store.aput(("t",), "long", {}, ttl=60)
    await store.aput(("t",), "forever", {}, ttl=None)
    for _ in range(4):
        await asyncio.sleep(0.5)
        refreshed = await store.aget(("t",), "short", refresh_ttl=True)
        assert refreshed is not None
    await asyncio.sleep(0.7)
    assert await store.aget(("t",), "short") is not None
    await asyncio.sleep(0.7)
    assert await store.aget(("t",), "short") is None
    assert {item.key for item in await store.asearch(("t",))} == {"long", "forever"}


async def test_two_spaces_and_two_audiences_share_nothing(memory: Any, space: Space) -> None:
    stores = [
        PerdureStore(handle)
        for handle in (space, memory.space(space.name, audience="dm"), memory.space(f"{space.name}-2"))
    ]
    for number, store in enumerate(stores):
        await store.aput(("a",), "k", {"n": number})
    for number, store in enumerate(stores):
        assert [item.value for item in await store.asearch((), query="n")] == [{"n": number}]


async def test_the_store_refuses_what_langgraph_refuses_and_what_is_no_json(space: Space) -> None:
    store = PerdureStore(space)
    for namespace in ((), ("a.b",), ("",), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            await store.aput(namespace, "k", {})
    with pytest.raises(InvalidInput):
        await store.aput(("a",), "k", {"object": object()}, index=False)
    with pytest.raises(InvalidInput, match="operator"):
        await store.asearch(("a",), filter={"n": {"$near": 1}})


async def test_the_thread_of_the_loop_is_told_not_to_wait_for_itself(space: Space) -> None:
    store = PerdureStore(space)
    with pytest.raises(PerdureError, match="would wait for itself"):
        store.get(("a",), "k")
    await asyncio.to_thread(store.put, ("a",), "k", {"n": 1})
    item = await asyncio.to_thread(store.get, ("a",), "k")
    assert item is not None
    assert item.value == {"n": 1}


def test_without_an_event_loop_it_does_the_same(blocking: sync.Space) -> None:
    store = PerdureStore(blocking)
    store.put(("a", "b"), "k", {"text": "a red lamp"})
    assert store.search(("a",), query="lamp")[0].value == {"text": "a red lamp"}
    assert store.list_namespaces(prefix=("a",)) == [("a", "b")]
    store.delete(("a", "b"), "k")
    assert store.get(("a", "b"), "k") is None

    async def from_another_loop() -> Item | None:
        await store.aput(("c",), "k", {"n": 1})
        return await store.aget(("c",), "k")

    found = alone(lambda: asyncio.run(from_another_loop()))
    assert found is not None
    assert found.value == {"n": 1}


def test_a_space_with_an_event_loop_is_refused_where_none_runs(space: Space) -> None:
    with pytest.raises(PerdureError, match="where no event loop runs"):
        alone(lambda: PerdureStore(space))


def test_what_is_no_space_of_a_memory_is_refused_by_name() -> None:
    with pytest.raises(PerdureError, match=r"builtins.str is no space"):
        PerdureStore("ada")  # type: ignore[arg-type]


async def test_nodes_of_a_graph_remember_through_the_store(space: Space) -> None:
    from langgraph.graph import START, StateGraph
    from langgraph.runtime import Runtime

    async def keep(state: Turn, runtime: Runtime) -> dict[str, str]:
        assert runtime.store is not None
        await runtime.store.aput(("ada",), "food", {"text": "Ada is allergic to peanuts"})
        return {}

    def look(state: Turn, runtime: Runtime) -> dict[str, str]:
        assert runtime.store is not None
        (found,) = runtime.store.search(("ada",), query="allergic")
        return {"text": found.value["text"]}

    builder = StateGraph(Turn)
    builder.add_node("keep", keep)
    builder.add_node("look", look)
    builder.add_edge(START, "keep")
    builder.add_edge("keep", "look")
    graph = builder.compile(store=PerdureStore(space))
    assert (await graph.ainvoke({"text": ""}))["text"] == "Ada is allergic to peanuts"
