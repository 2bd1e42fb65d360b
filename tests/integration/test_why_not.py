"""A memory that was expected and didn't come: where it fell out, in numbers, and nothing told to those it isn't for."""

from __future__ import annotations

import pytest

from perdure import InvalidInput, Memory, Space, WhyNot
from perdure.store.changes import supersede
from perdure.store.memories import read_rows
from perdure.store.spaces import lock_space
from perdure.types import Stored
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

RENT = "The landlord raises the rent in January"
QUESTION = "When does the landlord raise the rent?"
OTHERS = (
    "Grandmother Rosa lives in Zaragoza",
    "The bicycle has frame number WTU-4471",
    "Ada swims on Tuesdays",
    "The boiler was repaired in spring",
    "The library closes at eight",
)


async def saved(space: Space, text: str, **more: object) -> int:
    stored = await space.save(text, **more)
    assert isinstance(stored, Stored)
    return stored.ids[0]


async def superseded(space: Space, old: int, new: int | None) -> None:
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def write(tx) -> None:
        await lock_space(tx)
        rows = await read_rows(tx, "", [old])
        await supersede(tx, [rows[old]], new, reason="UPDATES: it was put off", changed_by="test", at=tx.now)

    await space._memory.resources.database.in_space(row.id, write, writer=True)


@pytest.fixture
async def filled(space: Space) -> Space:
    for fact in OTHERS:
        await saved(space, fact)
    return space


async def test_what_was_returned_says_so_with_its_place_and_terms(filled: Space) -> None:
    rent = await saved(filled, RENT)
    found = await filled.why_not(rent, QUESTION)
    recall = await filled.recall(QUESTION)
    assert (found.fate, found.place, found.visible) == ("returned", 1, 6)
    assert found.hit is not None
    assert found.hit.score == pytest.approx(recall.memories[0].score, abs=1e-6)
    assert dict(found.hit.terms) == pytest.approx(dict(recall.memories[0].terms), abs=1e-6)


async def test_below_the_gate_both_numbers_are_told(filled: Space) -> None:
    swims = next(memory.id for memory in await filled.list() if "swims" in memory.summary)
    found = await filled.why_not(swims, "Where is the cheese?", limit=20)
    assert found.fate == "below_the_gate"
    assert found.gate is not None
    assert (found.gate.asks, found.gate.words, found.gate.share, found.gate.name) == (True, (), 0, False)
    assert not found.gate.passed
    assert found.gate.noise is not None
    assert found.gate.cosine < found.gate.noise
    assert f"{found.gate.cosine:.3f}" in found.detail
    assert f"{found.gate.noise:.3f}" in found.detail


async def test_a_turn_that_asks_for_nothing_is_the_reason(filled: Space) -> None:
    rent = await saved(filled, RENT)
    found = await filled.why_not(rent, "ok thanks", limit=20)
    assert found.fate == "below_the_gate"
    assert found.gate is not None
    assert not found.gate.asks


async def test_behind_others_its_place_and_their_scores_are_told(filled: Space) -> None:
    for number in range(5):
        await saved(filled, f"{RENT}, part {number}", salience=10)
    rent = await saved(filled, "A landlord", salience=1)
    found = await filled.why_not(rent, QUESTION)
    recall = await filled.recall(QUESTION)
    assert found.fate == "behind"
    assert found.place is not None
    assert found.place > 3
    assert [memory_id for memory_id, _ in found.ahead] == list(recall.ids)
    assert [score for _, score in found.ahead] == pytest.approx([hit.score for hit in recall.memories], abs=1e-6)
    assert found.hit is not None
    assert all(score >= found.hit.score for _, score in found.ahead)
    assert found.arms["text"] <= found.place


async def test_of_a_superseded_memory_what_took_its_place_and_why(filled: Space) -> None:
    old = await saved(filled, RENT)
    new = await saved(filled, "The landlord raises the rent in March")
    await superseded(filled, old, new)
    found = await filled.why_not(old, QUESTION)
    assert (found.fate, found.superseded_by) == ("superseded", new)
    assert f"Memory {new} took its place" in found.detail
    assert "UPDATES: it was put off" in found.detail


