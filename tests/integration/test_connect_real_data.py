"""The evaluation sets and real exports beside the checkout are read completely."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.connect import Question, Rejected, read_locomo_questions, read_longmemeval_questions, read_messages
from perdure.errors import InvalidInput
from perdure.types import Message

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LOCOMO = DATA / "locomo" / "locomo_dev.json"
LONGMEMEVAL = DATA / "longmemeval" / "longmemeval_s_dev.jsonl.gz"
WHATSAPP = DATA / "messy" / "chat_miner" / "test" / "whatsapp"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the evaluation data is not at {DATA}"),
]


def messages_of(path: Path) -> list[Message]:
    messages = []
    for item in read_messages(path):
        assert isinstance(item, Message), item
        messages.append(item)
    return messages


def test_every_locomo_turn_and_question_is_read() -> None:
    messages = messages_of(LOCOMO)
    by_space = Counter(message.space for message in messages)
    assert by_space == {"conv-26": 419, "conv-30": 369, "conv-41": 663, "conv-42": 629, "conv-43": 680}
    assert messages[0].occurred_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    known = {(message.space, message.external_id): message.conversation_id for message in messages}
    assert len(known) == len(messages)
    questions = read_locomo_questions(LOCOMO)
    found = [item for item in questions if isinstance(item, Question)]
    assert Counter(item.category for item in found) == {
        "single-hop": 418,
        "temporal": 156,
        "multi-hop": 142,
        "open-domain": 44,
    }
    assert questions.left_out == {"adversarial": 237, "no usable evidence": 2}
    for question in found:
        sessions = {known[question.space, turn] for turn in question.evidence}
        assert sessions == set(question.evidence_sessions)


def test_every_longmemeval_turn_and_question_is_read_without_its_marks() -> None:
    questions = read_longmemeval_questions(LONGMEMEVAL)
    found = [item for item in questions if isinstance(item, Question)]
    assert len(found) == 94
    assert sum(not question.evidence for question in found) == 10
    assert questions.left_out == {"no answer in the haystack": 6}
    turns: dict[tuple[str | None, str], Message] = {}
    for item in read_messages(LONGMEMEVAL):
        assert isinstance(item, Message)
        assert "answer" not in f"{item.external_id}{item.conversation_id}"
        turns[item.space, item.external_id] = item
    assert len(turns) == 49_154
    for question in found:
        assert question.evidence_sessions
        for turn in question.evidence:
            message = turns[question.space, turn]
            assert message.speaker == "user"
            assert message.conversation_id in question.evidence_sessions


@pytest.mark.parametrize("name", ["test_ddmmyy_24hrs.txt", "test_mmddyyyy_12hrs.txt"])
def test_real_whatsapp_exports_are_read_as_their_owners_expect(name: str) -> None:
    expected = json.loads((WHATSAPP / "target.json").read_text("utf-8"))
    read = [
        {
            "timestamp": message.occurred_at.replace(tzinfo=None).isoformat() if message.occurred_at else None,
            "author": message.speaker,
            "message": message.text.replace("\n", " "),
        }
        for message in messages_of(WHATSAPP / name)
    ]
    assert read == expected[::-1]


def test_every_messy_file_is_read_or_refused_with_a_reason() -> None:
    files = [path for path in sorted((DATA / "messy").rglob("*")) if path.is_file()]
    reasons = []
    for path in files:
        try:
            reasons += [item.error for item in read_messages(path) if isinstance(item, Rejected)]
        except InvalidInput as error:
            reasons.append(error)
    assert len(files) > 50
    assert len(reasons) >= len(files) - 2
    assert all(reason.limit for reason in reasons)
