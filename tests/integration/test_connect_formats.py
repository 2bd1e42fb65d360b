"""Each format's sample file, read as a person would expect."""

from __future__ import annotations

import gzip
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from perdure.connect import (
    FORMATS,
    ITEM_FORMATS,
    MessageReader,
    Question,
    ReadOptions,
    Rejected,
    detect_format,
    read_jsonl_questions,
    read_locomo_questions,
    read_longmemeval_questions,
    read_messages,
)
from perdure.types import Message

SAMPLES = Path(__file__).parent.parent / "data" / "exports"
FORMAT_OF = {
    "messages.jsonl": "jsonl",
    "locomo.json": "locomo",
    "longmemeval.json": "longmemeval",
    "conversations.json": "chatgpt",
    "telegram_chat.json": "telegram",
    "telegram_account.json": "telegram",
    "whatsapp_android_de.txt": "whatsapp",
    "whatsapp_android_us.txt": "whatsapp",
    "whatsapp_android_zh.txt": "whatsapp",
    "whatsapp_ios_en.txt": "whatsapp",
    "mem0.json": "mem0",
    "letta.af": "letta",
    "langgraph_store.jsonl": "langgraph",
}
BY_NAME = {"markdown"}
"""Formats that are told by their name; tests of their own are in test_connect_other_systems.py."""
BERLIN = ReadOptions(zone=ZoneInfo("Europe/Berlin"))


def read(name: str, options: ReadOptions | None = None) -> tuple[list[Message], MessageReader]:
    reader = read_messages(SAMPLES / name, options=options)
    messages = []
    for item in reader:
        assert isinstance(item, Message), item
        messages.append(item)
    return messages, reader


def texts(name: str, options: ReadOptions | None = None) -> list[str]:
    return [message.text for message in read(name, options)[0]]


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def test_every_format_has_a_sample() -> None:
    assert set(FORMAT_OF.values()) == set(FORMATS) - BY_NAME
    assert {path.name for path in SAMPLES.iterdir()} == set(FORMAT_OF)


@pytest.mark.parametrize("name", FORMAT_OF)
def test_the_content_tells_the_format_whatever_the_name(name: str, tmp_path: Path) -> None:
    anonymous = tmp_path / "download"
    shutil.copyfile(SAMPLES / name, anonymous)
    assert detect_format(anonymous) == FORMAT_OF[name]


@pytest.mark.parametrize("name", FORMAT_OF)
def test_compressed_with_a_byte_order_mark_and_windows_line_ends_it_reads_the_same(name: str, tmp_path: Path) -> None:
    data = (SAMPLES / name).read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + data))
    reader = read_messages(packed)
    assert list(reader) == read(name)[0]
    assert reader.progress.bytes_read == reader.progress.total_bytes == packed.stat().st_size


@pytest.mark.parametrize("name", FORMAT_OF)
def test_ids_are_the_same_on_every_reading_and_different_from_each_other(name: str) -> None:
    first, second = (read(name, options)[0] for options in (None, BERLIN))
    ids = [(message.space, message.external_id) for message in first]
    assert ids == [(message.space, message.external_id) for message in second]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", FORMAT_OF)
def test_times_are_in_utc_and_lines_are_named(name: str) -> None:
    for message in read(name)[0]:
        assert message.occurred_at is None or message.occurred_at.tzinfo is UTC
        assert message.line
        assert message.line >= 1


def test_jsonl_messages_are_read_and_queries_counted() -> None:
    messages, reader = read("messages.jsonl", BERLIN)
    assert [message.external_id for message in messages] == ["m1", "2", "m3", "m4"]
    assert messages[0] == Message(
        external_id="m1",
        text="I start at the bakery on Monday.",
        speaker="Nadia",
        occurred_at=at(2024, 3, 2, 8, 15),
        conversation_id="kitchen",
        space="nadia",
        line=1,
    )
    assert [message.occurred_at for message in messages[1:]] == [at(2024, 3, 2, 8, 16), at(2024, 3, 2, 8, 17), None]
    assert reader.skipped == {"query": 2}