async def test_a_hidden_type_and_a_filter_are_named(filled: Space) -> None:
    hidden = await saved(filled, RENT, memory_type="reflection")
    assert (await filled.why_not(hidden, QUESTION)).fate == "hidden"
    assert (await filled.why_not(hidden, QUESTION, memory_type="reflection")).fate == "returned"

    plain = await saved(filled, "The landlord has the rent", tags=["home"], speaker="Ada", source_date="2026-01-05")
    found = await filled.why_not(
        plain,
        QUESTION,
        tags=["work"],
        speaker="Ben",
        source="email",
        metadata={"n": 1},
        memory_type="fact",
        conversation_id="c1",
        since="2026-01-06",
    )
    assert found.fate == "filtered"
    names = {"tags", "source", "speaker", "metadata", "memory_type", "conversation_id", "since"}
    assert set(found.filters) == names
    assert set((await filled.why_not(plain, QUESTION, until="2026-01-04")).filters) == {"until"}
    assert (await filled.why_not(plain, QUESTION, tags=["home"])).fate == "returned"


async def test_what_repeats_a_hit_of_a_search_names_it(space: Space, memory: Memory) -> None:
    group = memory.space(space.name, audience="family")
    first, second = await saved(space, RENT), await saved(group, RENT)
    (hit,) = (await group.search(QUESTION)).hits
    other = first if hit.memory.id == second else second
    found = await group.why_not(other, QUESTION, searched=True)
    assert found.fate == "repeated"
    assert str(hit.memory.id) in found.detail


async def test_somebody_elses_memory_is_not_there_and_nothing_of_it_is_told(filled: Space, memory: Memory) -> None:
    ada = memory.space(filled.name, audience="ada")
    secret = await saved(ada, RENT)
    blind = await memory.space(filled.name, audience="ben").why_not(secret, QUESTION)
    nobody = await filled.why_not(secret + 1_000_000, QUESTION)
    for found in (blind, nobody, await filled.why_not(secret, QUESTION)):
        assert found == WhyNot(
            found.memory_id,
            QUESTION,
            "not_there",
            f"There is no memory {found.memory_id} for this audience.",
            limit=3,
        )
    assert (await ada.why_not(secret, QUESTION)).fate == "returned"
    assert (await memory.space("nowhere at all").why_not(secret, QUESTION)).fate == "not_there"


async def test_a_successor_that_may_not_be_seen_is_not_named(filled: Space, memory: Memory) -> None:
    old = await saved(filled, RENT)
    secret = await saved(memory.space(filled.name, audience="ada"), "The rent stays, between us")
    await superseded(filled, old, None)
    # No door writes this: nothing private may supersede what the whole space sees.
    async with memory.resources.database.owner() as owner:
        await owner.execute("UPDATE memory_state SET superseded_by = %s WHERE memory_id = %s", (secret, old))
    found = await filled.why_not(old, QUESTION)
    assert (found.fate, found.superseded_by) == ("superseded", None)
    assert str(secret) not in found.detail


async def test_the_fate_is_that_of_the_recall_itself(filled: Space) -> None:
    await saved(filled, RENT)
    for turn in (QUESTION, "Where does Rosa live?", "hi", "Which frame number does the bicycle have?", "What else?"):
        recalled = set((await filled.recall(turn)).ids)
        for memory in await filled.list():
            found = await filled.why_not(memory.id, turn)
            assert (found.fate == "returned") == (memory.id in recalled)


async def test_with_the_gate_off_nothing_is_said_of_it(urls, embedder: HashedEmbedder, filled: Space) -> None:
    async with open_memory(urls, embedder, relevance_gate=False) as memory:
        space = memory.space(filled.name)
        fates = [await space.why_not(each.id, "hello") for each in await space.list()]
    assert sorted(found.fate for found in fates) == ["behind"] * 2 + ["returned"] * 3
    assert all(found.gate is None for found in fates)


async def test_looking_into_it_changes_no_memory(filled: Space) -> None:
    before = await filled.list()
    await filled.why_not(before[0].id, QUESTION)
    assert await filled.list() == before


@pytest.mark.parametrize(
    ("arguments", "field"),
    [((0, "rent"), "id"), (("x", "rent"), "id"), ((1, " "), "message"), ((1, "rent"), "limit")],
)
async def test_what_is_no_id_message_or_limit_is_refused(filled: Space, arguments: tuple, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await filled.why_not(*arguments, limit=0 if field == "limit" else None)
    assert refused.value.field == field
