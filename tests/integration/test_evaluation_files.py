"""Sets are read from files as people have them: in folders, broken in places, in any language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import InvalidInput
from perdure.evaluation import find_file, read_set, set_format


def message(number: int, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "space": "s", "id": f"m{number}", "text": f"text {number}", **fields}


def query(text: str, *evidence: str, **fields: Any) -> dict[str, Any]:
    return {"type": "query", "space": "s", "text": text, "evidence": list(evidence), **fields}


def written(path: Path, *lines: dict[str, Any] | str) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


def test_a_broken_line_is_reported_once_by_number_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = written(
        tmp_path / "set.jsonl", message(1), "{broken", message(2, text=""), query("q", "m1"), query("", "m1")
    )
    found = read_set(path, "jsonl")
    assert sorted(error.line or 0 for error in found.skipped.refused) == [2, 3, 5]
    assert [question.text for question in found.questions] == ["q"]
    assert [m.external_id for m in found.conversations["s"]] == ["m1"]


def test_evidence_that_does_not_exist_is_reported_and_does_not_count(tmp_path: Path) -> None:
    path = written(
        tmp_path / "set.jsonl",
        message(1),
        query("half", "m1", "m99"),
        query("none", "m98"),
        query("elsewhere", "m1", space="other"),
        message(1, space="other", id="x"),
    )
    found = read_set(path, "jsonl")
    assert [(question.text, question.evidence) for question in found.questions] == [("half", ("m1",))]
    assert [(error.line, error.field) for error in found.skipped.refused] == [
        (2, "evidence"),
        (3, "evidence"),
        (4, "evidence"),
    ]
    assert "m99" in found.skipped.refused[0].message
    assert found.skipped.questions == {"evidence is missing": 2}


def test_a_second_message_of_the_same_id_is_reported_and_the_first_one_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "set.jsonl", message(1), message(1, text="again"), query("q", "m1"))
    found = read_set(path, "jsonl")
    assert [m.text for m in found.conversations["s"]] == ["text 1"]
    assert [(error.line, error.field) for error in found.skipped.refused] == [(2, "id")]


def test_messages_without_times_keep_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path / "set.jsonl",
        *(message(number) for number in (3, 1, 2)),
        message(4, time="2024-05-01T10:00:00Z"),
        message(5),
        query("q", "m1"),
    )
    times = [m.occurred_at for m in read_set(path, "jsonl").conversations["s"]]
    assert None not in times
    assert times == sorted(times, key=str)


def test_lines_without_a_space_share_one_and_spaces_may_alternate(tmp_path: Path) -> None:
    lines = [message(number, space=("a", "b", None)[number % 3]) for number in range(9)]
    asked = [query("q", "m0", space="a"), query("q", "m1", space="b"), query("q", "m2", space=None)]
    found = read_set(written(tmp_path / "set.jsonl", *lines, *asked), "jsonl")
    assert {name: len(messages) for name, messages in found.conversations.items()} == {"a": 3, "b": 3, "default": 3}
    assert len(found.questions) == 3


def test_a_file_without_a_question_is_refused_with_the_reasons(tmp_path: Path) -> None:
    path = written(tmp_path / "set.jsonl", message(1), query("q"))
    with pytest.raises(InvalidInput, match="1 × no usable evidence"):
        read_set(path, "jsonl")


def test_a_query_without_evidence_is_left_out_and_counted_whether_it_says_so_or_not(tmp_path: Path) -> None:
    silent = {"type": "query", "space": "s", "text": "says nothing of evidence"}
    found = read_set(written(tmp_path / "set.jsonl", message(1), query("q", "m1"), query("has none"), silent), "jsonl")
    assert [question.text for question in found.questions] == ["q"]
    assert found.skipped.questions == {"no usable evidence": 2}
    assert found.skipped.refused == []


def locomo() -> list[dict[str, Any]]:
    turns = [{"speaker": "Ada", "dia_id": f"D1:{n}", "text": f"turn {n}"} for n in (1, 2)]
    qa = [{"question": "q", "answer": "a", "evidence": ["D1:2"], "category": 4}]
    return [
        {
            "sample_id": "conv-1",
            "conversation": {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"},
            "qa": qa,
        }
    ]


def longmemeval() -> list[dict[str, Any]]:
    session = [
        {"role": "user", "content": "I planted tomatoes", "has_answer": True},
        {"role": "assistant", "content": "Nice"},
        {"role": "user", "content": "Thanks"},
    ]
    given = {
        "question_type": "single-session-user",
        "question": "What did I plant?",
        "question_date": "2023/05/30 (Tue) 02:21",
        "haystack_session_ids": ["answer_1", "other"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [session, [{"role": "user", "content": "Hello there"}]],
        "answer_session_ids": ["answer_1"],
    }
    return [{"question_id": "q1", **given}, {"question_id": "q2_abs", **given}]


def test_the_data_may_be_named_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "LICENSE.txt").write_text("CC BY-NC")
    file = tmp_path / "anything.json"
    file.write_text(json.dumps(locomo()))
    assert find_file(tmp_path, "locomo") == find_file(file, "locomo") == file


def test_wrong_data_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file or folder; expected is LoCoMo's file"):
        find_file(tmp_path / "missing", "locomo")
    with pytest.raises(InvalidInput, match="no file in this folder is in the format of longmemeval"):
        find_file(tmp_path, "longmemeval")
    (tmp_path / "a.json").write_text(json.dumps(locomo()))
    with pytest.raises(InvalidInput, match="not in the format of longmemeval"):
        find_file(tmp_path / "a.json", "longmemeval")
    (tmp_path / "b.json").write_text(json.dumps(locomo()))
    with pytest.raises(InvalidInput, match=r"several sets; name one of a\.json, b\.json"):
        find_file(tmp_path, "locomo")


def test_a_chat_export_has_no_questions(tmp_path: Path) -> None:
    path = written(tmp_path / "chat.txt", "08.05.23, 13:56 - Jule: Kommst du mit?")
    with pytest.raises(InvalidInput, match="has no questions"):
        set_format(path)


def test_locomo_is_measured_by_turn(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    path.write_text(json.dumps(locomo()))
    (question,) = read_set(path, "locomo").questions
    assert (question.evidence, question.evidence_sessions) == (("D1:2",), ())


def test_longmemeval_holds_the_turns_of_the_user_and_is_measured_by_session_too(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    path.write_text(json.dumps(longmemeval()))
    found = read_set(path, "longmemeval")
    assert [m.external_id for m in found.conversations["q1"]] == ["s0001t001", "s0001t003", "s0002t001"]
    (question,) = found.questions
    assert (question.evidence, question.evidence_sessions) == (("s0001t001",), ("s0001",))
    assert found.skipped.questions == {"no answer in the haystack": 1}
    assert found.skipped.messages == {"not said by the user": 1}