def test_jsonl_queries_are_read_for_evaluation_and_those_without_evidence_counted() -> None:
    questions = read_jsonl_questions(SAMPLES / "messages.jsonl")
    assert list(questions) == [
        Question("nadia", "Where does Nadia work?", at(2024, 6, 1), "fact", ("m1",), line=3),
    ]
    assert questions.left_out == {"no usable evidence": 1}


def test_locomo_turns_carry_session_time_order_and_picture() -> None:
    messages, reader = read("locomo.json")
    assert [message.external_id for message in messages] == ["D1:1", "D1:2", "D2:1", "D2:3", "D10:1"]
    assert {message.space for message in messages} == {"talk-1"}
    assert messages[0].occurred_at == at(2023, 5, 8, 13, 56)
    assert messages[1].occurred_at == at(2023, 5, 8, 13, 56, 1)
    assert messages[1].text == "Look what I bought instead! [shares a picture: a blue canoe on a trailer]"
    assert messages[2].text == "[shares a picture: a leaking roof]"
    assert messages[4].occurred_at == at(2024, 1, 1, 0, 5)
    assert messages[4].conversation_id == "session_10"
    assert reader.skipped == {"turn without words": 1}


def test_locomo_questions_have_named_categories_and_usable_evidence() -> None:
    questions = read_locomo_questions(SAMPLES / "locomo.json")
    found = [item for item in questions if isinstance(item, Question)]
    assert [(item.category, item.evidence, item.evidence_sessions) for item in found] == [
        ("single-hop", ("D1:1",), ("session_1",)),
        ("multi-hop", ("D1:1", "D2:1", "D2:3"), ("session_1", "session_2")),
        ("temporal", ("D10:1",), ("session_10",)),
    ]
    assert questions.left_out == {"adversarial": 1, "no usable evidence": 1}


def test_longmemeval_messages_show_nothing_of_the_evidence_marks() -> None:
    messages, reader = read("longmemeval.json")
    assert [message.external_id for message in messages if message.space == "q1"] == [
        "s0001t001",
        "s0001t002",
        "s0002t001",
        "s0002t002",
    ]
    assert messages[0].occurred_at == at(2023, 5, 21, 8, 0)
    assert messages[3].occurred_at == at(2023, 5, 20, 2, 21, 1)
    assert {message.speaker for message in messages} == {"user", "assistant"}
    shown = "".join(f"{message.external_id} {message.conversation_id}" for message in messages)
    assert "answer" not in shown
    assert "77aa" not in shown
    assert reader.skipped == {"turn without words": 2}


def test_longmemeval_questions_find_their_turns_and_sessions_by_the_opaque_ids() -> None:
    questions = read_longmemeval_questions(SAMPLES / "longmemeval.json")
    first, second = (item for item in questions if isinstance(item, Question))
    assert (first.space, first.evidence, first.evidence_sessions) == ("q1", ("s0002t001",), ("s0002",))
    assert first.time == at(2023, 5, 30, 23, 40)
    assert first.category == "single-session-user"
    assert (second.space, second.evidence, second.evidence_sessions) == ("q3", (), ("s0002",))
    assert questions.left_out == {"no answer in the haystack": 1}


def test_chatgpt_gives_what_was_said_on_the_branch_that_counts() -> None:
    messages, reader = read("conversations.json")
    lentils = [message for message in messages if message.conversation_id == "conv-lentils"]
    assert [(message.speaker, message.text) for message in lentils] == [
        ("user", "How long do lentils take?"),
        ("assistant", "Twenty-five minutes."),
        ("user", "Is this pot large enough?"),
        ("assistant", "Yes, for four people."),
    ]
    assert [message.external_id for message in lentils] == ["msg-u1", "msg-a2", "msg-u2", "msg-a3"]
    assert lentils[3].occurred_at == at(2023, 11, 14, 22, 14, 21)
    assert reader.skipped == {
        "system or tool message": 3,
        "hidden message": 1,
        "message without text": 1,
        "message on another branch": 2,
    }


