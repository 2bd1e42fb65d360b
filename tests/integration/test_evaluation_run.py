"""A whole measurement on a real database: the same path as import and search, resumable, and right about ranks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from perdure import Memory
from perdure.clock import DatabaseClock
from perdure.errors import EmbeddingUnavailable
from perdure.evaluation import CachedEmbedder, Report, evaluate, read_set
from perdure.rules.profiles import PROFILES
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

PROFILE = PROFILES["default"]

TALK = (
    ("m1", "Ada", "The ferry to Palma leaves at noon"),
    ("m2", "Ben", "Thanks!"),
    ("m3", "Ada", "I am allergic to peanuts"),
    ("m4", "Ada", "我的猫叫小白"),
    ("m5", "Ben", "แมวของฉันชื่อมะลิ"),
    ("m6", "Ben", "Thanks!"),
    ("m7", "Ada", "👍"),
    ("m8", "Ada", " ".join(f"Chapter {n} is about walking in the hills of the island." for n in range(60)) + " Zebra!"),
)
QUERIES: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("When does the ferry leave?", ("m1",), "one"),
    ("allergic to what", ("m3",), "one"),
    ("猫叫什么", ("m4",), "chinese"),
    ("แมวชื่ออะไร", ("m5",), "thai"),
    ("thanks", ("m6",), None),
    ("zebra", ("m8",), "long"),
    ("thumbs up", ("m7",), "unsayable"),
)


class Watching:
    """Counts, and stops the run after so many questions if told to."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.messages = self.questions = 0
        self._stop_after = stop_after

    def imported(self, messages: int) -> None:
        self.messages += messages

    def asked(self, questions: int) -> None:
        self.questions += questions
        if self.questions == self._stop_after:
            raise KeyboardInterrupt


class Bench:
    """One data directory's worth of what a run needs."""

    def __init__(self, memory: Memory, embedder: CachedEmbedder, inner: HashedEmbedder, place: Path) -> None:
        self.memory, self.embedder, self.inner, self.place = memory, embedder, inner, place

    def file(self, *extra: dict[str, Any], name: str = "set") -> Path:
        lines: list[dict[str, Any]] = [
            {
                "type": "message",
                "space": "talk",
                "id": i,
                "speaker": who,
                "time": f"2024-05-01T10:0{n}:00Z",
                "text": text,
            }
            for n, (i, who, text) in enumerate(TALK)
        ]
        lines += [
            {"type": "query", "space": "talk", "text": text, "evidence": evidence, "category": category}
            for text, evidence, category in QUERIES
        ]
        path = self.place / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps(line) for line in (*lines, *extra)), "utf-8")
        return path

    async def run(self, path: Path, watcher: Watching | None = None, profile: str = "default") -> Report:
        return await evaluate(
            self.memory,
            self.embedder,
            read_set(path, "jsonl"),
            PROFILES[profile],
            unfinished=self.place / "unfinished",
            watcher=watcher or Watching(),
        )


@pytest.fixture
async def bench(fresh_database: ServerUrls, tmp_path: Path) -> AsyncIterator[Bench]:
    inner = HashedEmbedder()
    embedder = CachedEmbedder(inner, tmp_path / "embeddings", DatabaseClock())
    async with open_memory(fresh_database, embedder) as memory:  # type: ignore[arg-type]
        yield Bench(memory, embedder, inner, tmp_path)


async def test_questions_in_any_script_find_their_messages(bench: Bench) -> None:
    report = await bench.run(bench.file())
    found = report.turns
    assert found.overall["n"] == len(QUERIES)
    for category in ("one", "chinese", "thai"):
        assert found.by_category[category]["mrr"] == 1.0, category
    assert set(found.baselines) == {"bm25", "dense", "rrf"}
    assert found.baselines["bm25"]["n"] == len(QUERIES)
    assert report.sessions is None
    assert report.profile == "default"
    assert report.embedder == bench.inner.family.name


async def test_a_repeated_turn_stands_for_every_place_where_it_was_said(bench: Bench) -> None:
    found = (await bench.run(bench.file())).turns
    assert found.by_category["uncategorised"] == pytest.approx(
        {"n": 1, "recall@5": 1, "recall@10": 1, "recall@20": 1, "all@5": 1, "mrr": 1, "ndcg@10": 1}
    )


