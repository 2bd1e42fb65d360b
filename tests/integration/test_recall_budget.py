"""What is put into the prompt has a price, and what is too dear is left out whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perdure import Memory, Space
from perdure.embedding.e5_tokens import Tokens
from perdure.embedding.e5_weights import Weights, weights_path
from perdure.rules.tokens import estimated_tokens
from perdure.types import Stored
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

QUESTION = "When does the landlord raise the rent?"
SHORT = "The landlord raises the rent in January"
LONG = "The landlord raises the rent. " + "He wrote a letter about each of the rooms. " * 25


async def saved(space: Space, text: str, **more: object) -> int:
    stored = await space.save(text, **more)
    assert isinstance(stored, Stored)
    return stored.ids[0]


@pytest.fixture
async def filled(space: Space) -> Space:
    await saved(space, LONG, salience=10)
    await saved(space, SHORT)
    return space


async def test_the_default_holds_three_of_the_longest_memories_and_two_exchanges(
    urls, embedder: HashedEmbedder, space: Space
) -> None:
    for number in range(3):
        text = f"The landlord raises the rent of flat {number}. " + f"He wrote a letter about room {number}. " * 50
        await saved(space, text[:1200])
    for number in range(2):
        await space.capture(user=f"The landlord and the rent of house {number}: " + "a few more words " * 60)
    async with open_memory(urls, embedder, relevance_gate=False) as memory:
        recall = await memory.space(space.name).recall(QUESTION)
    assert (len(recall.memories), len(recall.pending), recall.left_out) == (3, 2, ())
    assert 1500 < recall.tokens <= 2400
    assert recall.tokens >= estimated_tokens(recall.tail)


async def test_what_does_not_fit_is_left_out_whole_and_a_smaller_one_still_comes(
    urls, embedder: HashedEmbedder, filled: Space
) -> None:
    async with open_memory(urls, embedder, relevance_gate=False, recall_token_budget=120) as memory:
        space = memory.space(filled.name)
        recall = await space.recall(QUESTION)
        assert [hit.memory.summary for hit in recall.memories] == [SHORT]
        assert "each of the rooms" not in recall.tail
        assert recall.tokens <= 120
        (left,) = recall.left_out
        assert left.why == "over_budget"
        assert left.tokens > 120
        found = await space.why_not(left.id, QUESTION)
        assert (found.fate, str(left.tokens) in found.detail) == ("over_budget", True)


async def test_what_waits_counts_too_and_comes_after_memories(urls, embedder: HashedEmbedder, filled: Space) -> None:
    await filled.capture(user="The rent of the landlord: " + "a few more words " * 60)
    async with open_memory(urls, embedder, relevance_gate=False, recall_token_budget=600) as memory:
        recall = await memory.space(filled.name).recall(QUESTION)
        assert (len(recall.memories), recall.pending) == (2, ())
    async with open_memory(urls, embedder, relevance_gate=False, recall_token_budget=900) as memory:
        recall = await memory.space(filled.name).recall(QUESTION)
        assert (len(recall.memories), len(recall.pending)) == (2, 1)


@pytest.mark.parametrize(("budget", "memories"), [(0, 0), ("none", 2)])
async def test_a_budget_of_nothing_and_no_budget(
    urls, embedder: HashedEmbedder, filled: Space, budget: object, memories: int
) -> None:
    async with open_memory(urls, embedder, relevance_gate=False, recall_token_budget=budget) as memory:
        recall = await memory.space(filled.name).recall(QUESTION)
    assert len(recall.memories) == memories
    assert bool(recall.tail) == bool(memories)


async def test_nothing_in_the_prompt_costs_nothing(memory: Memory, filled: Space) -> None:
    assert (await filled.recall("hi")).tokens == 0


def test_the_estimate_is_above_the_count_of_a_real_tokenizer_for_nineteen_texts_of_twenty() -> None:
    path = weights_path()
    assert path is not None
    tokens = Tokens(Weights(path))
    items = json.loads((Path(__file__).parents[1] / "data" / "pairs.json").read_text("utf-8"))["items"]
    texts = [(item["language"], item[kind]) for item in items for kind in ("text", "same", "related", "unrelated")]
    ratios = {
        language: [
            estimated_tokens(text) / (len(tokens.ids("", text)) - 2) for spoken, text in texts if spoken == language
        ]
        for language in {language for language, _ in texts}
    }
    for language, found in ratios.items():
        assert sum(ratio >= 1 for ratio in found) / len(found) >= 0.95, language
        assert sum(found) / len(found) < 2, language
