"""MADial-Bench (He et al., 2025): memories of two children, and dialogues that should bring them to mind.

Two files of JSON lines beside each other: `…-memory.json` with one memory per line, `…-dialogue.json` with the
dialogues. The files with "setting" in their names hold the same dialogues with a choice of memories, for another task.
"""

from __future__ import annotations

import re
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Final

from perdure.connect.json_stream import Record, records
from perdure.connect.questions import Question, QuestionSet
from perdure.connect.reading import Rejected, Source, attempt
from perdure.connect.values import checked_id, checked_space, checked_time, mapping, sequence
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER_TURNS: Final = 3
"""Turns of the user that make the query: the last ones before the assistant should remember."""

ONE, SEVERAL = "one memory", "several memories"

_TURN: Final = re.compile(r'<(?P<speaker>[^<>]+)>\s*:\s*"?(?P<words>.*?)"?', re.DOTALL)
_ASSISTANT: Final = "Assistant"


def memories_beside(dialogues: Path) -> Path:
    """The file of memories that belongs to a file of dialogues."""
    return dialogues.with_name(dialogues.name.replace("dialogue", "memory"))


def read_madial_memories(dialogues: Path) -> Iterator[Message | Rejected]:
    """Every memory, in its child's space. Raises InvalidInput where there is no such file."""
    for record in _records(memories_beside(dialogues)):
        if isinstance(record, Rejected):
            yield record
            continue
        for given in record.value.values():
            yield attempt(record.line, partial(_memory, given, record.line))


def read_madial_questions(dialogues: Path) -> QuestionSet:
    """One question per dialogue. Raises InvalidInput where there is no such file."""
    return QuestionSet(_questions(dialogues))


def _records(path: Path) -> Iterator[Record | Rejected]:
    with Source(path).open() as stream:
        yield from records(stream)


def _memory(given: object, line: int) -> Message:
    fields = mapping("memory", given)
    return Message(
        external_id=checked_id("id", fields.get("id")),
        text=require_text(fields.get("event"), "event"),
        occurred_at=checked_time("time", fields.get("time"), UTC),
        space=_space(fields),
        line=line,
    )


def _questions(dialogues: Path) -> Iterator[Question | Rejected]:
    for record in _records(dialogues):
        if isinstance(record, Rejected):
            yield record
            continue
        try:
            yield _question(record)
        except InvalidInput as error:
            yield Rejected.at(record.line, error)


def _question(record: Record) -> Question:
    relevant = sequence("relevant-id", record.value.get("relevant-id"))
    evidence = tuple(dict.fromkeys(checked_id("relevant-id", given) for given in relevant))
    return Question(
        _space(record.value),
        require_text("\n".join(_asked(record.value)), "dialogue"),
        None,
        ONE if len(evidence) == 1 else SEVERAL,
        evidence,
        line=record.line,
    )


def _space(fields: dict[str, object]) -> str:
    return f"user-{checked_space('user-id', fields.get('user-id'))}"


def _asked(dialogue: dict[str, object]) -> list[str]:
    """What the user said last, before the first turn in which the assistant should remember."""
    turns = sequence("dialogue", dialogue.get("dialogue"))
    tested = [turn for turn in sequence("test-turn", dialogue.get("test-turn")) if isinstance(turn, int)]
    if not tested:
        raise InvalidInput("test-turn", dialogue.get("test-turn"), "it must name the turns that are tested")
    found = [_TURN.fullmatch(turn.strip()) for turn in turns[: min(tested)] if isinstance(turn, str)]
    said = [match["words"] for match in found if match and match["speaker"] != _ASSISTANT]
    return said[-USER_TURNS:]