def test_chatgpt_without_a_current_node_follows_the_longest_path() -> None:
    messages = [message for message in read("conversations.json")[0] if message.conversation_id == "conv-open"]
    assert [message.text for message in messages] == ["Long way", "Longer still"]


def test_a_telegram_chat_is_read_with_entities_forwards_and_both_kinds_of_time() -> None:
    messages, reader = read("telegram_chat.json", BERLIN)
    assert [(message.external_id, message.speaker, message.text) for message in messages] == [
        ("4711/2", "Rosa", "We read the whale book next."),
        ("4711/3", "Emil", "See https://example.org for a cheap copy"),
        ("4711/4", "user3", "I left Telegram."),
        ("4711/5", "Emil", "[forwarded from Library] Closed on Monday"),
    ]
    assert messages[0].occurred_at == at(2024, 2, 1, 17, 1)
    assert messages[1].occurred_at == at(2024, 2, 1, 17, 2)
    assert reader.skipped == {"service message": 1, "message without text": 1}


def test_a_telegram_account_holds_the_same_ids_as_its_chats_exported_alone() -> None:
    messages = read("telegram_account.json")[0]
    assert messages[:4] != []
    assert [m.external_id for m in messages[:4]] == [m.external_id for m in read("telegram_chat.json")[0]]
    assert [(m.external_id, m.conversation_id) for m in messages[4:]] == [("12/2", "12"), ("13/1", "13")]


def test_whatsapp_from_android_joins_lines_and_leaves_out_what_nobody_wrote() -> None:
    messages, reader = read("whatsapp_android_de.txt", BERLIN)
    assert [(message.speaker, message.text) for message in messages] == [
        ("Jule", "Kommst du mit ins Freibad?\nIch packe\nalles ein."),
        ("Jule", "ok"),
        ("Jule", "ok"),
        ("Kemal", "Mein neues Rad"),
        ("Kemal", "Ja: um drei"),
        ("+49 151 0000000", "Bin dabei"),
    ]
    assert messages[0].occurred_at == at(2023, 4, 3, 7, 5)
    assert messages[0].line == 2
    assert messages[0].conversation_id == "whatsapp_android_de"
    assert reader.skipped == {"system line": 2, "media or deleted message": 1}
    assert reader.notes == []


def test_equal_whatsapp_messages_of_one_minute_stay_two() -> None:
    _, first, second, *_ = read("whatsapp_android_de.txt")[0]
    assert first.text == second.text
    assert second.external_id == f"{first.external_id}-2"


def test_whatsapp_from_ios_is_read_without_its_marks() -> None:
    messages, reader = read("whatsapp_ios_en.txt")
    assert [(message.speaker, message.text) for message in messages] == [
        ("Mei", "The hut is booked"),
        ("Oskar", "Which bus?\n\nThe early one?"),
        ("Mei", "Yes"),
    ]
    assert messages[0].occurred_at == at(2023, 4, 3, 21, 6)
    assert reader.skipped == {"media or deleted message": 2}


def test_whatsapp_in_american_spelling_takes_the_month_first_and_says_so() -> None:
    messages, reader = read("whatsapp_android_us.txt")
    assert [message.occurred_at for message in messages] == [at(2023, 5, 8, 13, 56), at(2023, 5, 8, 0, 3)]
    assert len(reader.notes) == 1
    swapped, quiet = read("whatsapp_android_us.txt", ReadOptions(day_first=True))
    assert swapped[0].occurred_at == at(2023, 8, 5, 13, 56)
    assert quiet.notes == []


