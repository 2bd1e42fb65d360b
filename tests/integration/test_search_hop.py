"""What a hit names leads one step further: under the same filters, and not by names that everybody carries."""

from __future__ import annotations

import pytest

from perdure import Memory, Space
from perdure.types import Hit, SearchResult, Stored

QUESTION = "Where does the sister of my friend work?"
SISTER = "The sister of my friend is called Berta"
HARBOUR = "Berta keeps the ledgers at the harbour"


async def fill(space: Space, count: int = 40) -> None:
    for number in range(count):
        await space.save(f"Note {number}: where work stands on item {number} of my list", salience=6)


async def saved(space: Space, text: str, **more: object) -> int:
    stored = await space.save(text, **more)
    assert isinstance(stored, Stored)
    return stored.ids[0]


def hopped(found: SearchResult) -> list[Hit]:
    return [hit for hit in found.hits if hit.led_by is not None]


@pytest.fixture
async def family(space: Space) -> Space:
    await fill(space)
    await saved(space, SISTER, entities=["Berta"])
    return space


async def test_a_name_in_a_hit_leads_to_what_no_word_of_the_question_finds(family: Space) -> None:
    before = await family.search(QUESTION)
    sister = next(hit for hit in before.hits if hit.memory.summary == SISTER)
    ledgers = await saved(family, HARBOUR, entities=["Berta"])

    (hit,) = hopped(await family.search(QUESTION))

    assert (hit.memory.id, hit.memory.summary) == (ledgers, HARBOUR)
    assert (hit.led_by, hit.shared, hit.arms, hit.query) == (sister.memory.id, ("Berta",), ("hop",), None)
    assert hit.similarity == pytest.approx(0.8 * sister.similarity)
    assert sum(hit.terms.values()) == pytest.approx(-hit.score, abs=1e-6)


async def test_what_a_step_leads_to_stands_where_its_score_puts_it(family: Space) -> None:
    await saved(family, HARBOUR, entities=["Berta"])
    scores = [hit.score for hit in (await family.search(QUESTION)).hits]
    assert scores == sorted(scores, reverse=True)


async def test_a_step_leads_to_three_memories_at_most(family: Space) -> None:
    for number in range(4):
        await saved(family, f"Berta, story number {number}", entities=["berta"])
    assert len(hopped(await family.search(QUESTION))) == 3


async def test_names_are_the_same_however_they_are_spelled(family: Space) -> None:
    await saved(family, HARBOUR, entities=["BERTA"])
    assert [hit.shared for hit in hopped(await family.search(QUESTION))] == [("BERTA",)]


async def test_a_name_that_too_many_memories_carry_leads_nowhere(family: Space) -> None:
    await saved(family, HARBOUR, entities=["Berta"])
    assert hopped(await family.search(QUESTION))
    for number in range(6):
        await saved(family, f"Berta, story number {number}", entities=["Berta"])
    assert hopped(await family.search(QUESTION)) == []


async def test_a_name_in_the_question_itself_leads_nowhere_further(family: Space) -> None:
    await saved(family, HARBOUR, entities=["Berta"])
    found = await family.search(f"{QUESTION} Berta!")
    assert hopped(found) == []
    assert HARBOUR in [hit.memory.summary for hit in found.hits]


async def test_a_superseded_memory_is_not_reached(family: Space, memory: Memory) -> None:
    from perdure.store.changes import supersede
    from perdure.store.memories import read_rows
    from perdure.store.spaces import lock_space

    old = await saved(family, HARBOUR, entities=["Berta"])
    row = await memory.find_space(family.name)
    assert row is not None

    async def write(tx) -> None:
        await lock_space(tx)
        rows = await read_rows(tx, family.name, [old])
        await supersede(tx, [rows[old]], None, reason="moved", changed_by="test", at=tx.now)

    await memory.resources.database.in_space(row.id, write, writer=True)
    assert hopped(await family.search(QUESTION)) == []


@pytest.mark.parametrize(
    ("kept", "filters"),
    [
        ({"tags": ["work"]}, {"tags": ["work"]}),
        ({"memory_type": "fact"}, {"memory_type": "fact"}),
        ({"speaker": "Carl"}, {"speaker": "Carl"}),
        ({"conversation_id": "c1"}, {"conversation_id": "c1"}),
        ({"metadata": {"n": 1}}, {"metadata": {"n": 1}}),
        ({"source_date": "2026-01-05"}, {"since": "2026-01-05", "until": "2026-01-05"}),
    ],
)
async def test_a_step_passes_no_filter(space: Space, kept: dict[str, object], filters: dict[str, object]) -> None:
    await saved(space, SISTER, entities=["Berta"], **kept)
    await saved(space, HARBOUR, entities=["Berta"], source_date="2020-01-01")
    found = await space.search(QUESTION, **filters)
    assert [hit.memory.summary for hit in found.hits] == [SISTER]


async def test_a_step_leads_into_no_other_audience(family: Space, memory: Memory) -> None:
    private = memory.space(family.name, audience="ada")
    await saved(private, HARBOUR, entities=["Berta"])
    assert hopped(await family.search(QUESTION)) == []
    assert hopped(await memory.space(family.name, audience="ben").search(QUESTION)) == []
    assert [hit.memory.summary for hit in hopped(await private.search(QUESTION))] == [HARBOUR]


async def test_what_is_hidden_is_not_reached(family: Space) -> None:
    await saved(family, HARBOUR, entities=["Berta"], memory_type="reflection")
    assert hopped(await family.search(QUESTION)) == []


async def test_a_step_leads_into_no_other_space(family: Space, memory: Memory) -> None:
    other = memory.space(f"{family.name}-other")
    await saved(other, HARBOUR, entities=["Berta"])
    assert hopped(await family.search(QUESTION)) == []
