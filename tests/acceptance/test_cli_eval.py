"""`perdure eval` as a script runs it: one JSON document, clear refusals, and nothing lost when it is stopped."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cli_process import Perdure

DATA = Path(__file__).parents[3] / "shared" / "data"
MEASURES = {"n", "recall@5", "recall@10", "recall@20", "all@5", "mrr", "ndcg@10"}

SAID = (
    ("m1", "Ada", "The ferry to Palma leaves at noon on Friday"),
    ("m2", "Ben", "I am allergic to peanuts, so no satay for me"),
    ("m3", "Ada", "我的猫叫小白，它三岁了"),
    ("m4", "Ben", "แมวของฉันชื่อมะลิ"),
    ("m5", None, "Мы переехали в Казань весной"),
    ("m6", "Ada", "My sister works as a nurse in Girona"),
)
ASKED = (
    ("When does the boat to Mallorca go?", ["m1"], "english"),
    ("What food must Ben avoid?", ["m2"], "english"),
    ("猫叫什么名字？", ["m3"], "chinese"),
    ("แมวชื่ออะไร", ["m4"], "thai"),
    ("Куда мы переехали?", ["m5"], "russian"),
)


def lines(messages: tuple[Any, ...] = SAID, queries: tuple[Any, ...] = ASKED) -> list[str]:
    said = [
        {"type": "message", "space": "talk", "id": i, "text": text} | ({"speaker": who} if who else {})
        for i, who, text in messages
    ]
    asked = [
        {"type": "query", "space": "talk", "text": text, "evidence": evidence, "category": category}
        for text, evidence, category in queries
    ]
    return [json.dumps(line, ensure_ascii=False) for line in (*said, *asked)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("eval")


@pytest.fixture(scope="module")
def run(place: Path) -> Perdure:
    return Perdure(place / "mine", PERDURE_CACHE_DIR=str(place / "models"))


def test_a_file_of_messages_and_queries_is_measured(run: Perdure, place: Path) -> None:
    file = place / "set.jsonl"
    file.write_text("\n".join([*lines(), "{broken"]), "utf-8")
    found = run("eval", str(file), "--json", "--cache", str(place / "cache"))
    assert found.status == 0, found
    data = found.data
    assert set(data["overall"]) == MEASURES
    assert data["overall"]["n"] == len(ASKED)
    assert data["overall"]["recall@5"] == 1.0
    assert set(data["by_category"]) == {"english", "chinese", "thai", "russian"}
    assert all(set(figures) == MEASURES for figures in data["by_category"].values())
    assert {name: set(figures) for name, figures in data["baselines"].items()} == dict.fromkeys(
        ("bm25", "dense", "rrf"), MEASURES
    )
    assert set(data["latency_ms"]) == {"p50", "p95"}
    assert data["profile"] == "default"
    assert isinstance(data["embedder"], str)
    assert data["skipped"]["refused"] == 1
    assert data["skipped"]["refusals"][0]["line"] == len(lines()) + 1
    assert f"line {len(lines()) + 1}" in found.err
    # The memories of the person who measures are not where the measuring is done.
    assert not (place / "mine").exists()


def test_the_gate_is_measured_on_turns_that_something_or_nothing_helps_with(run: Perdure, place: Path) -> None:
    file = place / "gate.jsonl"
    idle = {"type": "query", "space": "talk", "text": "ok thanks", "evidence": [], "category": "thanks"}
    said = [{"role": "user", "content": "Ben is coming for dinner"}]
    follow_up = {
        "type": "query",
        "space": "talk",
        "text": "What is he allergic to?",
        "history": said,
        "evidence": ["m2"],
    }
    file.write_text("\n".join([*lines(), json.dumps(idle), json.dumps(follow_up), "{broken"]), "utf-8")
    found = run("eval", str(file), "--gate", "--json", "--cache", str(place / "cache"))
    assert found.status == 0, found
    assert (found.data["memories"], found.data["overall"]["asking"], found.data["overall"]["empty"]) == (6, 6, 1)
    assert found.data["by_category"]["thanks"]["silent"] == 1
    assert found.data["overall"]["kept"] >= 0.8
    assert found.data["overall"]["recall@3"] <= found.data["overall"]["recall@3_ungated"]
    assert {"step", "silent", "kept"} == set(found.data["curve"][0])
    assert "Refused" in found.err

    shown = run("eval", str(file), "--gate", "--cache", str(place / "cache"))
    assert "7 turns over 6 memories" in shown.out
    assert "threshold beside ours" in shown.out


def test_a_table_is_shown_to_people(run: Perdure, place: Path) -> None:
    file = place / "set.jsonl"
    file.write_text("\n".join(lines()), "utf-8")
    shown = run("eval", str(file), "--profile", "seed", "--cache", str(place / "cache"))
    assert shown.status == 0, shown
    for part in ("profile seed", "plain BM25", "recall@10", "MRR", "thai", "without embedding"):
        assert part in shown.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("locomo",), "perdure eval locomo --data PATH"),
        (("locomo", "--data", "/nowhere/at/all"), "expected is LoCoMo's file"),
        (("longmemeval", "--data", str(Path(__file__).parent)), "expected is LongMemEval's file"),
        (("/nowhere/set.jsonl",), "there is no such file"),
        ((__file__,), "in none of the formats"),
        (("locomo", "--data", "/nowhere", "--profile", "best"), "it has to be one of default, seed"),
        (("locomo", "--data", "/nowhere", "--sample", "0"), "sample"),
        (("madial",), "perdure eval madial --data PATH"),
        (("madial", "--data", str(Path(__file__).parent)), "expected is MADial-Bench's file"),
        (("xquad", "--data", str(Path(__file__).parent)), "expected is XQuAD's files"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_what_is_expected(
    run: Perdure, arguments: tuple[str, ...], told: str
) -> None:
    refused = run("eval", *arguments, "--json")
    assert refused.status == 2
    assert told in json.dumps(refused.data["error"], ensure_ascii=False)


PARAGRAPHS = {
    "de": ("Der Fährhafen von Palma wurde 1947 gebaut.", "Störche ziehen im August nach Süden."),
    "th": ("ท่าเรือปัลมาสร้างในปี 1947", "นกกระสาบินไปทางใต้ในเดือนสิงหาคม"),
}
QUESTIONS = {
    "de": ("Wann wurde der Hafen gebaut?", "Wohin ziehen die Störche?"),
    "th": ("ท่าเรือสร้างเมื่อไร", "นกกระสาบินไปทางไหน"),
}


def test_every_language_of_xquad_has_its_figures_and_one_can_be_chosen(run: Perdure, place: Path) -> None:
    folder = place / "xquad"
    folder.mkdir()
    for language, texts in PARAGRAPHS.items():
        paragraphs = [
            {"context": text, "qas": [{"question": question}]}
            for text, question in zip(texts, QUESTIONS[language], strict=True)
        ]
        content = {"data": [{"paragraphs": paragraphs}]}
        (folder / f"xquad.{language}.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    arguments = ("eval", "xquad", "--data", str(folder), "--cache", str(place / "cache"))
    found = run.json(*arguments)
    assert found["overall"]["n"] == 4
    assert {language: figures["mrr"] for language, figures in found["by_category"].items()} == {"de": 1.0, "th": 1.0}
    assert set(found["baselines_by_category"]) == {"bm25", "dense", "rrf"}
    assert all(set(of) == {"de", "th"} for of in found["baselines_by_category"].values())
    assert set(run.json(*arguments, "--language", "th")["by_category"]) == {"th"}
    refused = run("eval", "madial", "--data", str(folder), "--language", "th", "--json")
    assert refused.status == 2


def test_the_dialogues_of_madial_find_the_memories_of_their_own_child(run: Perdure, place: Path) -> None:
    folder = place / "madial"
    folder.mkdir()
    memories = [
        {str(n): {"time": "2023-03-07", "event": event, "user-id": child, "id": str(n)}}
        for n, (child, event) in enumerate(
            [(1, "小明在运动会上跑了第一名"), (1, "小明学会了骑车"), (2, "小红赢了跑步比赛")]
        )
    ]
    dialogue = {
        "dialogue": ["<BOD>", '<小明>:"明天有跑步比赛，运动会！"', '<Assistant>:"记得吗？"', "<EOD>"],
        "test-turn": [2],
        "relevant-id": [0],
        "user-id": 1,
    }
    (folder / "mine-memory.json").write_text("\n".join(json.dumps(memory) for memory in memories), "utf-8")
    (folder / "mine-dialogue.json").write_text(json.dumps(dialogue), "utf-8")
    found = run.json("eval", "madial", "--data", str(folder), "--cache", str(place / "cache"))
    assert found["overall"] == pytest.approx(
        {"n": 1, "recall@5": 1, "recall@10": 1, "recall@20": 1, "all@5": 1, "mrr": 1, "ndcg@10": 1}
    )


def test_a_run_that_is_stopped_goes_on_where_it_stopped(run: Perdure, place: Path) -> None:
    said = tuple((f"n{number}", "Ada", f"Note {number}: " + "the garden needs rain. " * 20) for number in range(400))
    file = place / "long.jsonl"
    file.write_text("\n".join(lines(SAID + said)), "utf-8")
    arguments = ("eval", str(file), "--json", "--cache", str(place / "stopped"))
    process = run.start(*arguments)
    vectors = place / "stopped" / "embeddings"
    try:
        for _ in range(600):
            if any(path.stat().st_size > 150_000 for path in vectors.glob("*.vectors")):
                break
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert json.loads(out)["error"]["code"] == "interrupted"
    kept = max(path.stat().st_size for path in vectors.glob("*.vectors"))
    again = run.json(*[argument for argument in arguments if argument != "--json"])
    assert again["overall"]["n"] == len(ASKED)
    assert again["overall"]["recall@20"] == 1.0
    assert kept > 150_000


@pytest.mark.long
@pytest.mark.data
@pytest.mark.skipif(not (DATA / "locomo").is_dir(), reason="the evaluation data is not beside this checkout")
def test_the_baselines_on_locomo_come_out_where_others_have_measured_them(run: Perdure, place: Path) -> None:
    found = run.json("eval", "locomo", "--data", str(DATA / "locomo"), "--cache", str(place / "cache"))
    assert found["overall"]["n"] == 760
    assert found["baselines"]["bm25"]["recall@10"] == pytest.approx(0.632, abs=0.03)
    assert found["baselines"]["rrf"]["recall@10"] > found["baselines"]["bm25"]["recall@10"]
    assert found["overall"]["recall@10"] >= found["baselines"]["rrf"]["recall@10"]
