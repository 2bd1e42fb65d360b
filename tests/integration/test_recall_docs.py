"""docs/recall.md explains one recall term by term: the same recall gives these figures, and they follow from the rules.

A change of the formula changes them: the failing test shows what the page has to say.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from perdure import Recall, Space
from perdure.cli.hits import show_hit
from perdure.cli.printing import Screen
from perdure.embedding import Embedder, open_embedder
from perdure.rules.lexical import attainable, rarities, score
from perdure.rules.profiles import DEFAULT
from perdure.text import analyse, date_terms, query_terms
from perdure.types import Hit
from tests.integration.conftest import open_memory

PAGE = (Path(__file__).parents[2] / "docs" / "recall.md").read_text("utf-8")
EXAMPLE = re.search(r"## One recall, term by term\n.*?```console\n(.*?)```\n(.*?)\n## ", PAGE, re.DOTALL)
assert EXAMPLE is not None
CONSOLE, TOLD = EXAMPLE.groups()
SAVED = re.findall(r'^\$ perdure save "(.*?)"(?: --speaker (\w+))? --date ([\d-]+)$', CONSOLE, re.MULTILINE)
QUESTION = re.findall(r'^\$ perdure recall "(.*?)" --explain$', CONSOLE, re.MULTILINE)[0]
ROWS = {
    name: (told, weight, signal)
    for name, told, weight, signal in re.findall(r"^\| (\w+) \| (\S+) \| ?(\S*) \| ?(\S*) \|", TOLD, re.MULTILINE)
}


@dataclass(frozen=True)
class Example:
    space: Space
    recall: Recall
    numbers: dict[int, int]
    embedder: Embedder

    @property
    def first(self) -> Hit:
        return self.recall.memories[0]


@pytest.fixture(scope="module")
async def example(urls, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Example]:
    embedder = open_embedder("local", cache_dir=tmp_path_factory.mktemp("cache"))
    async with open_memory(urls, embedder) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        ids = []
        for text, speaker, date in SAVED:
            ids += (await space.save(text, speaker=speaker or None, source_date=date)).ids
        await memory.resources.noise.load()
        recall = await space.recall(QUESTION, deadline_s=20)
        yield Example(space, recall, {memory_id: number for number, memory_id in enumerate(ids, 1)}, embedder)
    await embedder.close()


def number(written: str) -> float:
    return float(written.replace("−", "-"))


def test_the_page_has_an_example() -> None:
    assert len(SAVED) == 4
    assert {"relevance", "text", "salience", "recency"} < set(ROWS)


def test_the_recall_prints_what_the_page_shows(
    example: Example, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.cli.hits.local", lambda moment: f"{moment:%Y-%m-%d %H:%M}")
    for hit in example.recall.memories:
        show_hit(Screen(), hit, QUESTION, explain=True)
    printed = capsys.readouterr().out
    for memory_id, place in example.numbers.items():
        printed = printed.replace(f"#{memory_id} ", f"#{place} ")
    shown = CONSOLE.partition("--explain\n")[2].strip().splitlines()
    lines = iter(line.rstrip() for line in printed.splitlines())
    for line in shown:
        # What the page leaves out is anything up to its next line.
        assert line.strip() == "…" or line.rstrip() in lines, f"{line!r} is not in:\n{printed}"
    assert shown[0].startswith("#1 ")
    assert printed.count("found by") == sum(line.startswith("#") for line in shown)


def test_each_term_is_its_weight_times_its_signal_and_they_add_up(example: Example) -> None:
    assert set(ROWS) == set(example.first.terms)
    for name, (told, weight, signal) in ROWS.items():
        assert number(told) == pytest.approx(example.first.terms[name], abs=5e-5), name
        if weight:
            sign = 1 if name == "relevance" else -1
            assert sign * number(weight) * number(signal) == pytest.approx(number(told), abs=1e-4), name
    assert sum(number(told) for told, _, _ in ROWS.values()) == pytest.approx(-example.first.score, abs=5e-4)


def test_the_weights_are_those_of_the_profile() -> None:
    weights = {name: number(weight) for name, (_, weight, _) in ROWS.items() if weight}
    assert weights == {
        "relevance": DEFAULT.distance_weight,
        "text": DEFAULT.text_weight,
        "salience": DEFAULT.salience,
        "usefulness": DEFAULT.usefulness,
        "recency": DEFAULT.recency,
        "confidence": DEFAULT.confidence,
        "popularity": DEFAULT.popularity,
        "entity": DEFAULT.entity,
    }


async def test_the_page_tells_what_the_gate_says_of_the_third(example: Example) -> None:
    memory_id = next(each for each, place in example.numbers.items() if place == 3)
    found = await example.space.why_not(memory_id, QUESTION)
    assert found.gate is not None
    told = f"`--why-not 3` says that its cosine of {found.gate.cosine:.3f} would have to exceed {found.gate.noise:.3f}"
    assert (found.fate, told in " ".join(TOLD.split())) == ("below_the_gate", True)


def test_the_distance_is_that_of_the_vectors_on_the_scale_of_the_family(example: Example) -> None:
    calibration = example.embedder.calibration
    assert calibration is not None
    cosine = calibration.cosine_at(example.first.similarity, of_query=True)
    distance = (1 - cosine) / (1 - calibration.query_mean)
    assert number(ROWS["relevance"][2]) == pytest.approx(distance, abs=1e-3)


def test_the_text_term_is_the_share_of_what_the_words_could_reach(example: Example) -> None:
    documents = [Counter([*analyse(text).terms, *date_terms(_date(date))]) for text, _, date in SAVED]
    asked = query_terms(QUESTION)
    frequencies = {term: sum(term in document for document in documents) for term in asked}
    idfs = rarities(asked, frequencies, len(documents), DEFAULT.bm25)
    lengths = [analyse(text).length for text, _, _ in SAVED]
    found = score(documents[0], idfs, lengths[0], float(np.mean(lengths)), DEFAULT.bm25)
    assert number(ROWS["text"][2]) == pytest.approx(attainable(found, idfs, DEFAULT.bm25), abs=2e-3)


def _date(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)
