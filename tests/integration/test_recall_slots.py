"""Three places, three things: nothing is said twice in a prompt, and nothing is lost that only looks like the same."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence

import pytest

from perdure import Memory, Space
from perdure.embedding import open_embedder
from perdure.store.changes import relate
from perdure.store.spaces import lock_space
from perdure.types import Stored
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

RENT = "The landlord raises the rent in January"


def summaries(recall) -> list[str]:
    return [hit.memory.summary for hit in recall.memories]


async def saved(space: Space, text: str, **more: object) -> tuple[int, ...]:
    stored = await space.save(text, **more)
    assert isinstance(stored, Stored)
    return stored.ids


async def related(space: Space, episode: int, constituents: Sequence[int]) -> None:
    row = await space._memory.find_space(space.name)
    assert row is not None

    async def write(tx) -> None:
        await lock_space(tx)
        await relate(tx, [episode], constituents)

    await space._memory.resources.database.in_space(row.id, write, writer=True)


@pytest.fixture
async def memory(urls, embedder: HashedEmbedder) -> AsyncIterator[Memory]:
    """Without the gate: what stands in the way of a memory here is another memory."""
    async with open_memory(urls, embedder, relevance_gate=False) as memory:
        yield memory


@pytest.fixture
def space(memory: Memory) -> Space:
    return memory.space(f"space-{secrets.token_hex(6)}")


async def test_chunks_of_one_text_take_one_place(space: Space) -> None:
    paragraphs = [f"The landlord writes about the rent, part {part}. " + "word " * 180 for part in "abcd"]
    chunks = await saved(space, "\n\n".join(paragraphs), salience=10)
    assert len(chunks) > 3
    for text in ("The rent is due on the third", "The landlord is called Vogt"):
        await saved(space, text)
    recall = await space.recall("What does the landlord say about the rent?")
    assert len(recall.memories) == 3
    assert len({hit.memory.chunk_of or hit.memory.id for hit in recall.memories}) == 3
    assert {one.why for one in recall.left_out} == {"repeated"}


async def test_the_same_words_for_two_audiences_take_one_place(space: Space, memory: Memory) -> None:
    group = memory.space(space.name, audience="family")
    await saved(space, RENT)
    await saved(group, RENT)
    await saved(group, "The rent is due on the third")
    recall = await group.recall("What about the rent?")
    assert sorted(summaries(recall)) == [RENT, "The rent is due on the third"]
    (left,) = recall.left_out
    assert (left.why, left.beside) == (
        "repeated",
        next(h.memory.id for h in recall.memories if h.memory.summary == RENT),
    )
    found = await group.why_not(left.id, "What about the rent?")
    assert (found.fate, f"memory {left.beside}" in found.detail) == ("repeated", True)


@pytest.mark.parametrize("first", ["the episode", "a constituent"])
async def test_an_episode_and_what_it_sums_up_are_not_both_in_the_prompt(space: Space, first: str) -> None:
    weights = (10, 1) if first == "the episode" else (1, 10)
    text = "Ada sails around the island of Vis"
    (episode,) = await saved(space, f"{text} for a week", memory_type="episode", salience=weights[0])
    parts = [*await saved(space, f"{text} on Monday", salience=weights[1])]
    parts += await saved(space, f"{text} in a storm", salience=weights[1])
    await related(space, episode, parts)
    recall = await space.recall("How did Ada sail around the island of Vis?")
    assert recall.ids == (episode,) if first == "the episode" else set(recall.ids) == set(parts)
    assert {one.id for one in recall.left_out} == (set(parts) if first == "the episode" else {episode})


# -- with the bundled model ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def local(urls, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Memory]:
    embedder = open_embedder("local", cache_dir=tmp_path_factory.mktemp("cache"))
    async with open_memory(urls, embedder) as memory:
        yield memory
    await embedder.close()


@pytest.fixture
def real(local: Memory) -> Space:
    return local.space(f"space-{secrets.token_hex(6)}")


PARAPHRASES = (
    "User's daughter Mia starts school in September",
    "Mia, the user's daughter, will start school in September",
    "In September, the user's daughter Mia will be starting school",
    "The user has a daughter, Mia, who starts school in September",
)


async def test_paraphrases_take_one_place_and_leave_the_others_to_what_else_is_known(real: Space) -> None:
    for text in PARAPHRASES:
        await saved(real, text, salience=8)
    others = ("Mia's school is on Garden Street", "Mia wants a red satchel for school")
    for text in others:
        await saved(real, text, salience=3)
    recall = await real.recall("What does Mia need for school?", deadline_s=20)
    found = summaries(recall)
    assert len(found) == 3
    assert set(others) < set(found)
    assert {one.why for one in recall.left_out} <= {"repeated", "alike"}
    assert len(recall.left_out) == 3
    for left in recall.left_out:
        assert (await real.why_not(left.id, "What does Mia need for school?")).fate == "repeated"


@pytest.mark.parametrize(
    ("facts", "question"),
    [
        (("I met Ann on Monday", "I met Bob on Monday"), "Whom did I meet on Monday?"),
        (("The dentist appointment is at 3 pm", "The dentist appointment is at 4 pm"), "When is the dentist?"),
        (("My mother turned 60 in May", "My father turned 60 in May"), "Who turned 60 in May?"),
        (("Ben owes Ada 20 euros", "Ada owes Ben 20 euros"), "Who owes whom 20 euros?"),
        (("Ada's dentist is called Dr. Weber", "Ada's doctor is called Dr. Weber"), "What is Ada's doctor called?"),
        (("Ada worked at Siemens", "Ada works at Siemens"), "Does Ada work at Siemens?"),
        (("我周一见了小王", "我周一见了小李"), "我周一见了谁？"),
        (("牙医预约在下午三点", "牙医预约在下午四点"), "牙医预约在几点？"),
        (("Мама живёт в Киеве", "Папа живёт в Киеве"), "Кто живёт в Киеве?"),
        (("ฉันชอบดื่มชา", "ฉันชอบดื่มกาแฟ"), "ฉันชอบดื่มอะไร"),
    ],
)
async def test_two_facts_that_look_alike_are_both_told(real: Space, facts: tuple[str, str], question: str) -> None:
    for fact in facts:
        await saved(real, fact)
    recall = await real.recall(question, deadline_s=20)
    assert set(summaries(recall)) == set(facts)
    assert recall.left_out == ()


async def test_what_may_be_the_same_comes_along_where_nothing_else_wants_the_place(real: Space) -> None:
    facts = ("I moved to Lisbon in May", "In May I relocated from Lisbon")
    for fact in facts:
        await saved(real, fact)
    assert set(summaries(await real.recall("Did I move to Lisbon or from Lisbon?", deadline_s=20))) == set(facts)


async def test_the_same_said_by_two_people_is_two_things(real: Space) -> None:
    for speaker in ("Ada", "Ben"):
        await saved(real, "I love jazz", speaker=speaker)
    recall = await real.recall("Who loves jazz?", deadline_s=20)
    assert {hit.memory.speaker for hit in recall.memories} == {"Ada", "Ben"}
