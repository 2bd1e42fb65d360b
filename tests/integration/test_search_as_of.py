"""A question about the past is answered with what was live then: its words, its state, for those who could see it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest

from perdure import InvalidInput, Memory, Space
from perdure.store.changes import restore, supersede
from perdure.store.history import write_history
from perdure.store.memories import read_rows
from perdure.store.postings import delete_postings
from perdure.store.spaces import lock_space
from perdure.types import Hit, SearchResult, Stored
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
EIGHT, NINE = "The market opens at eight", "The market opens at nine"
QUESTION = "When does the market open?"


@pytest.fixture
async def memory(urls, embedder: HashedEmbedder, noon: SkippingClock) -> AsyncIterator[Memory]:
    async with open_memory(urls, embedder, clock=noon) as memory:
        yield memory


@pytest.fixture
def space(memory: Memory) -> Space:
    return memory.space(f"space-{secrets.token_hex(6)}")


def words(found: SearchResult) -> list[str]:
    return [hit.memory.summary for hit in found.hits]


async def saved(space: Space, text: str, **more: object) -> int:
    stored = await space.save(text, **more)
    assert isinstance(stored, Stored)
    return stored.ids[0]


async def change(space: Space, work) -> None:
    """Runs `work(tx, rows)` as a writer of the space."""
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def write(tx) -> None:
        await lock_space(tx)
        await work(tx)

    await space._memory.resources.database.in_space(row.id, write, writer=True)


async def superseded(space: Space, old: int, new: int | None) -> None:
    async def work(tx) -> None:
        await supersede(tx, [(await read_rows(tx, "", [old]))[old]], new, reason="news", changed_by="test", at=tx.now)

    await change(space, work)


async def purged(space: Space, memory_id: int) -> None:
    """Removes a superseded memory as upkeep does: its last state goes into the history, everything else away."""
    from perdure.ingest import stored_postings

    async def work(tx) -> None:
        row = (await read_rows(tx, "", [memory_id]))[memory_id]
        await write_history(tx, row, "purge", "upkeep")
        await delete_postings(tx, [stored_postings(row)])
        await tx.execute("DELETE FROM memories WHERE space_id = %(space_id)s AND id = %(id)s", {"id": memory_id})

    await change(space, work)


async def test_what_was_replaced_answers_for_its_time_and_what_replaced_it_for_its_own(
    space: Space, noon: SkippingClock
) -> None:
    old = await saved(space, EIGHT)
    noon.advance(10 * DAY)
    new = await saved(space, NINE)
    await superseded(space, old, new)
    noon.advance(10 * DAY)

    before, after = (
        await space.search(QUESTION, as_of=NOON + 5 * DAY),
        await space.search(QUESTION, as_of=NOON + 15 * DAY),
    )
    assert words(before) == [EIGHT]
    assert words(after) == words(await space.search(QUESTION)) == [NINE]
    (hit,) = before.hits
    assert (hit.memory.superseded_by, hit.memory.superseded_at, hit.arms) == (None, None, ("history",))
    assert before.as_of == NOON + 5 * DAY


async def test_what_came_in_later_was_not_known(space: Space, noon: SkippingClock) -> None:
    await saved(space, EIGHT)
    noon.advance(DAY)
    assert words(await space.search(QUESTION, as_of=NOON - DAY)) == []
    assert words(await space.search(QUESTION, as_of=NOON)) == [EIGHT]


async def test_what_was_said_long_ago_was_known_then_whenever_it_was_imported(space: Space) -> None:
    old = await saved(space, EIGHT, source_date="2023-01-10")
    new = await saved(space, NINE, source_date="2023-02-10")
    await superseded(space, old, new)
    assert words(await space.search(QUESTION, as_of="2023-01-09")) == []
    assert words(await space.search(QUESTION, as_of="2023-01-20")) == [EIGHT]
    assert words(await space.search(QUESTION, as_of="2023-02-20")) == [NINE]


async def test_an_appointment_in_the_future_is_known_from_when_it_was_told(space: Space, noon: SkippingClock) -> None:
    await saved(space, "The market fair begins", source_date="2026-06-01")
    noon.advance(10 * DAY)
    assert words(await space.search("market fair", as_of=NOON + DAY)) == ["The market fair begins"]


async def test_a_text_that_was_changed_says_what_it_said_then(space: Space, noon: SkippingClock) -> None:
    memory_id = await saved(space, EIGHT, tags=["town"], salience=4)
    noon.advance(10 * DAY)
    await space.update(memory_id, text=NINE, tags=["trade"], salience=9, memory_type="fact")
    noon.advance(10 * DAY)
    await space.update(memory_id, text="The market has closed for good")

    first, second = NOON + 5 * DAY, NOON + 15 * DAY
    (hit,) = (await space.search(QUESTION, as_of=first)).hits
    assert (hit.memory.id, hit.memory.summary, hit.memory.tags, hit.memory.salience) == (memory_id, EIGHT, ("town",), 4)
    assert hit.similarity > 0.3
    assert words(await space.search(QUESTION, as_of=second)) == [NINE]
    # Filters ask for what it was then.
    assert words(await space.search(QUESTION, as_of=first, tags=["town"])) == [EIGHT]
    assert words(await space.search(QUESTION, as_of=first, tags=["trade"])) == []
    assert words(await space.search(QUESTION, as_of=second, tags=["trade"], memory_type="fact")) == [NINE]
    assert words(await space.search(QUESTION, as_of=first, memory_type="fact")) == []


async def test_what_was_purged_still_answers_until_it_is_erased(space: Space, noon: SkippingClock) -> None:
    old = await saved(space, EIGHT, speaker="Ada", tags=["town"], conversation_id="c1", source_date="2026-02-27")
    noon.advance(10 * DAY)
    new = await saved(space, NINE)
    await superseded(space, old, new)
    noon.advance(10 * DAY)
    await purged(space, old)

    then = NOON + 5 * DAY
    (hit,) = (await space.search(QUESTION, as_of=then)).hits
    memory = hit.memory
    assert (memory.id, memory.summary, memory.speaker, memory.conversation_id) == (old, EIGHT, "Ada", "c1")
    assert (memory.source_date, memory.created_at) == (datetime(2026, 2, 27, tzinfo=UTC), NOON)
    assert hit.similarity > 0.3
    assert "market" in " ".join(hit.matched)
    for fits in ({"speaker": "ada"}, {"tags": ["town"]}, {"conversation_id": "c1"}, {"until": "2026-02-27"}):
        assert words(await space.search(QUESTION, as_of=then, **fits)) == [EIGHT]
    for misses in ({"speaker": "ben"}, {"tags": ["x"]}, {"conversation_id": "c2"}, {"since": "2026-02-28"}):
        assert words(await space.search(QUESTION, as_of=then, **misses)) == []
    assert words(await space.search(QUESTION, as_of=NOON + 15 * DAY)) == [NINE]
    assert words(await space.search(QUESTION, as_of=NOON + 25 * DAY)) == [NINE]


async def test_what_was_erased_never_was(space: Space, noon: SkippingClock) -> None:
    memory_id = await saved(space, EIGHT)
    await space.update(memory_id, salience=7)
    noon.advance(10 * DAY)
    await space.forget(memory_id)
    assert words(await space.search(QUESTION, as_of=NOON + DAY)) == []


async def test_a_memory_that_was_brought_back_was_away_in_between(space: Space, noon: SkippingClock) -> None:
    memory_id = await saved(space, EIGHT)
    noon.advance(10 * DAY)
    await superseded(space, memory_id, None)
    noon.advance(10 * DAY)

    async def work(tx) -> None:
        await restore(tx, [(await read_rows(tx, "", [memory_id]))[memory_id]], "test")

    await change(space, work)
    noon.advance(10 * DAY)
    seen = [words(await space.search(QUESTION, as_of=NOON + days * DAY)) for days in (5, 15, 25)]
    assert seen == [[EIGHT], [], [EIGHT]]


@pytest.mark.parametrize("way", ["untouched", "changed", "superseded", "purged"])
async def test_the_past_is_shown_to_those_who_could_see_it_and_to_nobody_else(
    memory: Memory, noon: SkippingClock, way: str
) -> None:
    name = f"space-{secrets.token_hex(6)}"
    ada, ben, everybody = (memory.space(name, audience=who) for who in ("ada", "ben", None))
    secret = await saved(ada, EIGHT)
    noon.advance(10 * DAY)
    if way == "changed":
        await ada.update(secret, text=NINE)
    elif way != "untouched":
        await superseded(ada, secret, None)
    if way == "purged":
        await purged(ada, secret)
    noon.advance(10 * DAY)

    assert words(await ada.search(QUESTION, as_of=NOON + DAY)) == [EIGHT]
    assert words(await ben.search(QUESTION, as_of=NOON + DAY)) == []
    assert words(await everybody.search(QUESTION, as_of=NOON + DAY)) == []
    assert words(await memory.space(f"{name}-other", audience="ada").search(QUESTION, as_of=NOON + DAY)) == []


async def test_what_was_hidden_then_is_hidden_whatever_it_became(space: Space, noon: SkippingClock) -> None:
    memory_id = await saved(space, EIGHT, memory_type="reflection")
    noon.advance(10 * DAY)
    await space.update(memory_id, memory_type="fact")
    noon.advance(DAY)
    assert words(await space.search(QUESTION)) == [EIGHT]
    assert words(await space.search(QUESTION, as_of=NOON + DAY)) == []
    assert words(await space.search(QUESTION, as_of=NOON + DAY, memory_type="reflection")) == [EIGHT]


async def test_a_bare_date_is_the_end_of_that_day(space: Space, noon: SkippingClock) -> None:
    await saved(space, EIGHT)
    noon.advance(DAY)
    assert words(await space.search(QUESTION, as_of="2026-02-28")) == []
    assert words(await space.search(QUESTION, as_of="2026-03-01")) == [EIGHT]
    assert words(await space.search(QUESTION, as_of="2026-03-01T11:59:59Z")) == []


async def test_of_today_it_answers_what_a_search_answers(space: Space, noon: SkippingClock) -> None:
    for number in range(20):
        await saved(space, f"Market stall {number} sells pears", salience=1 + number % 10)
    now, then = await space.search(QUESTION), await space.search(QUESTION, as_of=noon.now() + DAY)
    assert words(then) == words(now)
    assert [hit.score for hit in then.hits] == pytest.approx([hit.score for hit in now.hits], abs=1e-4)


@pytest.mark.parametrize("profile", ["default", "seed"])
async def test_a_memory_is_ranked_the_same_from_its_history_as_where_it_lies(
    space: Space, noon: SkippingClock, profile: str
) -> None:
    for number in range(8):
        await saved(space, f"Market stall {number} sells pears, market pears, {number} of them", speaker="Ada")
    now = NOON + DAY
    noon.advance(DAY)
    stored = {hit.memory.id: hit for hit in (await space.search("market pears of Ada", profile=profile)).hits}
    noon.advance(timedelta(seconds=1))
    for memory_id in stored:
        await space.pin(memory_id)
    found: dict[int, Hit] = {
        hit.memory.id: hit for hit in (await space.search("market pears of Ada", profile=profile, as_of=now)).hits
    }

    assert set(found) == set(stored)
    for memory_id, hit in found.items():
        lies = stored[memory_id]
        assert hit.arms == ("history",)
        assert (hit.matched, hit.entity_match) == (lies.matched, lies.entity_match)
        assert hit.terms == pytest.approx({**lies.terms}, abs=1e-3)


async def test_without_an_embedder_old_texts_are_found_by_words(
    space: Space, noon: SkippingClock, embedder: HashedEmbedder
) -> None:
    memory_id = await saved(space, EIGHT)
    await saved(space, "Rosa sings in a choir")
    noon.advance(DAY)
    await space.update(memory_id, text=NINE)
    embedder.outage = True
    found = await space.search("market eight", as_of=NOON)
    assert words(found)[0] == EIGHT
    assert [part.partition(":")[0] for part in found.degraded] == ["embedding"]


@pytest.mark.parametrize("moment", ["yesterday", "0001-01-01", "9999-12-31", 7])
async def test_what_is_no_time_is_refused_by_name(space: Space, moment: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        await space.search(QUESTION, as_of=moment)
    assert refused.value.field == "as_of"


async def test_more_changes_than_are_looked_at_are_told(
    space: Space, noon: SkippingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("perdure.store.as_of", "perdure.recall.past", "perdure.recall.search"):
        monkeypatch.setattr(import_module(module), "MOST_VERSIONS", 2)
    stored = [await saved(space, f"Market stall {number} sells pears") for number in range(3)]
    noon.advance(DAY)
    for memory_id in stored[:2]:
        await space.pin(memory_id)
    assert (await space.search("market stall", as_of=NOON)).degraded == ()
    await space.pin(stored[2])
    found = await space.search("market stall", as_of=NOON)
    assert [part.partition(":")[0] for part in found.degraded] == ["history"]
    assert [hit.memory.id for hit in found.hits] == stored[:0:-1]


async def test_of_many_texts_that_are_gone_those_with_the_words_of_the_question_are_embedded_again(
    space: Space, noon: SkippingClock, embedder: HashedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.recall.past.EMBEDDED", 1)
    market = await saved(space, EIGHT)
    others = [await saved(space, f"Rosa sang song number {number}") for number in range(3)]
    noon.advance(DAY)
    for memory_id in (market, *others):
        await space.update(memory_id, text=f"Nothing is known of {memory_id}")
    before = embedder.calls
    hits = (await space.search(QUESTION, as_of=NOON)).hits
    assert embedder.calls - before == 2
    assert {hit.memory.summary: hit.similarity > 0 for hit in hits}[EIGHT]
    assert len(hits) == 4


async def test_the_past_is_asked_in_other_ways_and_put_in_order_too(
    urls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer, space: Space
) -> None:
    market = await saved(space, EIGHT)
    await saved(space, "Rosa sings in a choir")
    noon.advance(DAY)
    await space.update(market, text=NINE)
    chat.answer("rewrite", {"queries": ["the market opens"]})
    chat.answer("rerank", {"numbers": [2]})
    async with open_memory(urls, embedder, clock=noon, subagent_url=chat.url) as memory:
        found = await memory.space(space.name).search("stalls in the morning", as_of=NOON)
    assert found.queries == ("stalls in the morning", "the market opens")
    assert words(found) == ["Rosa sings in a choir", EIGHT]
    assert found.reranked