async def test_a_long_turn_is_found_by_its_last_words_and_takes_one_place(bench: Bench) -> None:
    both = "walking in the hills of the island before the ferry"
    second = {"type": "query", "space": "talk", "text": both, "evidence": ["m1"], "category": "behind the long one"}
    found = (await bench.run(bench.file(second))).turns.by_category
    assert found["long"]["mrr"] == 1.0
    assert found["behind the long one"]["mrr"] == 0.5


async def test_a_turn_that_holds_nothing_to_store_counts_as_not_found(bench: Bench) -> None:
    assert (await bench.run(bench.file())).turns.by_category["unsayable"]["recall@20"] == 0.0


async def test_a_second_run_imports_and_embeds_nothing_and_measures_the_same(bench: Bench) -> None:
    path = bench.file()
    first = await bench.run(path)
    calls, spaces = bench.inner.calls, await bench.memory.spaces()
    second = await bench.run(path)
    assert bench.inner.calls == calls
    assert await bench.memory.spaces() == spaces
    assert second.turns == first.turns


async def test_an_interrupted_run_keeps_the_questions_that_were_answered(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.file()
    with pytest.raises(KeyboardInterrupt):
        await bench.run(path, Watching(stop_after=4))
    asked: list[str] = []
    embed = bench.embedder.embed

    async def recording(texts: list[str], kind: str) -> Any:
        asked.extend(texts if kind == "query" else ())
        return await embed(texts, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(bench.embedder, "embed", recording)
    report = await bench.run(path)
    assert set(asked) == {text for text, _, _ in QUERIES[4:]}
    assert report.turns.overall["n"] == len(QUERIES)
    assert not list((bench.place / "unfinished").iterdir())


async def test_an_outage_ends_the_run_instead_of_counting_as_a_bad_answer(bench: Bench) -> None:
    path = bench.file()
    with pytest.raises(KeyboardInterrupt):
        await bench.run(path, Watching(stop_after=2))
    bench.inner.outage = True
    with pytest.raises(EmbeddingUnavailable, match="Run the same command again"):
        await bench.run(path)
    bench.inner.outage = False
    assert (await bench.run(path)).turns.overall["n"] == len(QUERIES)


async def test_a_question_that_stands_twice_counts_twice(bench: Bench) -> None:
    extra = {"type": "query", "space": "talk", "text": QUERIES[0][0], "evidence": ["m1"], "category": "one"}
    assert (await bench.run(bench.file(extra))).turns.by_category["one"]["n"] == 3


async def test_a_question_that_says_nothing_is_refused_by_line_and_the_others_are_asked(bench: Bench) -> None:
    path = bench.file({"type": "query", "space": "talk", "text": "\u0001", "evidence": ["m1"]})
    chosen = read_set(path, "jsonl")
    report = await evaluate(
        bench.memory,
        bench.embedder,
        chosen,
        PROFILE,
        unfinished=bench.place / "unfinished",
        watcher=Watching(),
    )
    assert report.turns.overall["n"] == len(QUERIES)
    assert [error.line for error in chosen.skipped.refused] == [len(TALK) + len(QUERIES) + 1]


async def test_changed_messages_are_another_space(bench: Bench) -> None:
    await bench.run(bench.file())
    extra = {"type": "message", "space": "talk", "id": "m9", "text": "One more", "time": "2024-05-02T10:00:00Z"}
    await bench.run(bench.file(extra))
    assert len(await bench.memory.spaces()) == 2


async def test_profiles_are_compared_on_the_same_memories(bench: Bench) -> None:
    path = bench.file()
    default, seed = await bench.run(path), await bench.run(path, profile="seed")
    assert (default.profile, seed.profile) == ("default", "seed")
    assert seed.turns.baselines == default.turns.baselines
    assert len(await bench.memory.spaces()) == 1


async def test_latency_with_embedding_is_told_even_when_the_embeddings_are_old(bench: Bench) -> None:
    path = bench.file()
    await bench.run(path)
    again = await bench.run(path)
    assert again.latency_ms["p50"] > again.latency_without_embedding_ms["p50"] > 0
