"""The questions of files of conversations, with the ids of the messages that answer them.

The messages themselves come from `read_messages`; evidence ids are their `external_id`s, evidence sessions their
`conversation_id`s, both within the question's space.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from perdure.connect import locomo, longmemeval
from perdure.connect.json_stream import Record, records
from perdure.connect.jsonl import typed_lines
from perdure.connect.questions import Question, QuestionSet
from perdure.connect.reading import ReadOptions, Rejected, Source
from perdure.connect.values import checked_id, checked_space, checked_time, optional_name, optional_space, sequence
from perdure.errors import InvalidInput
from perdure.text import require_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from datetime import tzinfo
    from pathlib import Path

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""Names of the authors' category numbers; 5, adversarial, has no evidence to find and is left out."""

_ADVERSARIAL = 5
_DIALOGUE_ID = re.compile(r"D:?0*(\d+):0*(\d+)")
_SEPARATORS = re.compile(r"[;,\s]+")
_NO_ANSWER = "_abs"


def read_locomo_questions(path: Path) -> QuestionSet:
    """LoCoMo's questions of categories 1 to 4 that have evidence among the turns. Raises as `read_messages`."""
    left_out: Counter[str] = Counter()
    return QuestionSet(_from_records(path, lambda record: _locomo(record, left_out)), left_out)


def read_longmemeval_questions(path: Path, *, options: ReadOptions | None = None) -> QuestionSet:
    """LongMemEval's questions that have an answer in their haystack.

    Evidence are the user turns marked `has_answer`, as its authors index them; it is empty for questions that only
    the assistant's turns answer. Raises as `read_messages`.
    """
    left_out: Counter[str] = Counter()
    zone = (options or ReadOptions()).zone
    return QuestionSet(_from_records(path, lambda record: _longmemeval(record, zone, left_out)), left_out)


def read_jsonl_questions(path: Path, *, options: ReadOptions | None = None) -> QuestionSet:
    """The lines of type query of a JSONL file. Raises as `read_messages`."""
    left_out: Counter[str] = Counter()
    return QuestionSet(_jsonl(path, (options or ReadOptions()).zone, left_out), left_out)


def _from_records(
    path: Path, questions: Callable[[Record], Iterator[Question | Rejected]]
) -> Iterator[Question | Rejected]:
    with Source(path).open() as stream:
        for record in records(stream):
            if isinstance(record, Rejected):
                yield record
                continue
            try:
                yield from questions(record)
            except InvalidInput as error:
                yield Rejected.at(record.line, error)


def _locomo(record: Record, left_out: Counter[str]) -> Iterator[Question | Rejected]:
    space = checked_space("sample_id", record.value.get("sample_id"))
    session_of = {
        str(turn["dia_id"]): session.name
        for session in locomo.sessions_of(record.value)
        for turn in session.turns
        if isinstance(turn, dict) and "dia_id" in turn
    }
    for item in sequence("qa", record.value.get("qa")):
        if not isinstance(item, dict):
            yield Rejected.at(record.line, InvalidInput("qa", item, "it must be a JSON object"))
            continue
        category = LOCOMO_CATEGORIES.get(item.get("category", 0))
        evidence = dialogue_ids(item.get("evidence"), session_of.keys())
        if category is None:
            left_out["adversarial" if item.get("category") == _ADVERSARIAL else "unknown category"] += 1
        elif not evidence:
            left_out["no usable evidence"] += 1
        else:
            sessions = tuple(dict.fromkeys(session_of[turn] for turn in evidence))
            try:
                text = require_text(item.get("question"), "question")
            except InvalidInput as error:
                yield Rejected.at(record.line, error)
                continue
            yield Question(space, text, None, category, evidence, sessions, record.line)


def dialogue_ids(evidence: object, known: Container[str]) -> tuple[str, ...]:
    """The turns that LoCoMo's evidence means, each once, in the given order.

    One string may hold several ids ("D8:6; D9:17"), and some are misspelt: "D:11:26" and "D30:05" can only mean
    D11:26 and D30:5. What names no turn of the conversation is dropped.
    """
    found: dict[str, None] = {}
    for entry in evidence if isinstance(evidence, list) else [evidence]:
        for word in _SEPARATORS.split(entry) if isinstance(entry, str) else ():
            spelt = _DIALOGUE_ID.fullmatch(word)
            turn = f"D{spelt[1]}:{spelt[2]}" if spelt else word
            if turn in known:
                found[turn] = None
    return tuple(found)


def _longmemeval(record: Record, zone: tzinfo, left_out: Counter[str]) -> Iterator[Question | Rejected]:
    fields = record.value
    space = checked_space("question_id", fields.get("question_id"))
    if space.endswith(_NO_ANSWER):
        left_out["no answer in the haystack"] += 1
        return
    answering = sequence("answer_session_ids", fields.get("answer_session_ids"))
    sessions = longmemeval.sessions_of(fields)
    evidence = tuple(
        longmemeval.turn_id(session, position)
        for session in sessions
        for position, turn in enumerate(session.turns)
        if isinstance(turn, dict) and turn.get("has_answer") is True and turn.get("role") == "user"
    )
    asked = fields.get("question_date")
    yield Question(
        space,
        require_text(fields.get("question"), "question"),
        None if asked is None else longmemeval.parse_date("question_date", asked, zone),
        optional_name("question_type", fields.get("question_type")),
        evidence,
        tuple(session.conversation_id for session in sessions if session.given_id in answering),
        record.line,
    )


def _jsonl(path: Path, zone: tzinfo, left_out: Counter[str]) -> Iterator[Question | Rejected]:
    for item in typed_lines(Source(path)):
        if isinstance(item, Rejected):
            yield item
            continue
        line, entry = item
        if entry["type"] != "query":
            continue
        try:
            question = _query(entry, zone, line)
        except InvalidInput as error:
            yield Rejected.at(line, error)
            continue
        if question.evidence:
            yield question
        else:
            left_out["no usable evidence"] += 1


def _query(entry: dict[str, object], zone: tzinfo, line: int) -> Question:
    time = entry.get("time")
    evidence = sequence("evidence", entry.get("evidence", []))
    return Question(
        optional_space("space", entry.get("space")),
        require_text(entry.get("text"), "text"),
        None if time is None else checked_time("time", time, zone),
        optional_name("category", entry.get("category")),
        tuple(dict.fromkeys(checked_id("evidence", given) for given in evidence)),
        line=line,
    )
