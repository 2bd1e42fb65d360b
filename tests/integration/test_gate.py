"""The relevance gate on labelled turns in six languages: silent where nothing helps, and right where something does."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from perdure import InvalidInput, Memory
from perdure.clock import DatabaseClock
from perdure.embedding import open_embedder
from perdure.evaluation import CachedEmbedder, Choice, GateReport, LabelledTurn, evaluate_gate, read_turns
from perdure.evaluation.gate import Judged, summarise_gate
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

SET = Path(__file__).parents[1] / "data" / "gate.jsonl"
LINES = [json.loads(line) for line in SET.read_text("utf-8").splitlines()]
LANGUAGES = {"en", "de", "es", "zh", "ru", "th"}
EMPTY_KINDS = {"greeting", "thanks", "smalltalk", "command", "gibberish", "world", "bare"}
ASKING_KINDS = {"question", "short", "elliptic", "statement"}


class Counting:
    def __init__(self) -> None:
        self.messages = self.turns = 0

    def imported(self, messages: int) -> None:
        self.messages += messages

    def asked(self, questions: int) -> None:
        self.turns += questions


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate")


@pytest.fixture
async def bundled(urls: ServerUrls, cache: Path) -> AsyncIterator[Memory]:
    embedder = CachedEmbedder(open_embedder("local", cache_dir=cache), cache / "embeddings", DatabaseClock())
    async with open_memory(urls, embedder) as memory:
        yield memory
    await embedder.close()


async def measured(memory: Memory, path: Path) -> GateReport:
    chosen, turns = read_turns(path, "jsonl", Choice())
    watcher = Counting()
    report = await evaluate_gate(memory, chosen, turns, watcher)
    assert (watcher.messages, watcher.turns) == (chosen.messages, len(turns))
    return report


def part_of_the_set(path: Path) -> Path:
    """All memories, and every seventh turn: each kind and each language is among them."""
    memories = [line for line in LINES if line["type"] == "message"]
    turns = [line for line in LINES if line["type"] == "query"][::7]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in memories + turns), "utf-8")
    return path


def test_the_set_is_large_varied_and_says_nothing_twice() -> None:
    memories = [line for line in LINES if line["type"] == "message"]
    turns = [line for line in LINES if line["type"] == "query"]
    assert len(memories) >= 500
    assert len({line["text"] for line in memories}) == len(memories)
    assert len({line["text"] for line in turns}) == len(turns)
    for part in ("tuning", "held_out"):
        of_part = [line for line in turns if line["part"] == part]
        assert len(of_part) >= 150
        assert {line["language"] for line in of_part} == LANGUAGES
        assert {line["category"] for line in of_part if not line["evidence"]} == EMPTY_KINDS
        assert {line["category"] for line in of_part if line["evidence"]} == ASKING_KINDS


async def test_a_part_of_the_set_keeps_silent_and_finds(bundled: Memory, tmp_path: Path) -> None:
    report = await measured(bundled, part_of_the_set(tmp_path / "part.jsonl"))
    assert report.memories >= 500
    assert report.overall["silent"] is not None
    assert report.overall["kept"] is not None
    assert report.overall["silent"] >= 0.95
    assert report.overall["kept"] >= 0.9
    assert set(report.by_language) == LANGUAGES


@pytest.mark.long
async def test_the_whole_set_keeps_silent_and_finds_in_both_parts(bundled: Memory) -> None:
    report = await measured(bundled, SET)
    for figures in (report.overall, *report.by_part.values()):
        assert figures["silent"] is not None
        assert figures["kept"] is not None
        assert figures["silent"] >= 0.95
        assert figures["kept"] >= 0.9


def turn(evidence: tuple[str, ...], part: str = "held_out") -> LabelledTurn:
    return LabelledTurn("s", "text", (), evidence, "question" if evidence else "greeting", "en", part)


def test_figures_count_what_was_kept_of_what_was_found_and_the_curve_moves_the_threshold() -> None:
    judged = [
        Judged(turn(()), surplus=-0.5, right=None, injected=0, ungated=0, gated=0),
        Judged(turn((), "tuning"), surplus=0.5, right=None, injected=2, ungated=0, gated=0),
        Judged(turn(("m1",)), surplus=2.0, right=1.5, injected=3, ungated=1, gated=1),
        Judged(turn(("m2",)), surplus=0.2, right=-0.2, injected=1, ungated=1, gated=0),
        Judged(turn(("m3",)), surplus=-math.inf, right=None, injected=0, ungated=0, gated=0),
    ]
    report = summarise_gate(judged, memories=7, embedder="e")
    assert report.overall == {
        "empty": 2,
        "silent": 0.5,
        "asking": 3,
        "found": 2,
        "kept": 0.5,
        "recall@3_ungated": pytest.approx(2 / 3),
        "recall@3": pytest.approx(1 / 3),
        "injected": pytest.approx(4 / 3),
    }
    assert report.by_part["tuning"]["silent"] == 0
    assert report.by_part["tuning"]["kept"] is None
    assert report.by_category["question"]["silent"] is None
    curve = {point["step"]: (point["silent"], point["kept"]) for point in report.curve}
    assert curve[0.0] == (0.5, 0.5)
    assert curve[-0.6] == (0.0, 1.0)
    assert curve[1.0] == (1.0, 0.5)
    assert curve[2.0] == (1.0, 0.0)


async def test_questions_of_any_set_are_turns_and_labels_may_be_missing(
    memory: Memory, embedder: HashedEmbedder, tmp_path: Path
) -> None:
    path = tmp_path / "set.jsonl"
    lines = [
        {"type": "message", "space": "a", "id": "m1", "text": "The ferry to Palma leaves at noon"},
        {"type": "message", "space": "a", "id": "m2", "text": "Ben plays the cello on Fridays"},
        {"type": "query", "space": "a", "text": "When does the ferry to Palma leave?", "evidence": ["m1"]},
        {"type": "query", "space": "a", "text": "ok thanks", "evidence": []},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    report = await measured(memory, path)
    assert (report.overall["silent"], report.overall["kept"], report.overall["found"]) == (1, 1, 1)
    assert report.by_part == report.by_language == report.by_category == {}


def test_a_history_that_is_none_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    lines = [
        {"type": "message", "id": "m1", "text": "The ferry leaves at noon"},
        {"type": "query", "text": "When?", "evidence": ["m1"], "history": ["the ferry"]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with pytest.raises(InvalidInput) as refused:
        read_turns(path, "jsonl", Choice())
    assert (refused.value.field, refused.value.line) == ("history", 2)
