"""Damaged and foreign files: a clear refusal, and everything readable before and after it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from perdure.connect import (
    FORMATS,
    Rejected,
    detect_format,
    read_jsonl_questions,
    read_locomo_questions,
    read_longmemeval_questions,
    read_messages,
)
from perdure.connect.reading import MAX_LINE_BYTES
from perdure.errors import InvalidInput
from perdure.text import MAX_TEXT_BYTES
from perdure.types import Message

GOOD = '{"type":"message","id":"a","text":"fine"}'
SAMPLES = Path(__file__).parent.parent / "data" / "exports"


def write(tmp_path: Path, data: str | bytes, name: str = "file") -> Path:
    path = tmp_path / name
    path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    return path


def refusals(path: Path, format: str | None = None) -> tuple[list[str], list[Rejected]]:  # noqa: A002
    """Texts that were read, and what was refused."""
    items = list(read_messages(path, format))
    return [i.text for i in items if isinstance(i, Message)], [i for i in items if isinstance(i, Rejected)]


def until_broken(path: Path, format: str | None = None) -> tuple[list[str], InvalidInput]:  # noqa: A002
    """Texts that were read before the file became unreadable, and why it did."""
    seen: list[str] = []

    def read_on() -> None:
        for item in read_messages(path, format):
            assert isinstance(item, Message)
            seen.append(item.text)

    with pytest.raises(InvalidInput) as caught:
        read_on()
    return seen, caught.value


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b" \r\n\t ", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        ("hello\n".encode("utf-16"), "UTF-16"),
        ("hello\n".encode("utf-16-le"), "UTF-16 or binary"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0", "binary"),
        (b"PK\x03\x04 rest of the archive", "zip archive; unpack it"),
        (gzip.compress(GOOD.encode() * 99, mtime=0)[:40], "complete and undamaged"),
        (b"\x1f\x8b\x08 no gzip at all", "complete and undamaged"),
    ],
)
def test_a_file_that_is_no_text_is_refused_as_a_whole(
    tmp_path: Path,
    data: bytes,
    message: str,
    format: str | None,  # noqa: A002
) -> None:
    with pytest.raises(InvalidInput, match=message):
        list(read_messages(write(tmp_path, data), format))


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        read_messages(tmp_path / "nowhere.jsonl")
    with pytest.raises(InvalidInput, match="directory"):
        read_messages(tmp_path, "jsonl")


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="jsonl, locomo, longmemeval, chatgpt, telegram, whatsapp"):
        read_messages(write(tmp_path, GOOD), "signal")


@pytest.mark.parametrize(
    "text", ["Dear diary,\n", '{"a":1}\n', "[1,2,3]", '[{"a":1}]', "[", "{", "{}", "[]", '"text"', "1"]
)
def test_content_of_no_known_format_is_refused_with_the_known_ones(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="none of the formats jsonl, locomo"):
        detect_format(write(tmp_path, text))


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"type":"message","id":"x","text":"cut', "json"),
        ("not json at all", "json"),
        ("[1]", "line"),
        ('{"id":"x","text":"t"}', "type"),
        ('{"type":"memory","id":"x","text":"t"}', "type"),
        ('{"type":["message"],"id":"x","text":"t"}', "type"),
        ('{"type":"message","text":"t"}', "id"),
        ('{"type":"message","id":"x"}', "text"),
        ('{"type":"message","id":"x","text":"  "}', "text"),
        ('{"type":"message","id":"x","text":7}', "text"),
        ('{"type":"message","id":"x","text":"\\u0000"}', "text"),
        ('{"type":"message","id":"a\\u0000b","text":"t"}', "id"),
        ('{"type":"message","id":"x","text":"t","space":"a\\u202eb"}', "space"),
        ('{"type":"message","id":"x","text":"t","speaker":"\\u200b"}', "speaker"),
        ('{"type":"message","id":"x","text":"t","speaker":"' + "李" * 67 + '"}', "speaker"),
        ('{"type":"message","id":"' + "9" * 1025 + '","text":"t"}', "id"),
        ('{"type":"message","id":"x","text":"a\0b"}', "json"),
        ('{"type":"message","id":"x","text":"\\ud800"}', "text"),
        ('{"type":"message","id":"x","text":"\ud800"}', "encoding"),
        ('{"type":"message","id":"x","text":"t","text":"u"}', "key"),
        ('{"type":"message","id":"x","text":"t","time":"0001-01-01"}', "time"),
        ('{"type":"message","id":"x","text":"t","time":"9999-12-31T23:59:59Z"}', "time"),
        ('{"type":"message","id":"x","text":"t","time":"soon"}', "time"),
        ('{"type":"message","id":"x","text":"t","time":NaN}', "time"),
        ('{"type":"message","id":"x","text":"t","time":1683554160000}', "time"),
        ('{"type":"message","id":"x","text":"t","speaker":["A"]}', "speaker"),
        ('{"type":"message","id":"x","text":"t","space":""}', "space"),
        ('{"type":"message","id":"x","text":"t","conversation":{}}', "conversation"),
        ('{"type":"message","id":"x","text":"' + "w" * 1_000_000 + '"}', "text"),
        ('{"type":"message","id":"x","text":' + "[" * 100_000 + "}", "json"),
        ("x" * (MAX_LINE_BYTES + 1), "line"),
        ("x" * (3 * MAX_LINE_BYTES), "line"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_bad_line_is_refused_by_number_and_the_rest_goes_on(tmp_path: Path, line: str, field: str) -> None:
    read, refused = refusals(write(tmp_path, f"{GOOD}\n{line}\n\n{GOOD}\n"), "jsonl")
    assert read == ["fine", "fine"]
    assert [(item.line, item.error.field, item.error.line) for item in refused] == [(2, field, 2)]
    assert "line 2: " in str(refused[0].error)
    assert len(str(refused[0].error)) < 500


def test_a_latin1_line_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    read, refused = refusals(write(tmp_path, GOOD.encode() + b'\n{"type":"message","id":"b","text":"caf\xe9"}\n'))
    assert read == ["fine"]
    assert "0xe9" in str(refused[0].error)
    assert "iconv" in str(refused[0].error)


def test_a_broken_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    read, refused = refusals(write(tmp_path, f'{{"type":\n{GOOD}\n'))
    assert read == ["fine"]
    assert [item.line for item in refused] == [1]


def test_a_text_at_the_limit_is_read(tmp_path: Path) -> None:
    line = json.dumps({"type": "message", "id": "x", "text": "w" * MAX_TEXT_BYTES})
    assert refusals(write(tmp_path, line))[1] == []


def test_one_broken_conversation_among_chatgpt_conversations_is_refused_alone(tmp_path: Path) -> None:
    good = json.loads((SAMPLES / "conversations.json").read_text("utf-8"))[1]
    array = ",\n".join(
        [json.dumps(good), '{"mapping":{"a":}}', '{"mapping":[]}', "7", json.dumps(good | {"id": "later"})]
    )
    read, refused = refusals(write(tmp_path, f"[{array}]"))
    assert read == ["Long way", "Longer still"] * 2
    assert [item.line for item in refused] == [2, 3, 4]
    assert "byte" in str(refused[0].error)


def test_a_damaged_array_gives_what_came_before_and_then_its_place(tmp_path: Path) -> None:
    good = json.dumps(json.loads((SAMPLES / "conversations.json").read_text("utf-8"))[1])
    seen, error = until_broken(write(tmp_path, f'[{good},\n{good[:-1]},"tail":\n'))
    assert seen == ["Long way", "Longer still"]
    assert error.line == 3
    assert f"opens at byte {len(good) + 3} (line 2)" in str(error)


def test_a_telegram_export_cut_off_gives_what_came_before(tmp_path: Path) -> None:
    data = (SAMPLES / "telegram_chat.json").read_bytes()
    seen, error = until_broken(write(tmp_path, data[: data.index(b"I left Telegram")]))
    assert seen == ["We read the whale book next.", "See https://example.org for a cheap copy"]
    assert "end of file" in str(error)


def test_bad_telegram_messages_are_refused_one_by_one(tmp_path: Path) -> None:
    def message(number: object, **changes: object) -> dict[str, object]:
        return {"id": number, "type": "message", "date": "2024-01-01T10:00:00", "from": "A", "text": "hi"} | changes

    messages = [
        message(1),
        message(2, date="0001-01-01T00:00:00"),
        message(3, date_unixtime="99999999999999"),
        message(4, text="\ud800"),
        message(5, text="a\0b"),
        message(None),
        "no object",
        message(8, text=[1, None, {"text": None}, "still hi"]),
    ]
    read, refused = refusals(write(tmp_path, json.dumps({"id": 7, "messages": messages}, indent=0)))
    assert read == ["hi", "ab", "still hi"]
    assert [item.error.field for item in refused] == ["date", "date_unixtime", "text", "id", "message"]
    lines = [item.line or 0 for item in refused]
    assert lines == sorted(set(lines))


def test_chatgpt_trees_with_rings_and_lost_parents_end(tmp_path: Path) -> None:
    def node(parent: str | None, text: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text]}
        return {"parent": parent, "message": {"id": text, "author": {"role": "user"}, "content": content}}

    ring = {"id": "ring", "current_node": "a", "mapping": {"a": node("b", "one"), "b": node("a", "two")}}
    lost = {"id": "lost", "current_node": "a", "mapping": {"a": node("gone", "three")}}
    endless = {"id": "no-leaf", "mapping": {"a": node("b", "four"), "b": node("a", "five")}}
    read, refused = refusals(write(tmp_path, json.dumps([ring, lost, endless, {"id": "empty", "mapping": {}}])))
    assert read == ["two", "one", "three"]
    assert refused == []


@pytest.mark.parametrize("odd", [["all"], {"a": 1}, 7])
def test_a_chatgpt_message_with_odd_values_is_left_out_and_the_others_are_read(tmp_path: Path, odd: object) -> None:
    def node(parent: str | None, text: str, **changes: object) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": text, "author": {"role": "user"}, "content": content} | changes
        return {"parent": parent, "message": message}

    nodes = {
        "a": node(None, "one"),
        "b": node("a", "two", recipient=odd),
        "c": node("b", "three", author={"role": odd}),
        "d": node("c", "four", content={"content_type": odd, "parts": odd}),
        "e": node("d", "five"),
    }
    read, refused = refusals(write(tmp_path, json.dumps([{"id": "odd", "current_node": "e", "mapping": nodes}])))
    assert (read, refused) == (["one", "five"], [])


def test_a_locomo_session_without_a_readable_date_is_refused_and_the_others_read(tmp_path: Path) -> None:
    sample = json.loads((SAMPLES / "locomo.json").read_text("utf-8"))
    sample[0]["conversation"]["session_2_date_time"] = "31:99 xm on 8 Maybe, 2023"
    read, refused = refusals(write(tmp_path, json.dumps(sample)))
    assert len(read) == 3
    assert [item.error.field for item in refused] == ["session_2_date_time"]


def test_longmemeval_lists_of_different_lengths_are_refused(tmp_path: Path) -> None:
    samples = json.loads((SAMPLES / "longmemeval.json").read_text("utf-8"))
    samples[0]["haystack_dates"].pop()
    path = write(tmp_path, json.dumps(samples))
    read, refused = refusals(path)
    assert read
    assert "2 sessions, 2 ids, 1 dates" in str(refused[0].error)
    questions = list(read_longmemeval_questions(path))
    assert [isinstance(item, Rejected) for item in questions] == [True, False]


def test_bad_questions_are_refused_by_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    lines = [
        '{"type":"query","text":"?","evidence":"a"}',
        '{"type":"query","text":"","evidence":["a"]}',
        '{"type":"query","text":"?","evidence":["a"],"time":"9999-01-01"}',
        '{"type":"query","text":"?","evidence":["a",2,"a"]}',
        GOOD,
        "{",
    ]
    items = list(read_jsonl_questions(write(tmp_path, "\n".join(lines))))
    assert [item.line for item in items if isinstance(item, Rejected)] == [1, 2, 3, 6]
    assert [item.evidence for item in items if not isinstance(item, Rejected)] == [("a", "2")]
    locomo = write(tmp_path, json.dumps([{"sample_id": "s", "conversation": {}, "qa": {}}, {"qa": []}]))
    assert all(isinstance(item, Rejected) for item in read_locomo_questions(locomo))


def test_whatsapp_text_before_the_first_head_is_refused_line_by_line(tmp_path: Path) -> None:
    chat = [
        "stray",
        "08.05.23, 13:56 - Ann: hi",
        "08.05.23, 13:57 - Ann: \0",
        "31.02.23, 13:58 - Ann: never",
        "13.05.23, 10:00 - Bo: yes",
        "x" * 400,
    ]
    read, refused = refusals(write(tmp_path, "\n".join(chat)))
    assert read == ["hi", "yes\n" + "x" * 400]
    assert [(item.line, item.error.field) for item in refused] == [(1, "line"), (3, "text"), (4, "time")]


def test_a_latin1_whatsapp_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    chat = "08.05.23, 13:56 - Ann: hi\n08.05.23, 13:57 - Ann: Gruß\n".encode("latin-1")
    seen, error = until_broken(write(tmp_path, chat))
    assert seen == []
    assert error.line == 2
    assert "iconv" in str(error)


def test_an_endless_whatsapp_message_is_refused_and_the_next_one_read(tmp_path: Path) -> None:
    chat = "08.05.23, 13:56 - Ann: hi\n" + ("y" * 999 + "\n") * 1000 + "13.05.23, 10:00 - Bo: yes\n"
    read, refused = refusals(write(tmp_path, chat))
    assert read == ["yes"]
    assert [(item.line, item.error.field) for item in refused] == [(1, "text")]


def test_a_file_without_any_whatsapp_head_is_refused_when_read_as_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no line begins like a WhatsApp message"):
        list(read_messages(write(tmp_path, "Dear diary\n"), "whatsapp"))


def test_an_endless_whatsapp_line_is_refused_and_the_next_message_read(tmp_path: Path) -> None:
    chat = "08.05.23, 13:56 - Ann: hi\n" + "z" * (MAX_LINE_BYTES + 1) + "\n13.05.23, 10:00 - Bo: yes\n"
    read, refused = refusals(write(tmp_path, chat))
    assert read == ["hi", "yes"]
    assert [(item.line, item.error.field) for item in refused] == [(2, "line")]


def test_whatsapp_dates_against_the_order_of_the_file_are_refused_and_noted(tmp_path: Path) -> None:
    dates = ("13/05/23", "14/05/23", "05/15/23")
    reader = read_messages(write(tmp_path, "".join(f"{date}, 10:00 - Ann: hi\n" for date in dates)))
    assert [type(item) for item in reader] == [Message, Message, Rejected]
    assert reader.notes == ["Dates that can't be read with the day first, as the others are: 1."]


def test_spoken_chatgpt_messages_are_read_and_bad_times_refused(tmp_path: Path) -> None:
    def message(name: str, parent: str | None, time: object) -> dict[str, object]:
        part = {"content_type": "audio_transcription", "text": f"spoken {name}"}
        content = {"content_type": "multimodal_text", "parts": [part, None, 7]}
        return {
            "parent": parent,
            "message": {"id": name, "author": {"role": "user"}, "create_time": time, "content": content},
        }

    nodes = {"a": message("a", None, 1.7e9), "b": message("b", "a", "noon"), "c": message("c", "b", 1e15)}
    talk = {"id": "talk", "current_node": "c", "mapping": nodes}
    read, refused = refusals(write(tmp_path, json.dumps([talk])))
    assert read == ["spoken a"]
    assert [item.error.field for item in refused] == ["create_time", "create_time"]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"sample_id": None}, ["sample_id"]),
        ({"conversation": {"session_1": {}}}, ["session_1"]),
        (
            {"conversation": {"session_1": [], "session_1_date_time": "1:00 pm on 31 June, 2023"}},
            ["session_1_date_time"],
        ),
        ({"conversation": {"session_1": [7, {}], "session_1_date_time": "1:00 pm on 3 June, 2023"}}, ["turn"]),
    ],
)
def test_broken_locomo_parts_are_refused_by_field(tmp_path: Path, changes: object, fields: list[str]) -> None:
    sample = json.loads((SAMPLES / "locomo.json").read_text("utf-8"))[0]
    read, refused = refusals(write(tmp_path, json.dumps([sample | changes, 7, sample])), "locomo")
    assert len(read) == 5
    assert [item.error.field for item in refused] == [*fields, "json"]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"question_id": ""}, ["question_id"]),
        ({"haystack_dates": ["2023/02/30 (Thu) 10:00", "yesterday"]}, ["haystack_dates", "haystack_dates"]),
        ({"haystack_sessions": [[{"role": "narrator", "content": "x"}], [None]]}, ["role", "turn"]),
    ],
)
def test_broken_longmemeval_parts_are_refused_by_field(tmp_path: Path, changes: object, fields: list[str]) -> None:
    question = json.loads((SAMPLES / "longmemeval.json").read_text("utf-8"))[0]
    lines = "\n".join([json.dumps(question | changes), "{", json.dumps(question)])
    read, refused = refusals(write(tmp_path, lines), "longmemeval")
    assert len(read) == 4
    assert [item.error.field for item in refused] == [*fields, "json"]


def test_a_reader_can_be_closed_before_the_end(tmp_path: Path) -> None:
    reader = read_messages(write(tmp_path, f"{GOOD}\n" * 3))
    next(reader)
    reader.close()
    reader.close()
    assert reader.progress.total_bytes == 3 * (len(GOOD) + 1)
