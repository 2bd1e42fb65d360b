"""The client of the server: the verbs of the library, the same values, the same errors."""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure import (
    AsyncClient,
    Client,
    Conflict,
    InvalidInput,
    Message,
    NotFound,
    Participant,
    Pending,
    Persona,
    Space,
    Stored,
    TurnState,
)
from perdure.client import AsyncRemoteSpace, RemoteSpace, ServerUnavailable
from perdure.memory import Memory
from perdure.store.embedded import ServerUrls
from perdure.wire import NOT_OFFERED, ROUTES
from tests.doubles.embedder import HashedEmbedder
from tests.integration.http_server import served

PEANUTS = "Ada is allergic to peanuts"
STATE = TurnState(
    "guild",
    "kitchen",
    Persona(10000, "Momo"),
    Participant("7", "Ada"),
    (Participant("7", "Ada", ("Countess",)),),
)


@pytest.fixture(scope="module")
async def address(urls: ServerUrls) -> AsyncIterator[str]:
    async with served(urls, HashedEmbedder(), relevance_gate=False) as address:
        yield address


@pytest.fixture
async def client(address: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(address) as client:
        yield client


@pytest.fixture
def name() -> str:
    return f"space/{secrets.token_hex(6)} ü"


@pytest.fixture
def there(client: AsyncClient, name: str) -> AsyncRemoteSpace:
    return client.space(name)


@pytest.fixture
def here(memory: Memory, name: str) -> Space:
    return memory.space(name)


def test_every_verb_of_a_space_has_a_route_and_both_clients_have_it() -> None:
    verbs = {each for each, _ in inspect.getmembers(Space, inspect.isfunction) if not each.startswith("_")}
    assert {route.verb for route in ROUTES} == verbs - set(NOT_OFFERED)
    for kind in (AsyncRemoteSpace, RemoteSpace):
        assert verbs <= set(vars(kind))


async def test_memories_come_and_go_as_in_the_library(there: AsyncRemoteSpace, here: Space) -> None:
    saved = await there.save(
        PEANUTS,
        salience=9,
        tags={"health"},
        metadata={"id": 5, "nested": {"ids": [1]}},
        source_date=datetime(2026, 3, 1, tzinfo=UTC),
    )
    assert isinstance(saved, Stored)
    (memory_id,) = saved.ids
    assert await there.get(memory_id) == await here.get(memory_id)
    assert await there.evidence(memory_id) == await here.evidence(memory_id)
    changed = await there.update(memory_id, text="Ada is allergic to peanuts and cats", salience=8)
    assert changed == await here.get(memory_id)
    assert await there.history(memory_id)
    await there.pin(memory_id)
    assert (await here.get(memory_id)).pinned
    found = await there.search("peanuts", tags=["health"], metadata={"id": 5}, plain=True)
    expected = await here.search("peanuts", tags=["health"], metadata={"id": 5}, plain=True)
    assert [hit.memory for hit in found.hits] == [hit.memory for hit in expected.hits]
    assert (await there.why_not(memory_id, "peanuts")).fate == "returned"
    assert (await there.feedback([memory_id], useful={memory_id: True})).tracked == (memory_id,)
    assert (await there.forget(memory_id)).ids == (memory_id,)
    with pytest.raises(NotFound):
        await there.get(memory_id)


async def test_what_is_forgotten_is_previewed_and_told_by_table(there: AsyncRemoteSpace, here: Space) -> None:
    await there.save("Said by Ada", speaker="Ada")
    preview = await there.preview_forget(user_id="Ada")
    assert preview == await here.preview_forget(user_id="Ada")
    receipt = await there.forget_person("Ada")
    assert (receipt.ids, receipt.removed["memories"]) == (preview.ids, 1)
    assert receipt.remains is not None
    assert "memories" in receipt.remains.vacuumed
    await there.save("Said by nobody")
    assert len((await there.forget_source("user")).ids) == 1
    await there.save("The last word")
    assert (await there.forget_everything()).removed["spaces"] == 1
    assert await there.list() == ()


async def test_a_turn_is_recalled_and_captured(there: AsyncRemoteSpace, here: Space) -> None:
    await there.save(PEANUTS, salience=9)
    recall = await there.recall("Is Ada allergic to peanuts?", history=[{"role": "user", "content": "Hello"}])
    assert [hit.memory.summary for hit in recall.memories] == [PEANUTS]
    outcome = await there.capture(user="I moved to Lima", assistant="Nice.", recall=recall, operation_id="one")
    assert isinstance(outcome, Pending)
    assert await there.capture(user="I moved to Lima", assistant="Nice.", recall=recall, operation_id="one") == outcome
    with pytest.raises(Conflict):
        await there.capture(user="I moved to Rome", operation_id="one")
    assert (await here.stats()).pending == 1
    assert (await there.stats()) == await here.stats()


async def test_the_facts_of_a_prompt_are_counted_by_the_server_that_made_it(
    there: AsyncRemoteSpace, here: Space
) -> None:
    momo = await there.persona("Momo")
    state = TurnState("guild", "kitchen", momo, STATE.speaker, STATE.participants)
    saved = await there.create_long_term_memory(
        state, {"memory_content": "{user} is vegan", "memory_scope": "target_user", "target_user": "Ada"}
    )
    assert saved.ok, saved
    context = await there.context("What shall I cook?", state=state)
    assert "is vegan" in context.prefix
    assert context.layout.name == "native"
    await there.capture(user="What shall I cook?", assistant="Soup.", recall=context)
    for _ in range(100):
        if (await here.savings()).prompts:
            break
        await asyncio.sleep(0.05)
    assert (await here.savings()).prompts == 1
    (listed,) = await there.facts()
    assert listed == await here.fact(listed.fact.id)
    assert (await there.edit_fact(listed.fact.id, content="Ada is vegan")).content == "Ada is vegan"
    assert await there.fact_history(listed.fact.id) == await here.fact_history(listed.fact.id)
    assert (await there.set_person("7", name="Ada", privacy="full")).privacy == "full"
    assert await there.people() == await here.people()
    assert await there.forget_fact(listed.fact.id) == (listed.fact.id,)


async def test_documents_go_over_as_files_bytes_and_texts(there: AsyncRemoteSpace, here: Space, tmp_path: Path) -> None:
    file = tmp_path / "rules.md"
    file.write_text("# House rules\n\nWhoever puts a spare key somewhere tells the porter.", encoding="utf-8")
    added = await there.add_document(file, channels=["a", "b"])
    assert added.document.name == "rules.md"
    assert added.document.channel_ids == ("a", "b")
    await there.add_document(b"<p>The boat is blue</p>", name="boat.html")
    await there.add_document("The cellar is locked at night.", name="cellar.txt")
    assert await there.documents() == await here.documents()
    assert await there.document(added.document.id) == await here.document(added.document.id)
    hits = await there.search_documents("spare key porter", channel="a", limit=1)
    assert [hit.name for hit in hits] == ["rules.md"]
    replaced = await there.replace_document(added.document.id, "Keys hang in the hall.", media_type="text/plain")
    assert replaced.document.id == added.document.id
    assert (await there.delete_document(added.document.id)).name == "rules.md"


async def test_words_come_in_by_every_way(there: AsyncRemoteSpace, here: Space) -> None:
    report = await there.import_messages([Message("1", "I play the cello"), Message("2", "")], source="import:x")
    assert (report.stored, report.empty + len(report.refused)) == (1, 1)
    assert (await there.archive([{"role": "user", "content": "I live in Lima"}])).status == "pending"
    assert (await there.bootstrap("Ada plays chess")).status == "pending"
    drained = await there.drain(timeout_s=30)
    assert drained.waiting == 0
    assert {memory.summary for memory in await there.list()} == {memory.summary for memory in await here.list()}
    assert (await there.upkeep(dry_run=True)).dry_run
    assert (await there.think()).conclusions == {}
    assert (await there.identity()).profile == (await here.identity()).profile
    assert await there.failed() == ()
    await there.set_task("Pack for Lima")
    task = await there.task_recall()
    assert task is not None
    assert task.task == "Pack for Lima"


async def test_pages_stay_put_while_memories_are_added(there: AsyncRemoteSpace, here: Space) -> None:
    for number in range(7):
        await here.save(f"Fact number {number} about chess", source_date=datetime(2026, 1, 1 + number, tzinfo=UTC))
    first = await there.list(limit=3)
    await here.save("A newer one", source_date=datetime(2026, 2, 1, tzinfo=UTC))
    await here.save("An older one", source_date=datetime(2025, 1, 1, tzinfo=UTC))
    rest = await there.list(limit=10, before=first[-1])
    listed = [memory.summary for memory in (*first, *rest)]
    assert listed == [f"Fact number {number} about chess" for number in range(6, -1, -1)] + ["An older one"]


async def test_an_audience_sees_its_own(client: AsyncClient, name: str) -> None:
    await client.space(name, audience="family").save("The surprise is on Sunday")
    assert await client.space(name).list() == ()
    assert len(await client.space(name, audience="family").list()) == 1


async def test_what_the_server_refuses_is_the_librarys_own_error(there: AsyncRemoteSpace, here: Space) -> None:
    with pytest.raises(InvalidInput) as refused:
        await there.save(PEANUTS, salience=0)
    with pytest.raises(InvalidInput) as expected:
        await here.save(PEANUTS, salience=0)
    assert (str(refused.value), refused.value.field) == (str(expected.value), expected.value.field)
    with pytest.raises(TypeError, match="colour"):
        await there.save(PEANUTS, colour="red")  # type: ignore[call-arg]


async def test_a_server_that_is_away_leaves_the_turn_to_go_on() -> None:
    async with AsyncClient("http://127.0.0.1:9") as client:
        recall = await client.space("ada").recall("Hello?", deadline_s=0.5)
        assert (recall.memories, recall.degraded) == ((), ("server",))
        assert (await client.space("ada").context("Hello?")).degraded == ("server",)
        with pytest.raises(ServerUnavailable, match="operation_id"):
            await client.space("ada").save(PEANUTS)


async def test_the_blocking_client_does_the_same(address: str, name: str) -> None:
    def use() -> tuple[str, ...]:
        with Client(address) as client:
            space = client.space(name)
            space.save(PEANUTS, tags=["health"])
            space.remember("Ada collects stamps")
            assert space.recall("peanuts allergic Ada").memories
            assert space.facts()[0].fact.content == "Ada collects stamps"
            with pytest.raises(NotFound):
                space.get(999_999)
            return tuple(memory.summary for memory in space.list(tags="health"))

    assert await asyncio.to_thread(use) == (PEANUTS,)