def test_whatsapp_in_chinese_is_read_by_its_half_days() -> None:
    messages = read("whatsapp_android_zh.txt")[0]
    assert [message.occurred_at for message in messages] == [at(2023, 5, 8, 13, 56), at(2023, 5, 8, 0, 10)]


def test_a_repeated_whatsapp_download_has_the_same_ids_and_another_chat_has_others(tmp_path: Path) -> None:
    names = ("Chat with Jule.txt", "Chat with Jule (1).txt", "Chat with Kemal.txt")
    ids = []
    for name in names:
        shutil.copyfile(SAMPLES / "whatsapp_android_de.txt", tmp_path / name)
        ids.append([item.external_id for item in read_messages(tmp_path / name) if isinstance(item, Message)])
    assert ids[0] == ids[1]
    assert not set(ids[0]) & set(ids[2])


def test_a_longer_whatsapp_export_keeps_the_ids_of_the_shorter_one(tmp_path: Path) -> None:
    path = tmp_path / "Chat with Jule.txt"
    shutil.copyfile(SAMPLES / "whatsapp_android_de.txt", path)
    before = list(read_messages(path))
    with path.open("a", encoding="utf-8") as file:
        file.write("26.04.23, 08:00 - Jule: Guten Morgen\n")
    after = list(read_messages(path))
    assert after[:-1] == before
    assert not isinstance(after[-1], Rejected)


def test_the_folder_names_the_conversation_of_an_ios_chat(tmp_path: Path) -> None:
    folder = tmp_path / "WhatsApp Chat - Hiking"
    folder.mkdir()
    shutil.copyfile(SAMPLES / "whatsapp_ios_en.txt", folder / "_chat.txt")
    first = next(read_messages(folder / "_chat.txt"))
    assert isinstance(first, Message)
    assert first.conversation_id == "WhatsApp Chat - Hiking"


def documented(section: str, language: str) -> str:
    """The first code block of a section of docs/import.md."""
    page = (Path(__file__).parents[2] / "docs" / "import.md").read_text("utf-8")
    return page.split(f"\n## {section}\n")[1].split(f"```{language}\n")[1].split("```")[0]


def test_the_documented_jsonl_is_read(tmp_path: Path) -> None:
    path = tmp_path / "documented"
    path.write_text(documented("jsonl", "json"), "utf-8")
    assert [type(item) for item in read_messages(path)] == [Message, Message]
    assert [item.space for item in read_jsonl_questions(path) if isinstance(item, Question)] == ["nadia"]


def test_the_documented_telegram_export_is_read(tmp_path: Path) -> None:
    path = tmp_path / "documented"
    path.write_text(documented("telegram", "json"), "utf-8")
    assert [item.external_id for item in read_messages(path) if isinstance(item, Message)] == ["4711/2"]


def test_each_documented_whatsapp_spelling_is_read(tmp_path: Path) -> None:
    lines = documented("whatsapp", "").splitlines()
    assert len(lines) == 3
    for line in lines:
        path = tmp_path / "documented"
        path.write_text(line, "utf-8")
        (message,) = read_messages(path)
        assert isinstance(message, Message)
        assert message.occurred_at
        assert (message.occurred_at.hour, message.occurred_at.minute) == (13, 56)


def test_every_format_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "import.md").read_text("utf-8")
    sections = [line[3:] for line in page.splitlines() if line.startswith("## ")][1:]
    order = ["jsonl", "chatgpt", "telegram", "whatsapp", "mem0", "letta", "langgraph", "markdown"]
    assert sections[: len(FORMATS)] == sorted(FORMATS, key=[*order, "locomo", "longmemeval"].index)
    rows = dict(re.findall(r"^\| \[(\w+)\]\(#(\w+)\)", page, re.MULTILINE))
    assert set(rows) == {*FORMATS, *ITEM_FORMATS}
    assert {rows[name] for name in ITEM_FORMATS} == {section.lower() for section in sections[len(FORMATS) :]}
