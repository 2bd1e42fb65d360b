"""MADial-Bench and XQuAD are read as their authors lay them out: two files that belong together, one per language."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import InvalidInput
from perdure.evaluation import Choice, find_file, read_set, set_format

DATA = Path(__file__).parents[3] / "shared" / "data"

MEMORIES = (
    {"time": "2023-03-07", "event": "小明在运动会上跑了第一名。", "user-id": 1, "id": "3"},
    {"time": "2023-04-09", "event": "小明第一次骑自行车。", "user-id": 1, "id": "9"},
    {"time": "2023-05-15", "event": "小红尝了芒果冰淇淋。", "user-id": 2, "id": "4"},
)
DIALOGUES: tuple[dict[str, Any], ...] = (
    {
        "dialogue": [
            "<BOD>\n",
            ' <小明>:"今天跑步比赛！"\n',
            '<Assistant>:"加油！"\n',
            '<小明>: "我有点紧张。"\n',
            '<Assistant>:"别怕。"\n',
            '<小明>:"我能赢吗？"\n',
            '<Assistant>:"还有骑车呢？"\n',
            '<小明>:"我会"骑"了"\n',
            '<Assistant>:"记得运动会吗？"\n',
            '<小明>:"记得！"\n',
            "<EOD>\n",
        ],
        "test-turn": [8, 10],
        "relevant-id": [3, 9],
        "user-id": 1,
        "id": 0,
    },
    {
        "dialogue": ["<BOD>\n", '<小红>:"好热啊，想吃冰淇淋"\n', '<Assistant>:"芒果的？"\n', "<EOD>\n"],
        "test-turn": [2],
        "relevant-id": [4],
        "user-id": 2,
        "id": 1,
    },
)


def lines(*values: object) -> str:
    return "\n".join(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values)


def madial(folder: Path, *more: object) -> Path:
    memories = ({memory["id"]: memory} for memory in MEMORIES)
    (folder / "MADial-Bench-zh-memory.json").write_text(lines(*memories), "utf-8")
    (folder / "MADial-Bench-zh-dialogue-setting2.json").write_text(lines(*DIALOGUES), "utf-8")
    path = folder / "MADial-Bench-zh-dialogue.json"
    path.write_text(lines(*DIALOGUES, *more), "utf-8")
    return path


def xquad(folder: Path, **languages: tuple[str, ...]) -> Path:
    """A paragraph for each text, two questions about each."""
    for language, texts in languages.items():
        paragraphs = [
            {"context": text, "qas": [{"question": f"{number}? {text[:5]}"} for number in range(2)]} for text in texts
        ]
        content = {"data": [{"paragraphs": paragraphs}, {"paragraphs": []}], "version": "1.1"}
        (folder / f"xquad.{language}.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return folder


def test_a_dialogue_asks_with_what_the_user_said_last_before_the_assistant_should_remember(tmp_path: Path) -> None:
    path = madial(tmp_path)
    assert find_file(tmp_path, "madial") == find_file(path, "madial") == path
    found = read_set(path, "madial")
    assert [(q.space, q.text, q.category, q.evidence) for q in found.questions] == [
        ("user-1", '我有点紧张。\n我能赢吗？\n我会"骑"了', "several memories", ("3", "9")),
        ("user-2", "好热啊，想吃冰淇淋", "one memory", ("4",)),
    ]


def test_the_memories_of_two_children_are_two_spaces(tmp_path: Path) -> None:
    found = read_set(madial(tmp_path), "madial").conversations
    assert {space: [m.external_id for m in messages] for space, messages in found.items()} == {
        "user-1": ["3", "9"],
        "user-2": ["4"],
    }
    assert [str(m.occurred_at) for m in found["user-2"]] == ["2023-05-15 00:00:00+00:00"]


def test_a_dialogue_that_cannot_be_read_is_refused_by_its_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    broken = {**DIALOGUES[0], "test-turn": []}, {**DIALOGUES[0], "test-turn": [1]}, "{not json", {"dialogue": 3}
    found = read_set(madial(tmp_path, *broken), "madial")
    assert [error.line for error in found.skipped.refused] == [3, 4, 5, 6]
    assert len(found.questions) == 2


def test_dialogues_without_their_memories_are_refused(tmp_path: Path) -> None:
    path = madial(tmp_path)
    (tmp_path / "MADial-Bench-zh-memory.json").unlink()
    with pytest.raises(InvalidInput, match="no such file"):
        read_set(path, "madial")


def test_every_language_is_a_space_and_a_category(tmp_path: Path) -> None:
    place = xquad(tmp_path, en=("The ferry leaves at noon.", "A bird sang."), zh=("渡轮中午出发。",))
    assert find_file(place, "xquad") == place
    found = read_set(place, "xquad")
    assert {space: len(messages) for space, messages in found.conversations.items()} == {"en": 2, "zh": 1}
    assert [(q.space, q.category, q.evidence) for q in found.questions] == [
        *[("en", "en", ("a001p001",))] * 2,
        *[("en", "en", ("a001p002",))] * 2,
        *[("zh", "zh", ("a001p001",))] * 2,
    ]


def test_one_language_can_be_measured_alone_by_name_or_by_file(tmp_path: Path) -> None:
    place = xquad(tmp_path, en=("The ferry leaves at noon.",), ru=("Паром уходит в полдень.",))
    by_name = read_set(place, "xquad", Choice(conversation="ru"))
    by_file = read_set(place / "xquad.ru.json", "xquad")
    assert by_name.conversations == by_file.conversations
    assert by_name.questions == by_file.questions
    with pytest.raises(InvalidInput, match="no question of the chosen part"):
        read_set(place, "xquad", Choice(conversation="fr"))


def test_a_packed_file_is_read_like_any_other(tmp_path: Path) -> None:
    file = xquad(tmp_path, th=("เรือออกตอนเที่ยง",)) / "xquad.th.json"
    packed = tmp_path / "packed" / "xquad.th.json.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_set(packed.parent, "xquad").conversations == read_set(file, "xquad").conversations


def test_a_paragraph_without_words_is_reported_and_its_questions_do_not_count(tmp_path: Path) -> None:
    found = read_set(xquad(tmp_path, en=("The ferry leaves at noon.", " ")), "xquad")
    assert [error.field for error in found.skipped.refused].count("context") == 1
    assert {q.evidence for q in found.questions} == {("a001p001",)}


def test_what_is_no_xquad_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected is XQuAD's files"):
        find_file(tmp_path, "xquad")
    (tmp_path / "xquad.en.json").write_text("[1, 2]")
    with pytest.raises(InvalidInput, match="json"):
        read_set(tmp_path, "xquad")


@pytest.mark.parametrize("kind", ["madial", "xquad"])
def test_the_halves_share_no_question_and_no_evidence(tmp_path: Path, kind: Any) -> None:
    path = madial(tmp_path) if kind == "madial" else xquad(tmp_path, en=("One bird.", "Two birds.", "Three."))
    even, odd = (read_set(path, kind, Choice(part=part)).questions for part in ("even", "odd"))  # type: ignore[arg-type]
    assert len(even) + len(odd) == len(read_set(path, kind).questions)
    assert not {q.evidence for q in even} & {q.evidence for q in odd}


def test_a_file_given_by_itself_is_known_for_what_it_is(tmp_path: Path) -> None:
    assert set_format(madial(tmp_path)) == "madial"
    assert set_format(xquad(tmp_path, en=("One bird.",)) / "xquad.en.json") == "xquad"


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "madial_zh").is_dir(), reason="the evaluation data is not beside this checkout")
def test_madial_itself_is_read_whole() -> None:
    found = read_set(find_file(DATA / "madial_zh", "madial"), "madial")
    assert (len(found.questions), found.messages, found.skipped.refused) == (160, 171, [])


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "xquad").is_dir(), reason="the evaluation data is not beside this checkout")
def test_xquad_itself_is_read_whole() -> None:
    found = read_set(find_file(DATA / "xquad", "xquad"), "xquad")
    assert {space: len(messages) for space, messages in found.conversations.items()} == dict.fromkeys(
        ("ar", "de", "en", "ru", "th", "zh"), 240
    )
    assert len(found.questions) == 6 * 1190
    assert found.skipped.refused == []
