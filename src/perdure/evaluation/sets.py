"""What is measured: the conversations of a set, and its questions with the messages that answer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from perdure.connect import Question, Rejected
from perdure.errors import InvalidInput
from perdure.evaluation.formats import FORMATS, Format
from perdure.types import Message

Part = Literal["even", "odd"]

UNNAMED: Final = "default"
"""The conversation of lines that name no space."""

_FIRST_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
_TICK: Final = timedelta(seconds=1)


@dataclass(slots=True)
class Skipped:
    """What was left out: counted by reason where it is meant, and told line by line where something is wrong."""

    questions: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    refused: list[InvalidInput] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Conversations by name, ready to import, and questions whose evidence is among their messages."""

    name: str
    conversations: dict[str, tuple[Message, ...]]
    questions: tuple[Question, ...]
    skipped: Skipped

    @property
    def messages(self) -> int:
        return sum(len(messages) for messages in self.conversations.values())

    def by_conversation(self) -> dict[str, list[Question]]:
        """The questions of each conversation, in order."""
        found: dict[str, list[Question]] = {name: [] for name in self.conversations}
        for question in self.questions:
            found[str(question.space)].append(question)
        return found


@dataclass(frozen=True, slots=True)
class Choice:
    """Which part of a set is measured.

    Attributes:
        sample: so many questions at most, spread over categories and conversations; None for all.
        part: every other conversation, counted from 0 in the order of the file; None for all. Of MADial every other
            dialogue, of XQuAD the questions about every other paragraph.
        conversation: only this one.
    """

    sample: int | None = None
    part: Part | None = None
    conversation: str | None = None


def read_set(path: Path, kind: Format, choice: Choice = Choice()) -> EvaluationSet:
    """Reads the chosen part of a set into memory.

    What can't be read is refused by line in `skipped`, the rest goes on. LongMemEval's conversations hold the user's
    turns only, as its authors index them.

    Raises InvalidInput for a file that can't be read, and for one without a question that could be measured.
    """
    skipped, known = Skipped(), FORMATS[kind]
    reader = known.questions(path)
    questions = [replace(found, space=found.space or UNNAMED) for found in _readable(reader, skipped)]
    if not known.with_sessions:
        questions = [replace(question, evidence_sessions=()) for question in questions]
    skipped.questions.update(reader.left_out)
    questions = choose(questions, choice, known.half)
    conversations = _conversations(path, kind, {str(question.space) for question in questions}, skipped)
    questions = list(_with_known_evidence(questions, conversations, skipped))
    if not questions:
        left_out = ", ".join(f"{count} × {reason}" for reason, count in skipped.questions.items())
        told = f" ({left_out})" if left_out else ""
        raise InvalidInput("file", path.name, f"it holds no question that could be measured{told}")
    asked = {str(question.space) for question in questions}
    kept = {name: messages for name, messages in conversations.items() if name in asked}
    return EvaluationSet(path.name.split(".")[0] if kind == "jsonl" else kind, kept, tuple(questions), skipped)


def choose(
    questions: Sequence[Question], choice: Choice, half: Callable[[Question], object] = lambda question: question.space
) -> list[Question]:
    """The chosen questions, in the order of the file; the same ones every time. What is one `half` stays together."""
    if choice.part is not None:
        places = {name: place for place, name in enumerate(dict.fromkeys(map(half, questions)))}
        wanted = 0 if choice.part == "even" else 1
        questions = [question for question in questions if places[half(question)] % 2 == wanted]
    if choice.conversation is not None:
        if all(question.space != choice.conversation for question in questions):
            limit = "no question of the chosen part is about a conversation of this name"
            raise InvalidInput("space", choice.conversation, limit)
        questions = [question for question in questions if question.space == choice.conversation]
    if choice.sample is None or choice.sample >= len(questions):
        return list(questions)
    # Steps of equal length through the questions sorted by category and conversation: each gets its share.
    order = sorted(range(len(questions)), key=lambda i: (questions[i].category or "", questions[i].space or "", i))
    step = len(order) / choice.sample
    return [questions[i] for i in sorted(order[int((place + 0.5) * step)] for place in range(choice.sample))]


def _readable(items: Iterable[Question | Rejected], skipped: Skipped) -> Iterator[Question]:
    for item in items:
        if isinstance(item, Rejected):
            skipped.refused.append(item.error)
        else:
            yield item


def _conversations(path: Path, kind: Format, wanted: set[str], skipped: Skipped) -> dict[str, tuple[Message, ...]]:
    known = FORMATS[kind]
    found: dict[str, dict[str, Message]] = {}
    # A file's broken lines were refused when its questions were read, by the same rules for both kinds of lines.
    told = {(error.line, error.field) for error in skipped.refused}
    for item in known.messages(path, skipped.messages):
        if isinstance(item, Rejected):
            if (item.error.line, item.error.field) not in told:
                skipped.refused.append(item.error)
            continue
        space = item.space or UNNAMED
        if space not in wanted:
            continue
        if known.user_only and item.speaker != "user":
            skipped.messages["not said by the user"] += 1
            continue
        messages = found.setdefault(space, {})
        if item.external_id in messages:
            limit = "each message of a space has an id of its own; the first one is kept"
            skipped.refused.append(InvalidInput("id", item.external_id, limit, line=item.line))
            continue
        messages[item.external_id] = item
    return {space: tuple(_placed(messages.values(), space)) for space, messages in found.items()}


def _placed(messages: Iterable[Message], space: str) -> Iterator[Message]:
    """Messages with a time each: where some have none, the order of the file stays the order in time."""
    time = _FIRST_TIME
    for message in messages:
        time = message.occurred_at or time + _TICK
        yield replace(message, space=space, occurred_at=time)


def _with_known_evidence(
    questions: Iterable[Question], conversations: dict[str, tuple[Message, ...]], skipped: Skipped
) -> Iterator[Question]:
    ids = {space: {message.external_id for message in messages} for space, messages in conversations.items()}
    sessions = {space: {message.conversation_id for message in messages} for space, messages in conversations.items()}
    for question in questions:
        space = str(question.space)
        known = tuple(found for found in question.evidence if found in ids.get(space, ()))
        where = tuple(found for found in question.evidence_sessions if found in sessions.get(space, ()))
        if len(known) < len(question.evidence):
            missing = next(found for found in question.evidence if found not in ids.get(space, ()))
            limit = f"the space {space!r} has no message with this id"
            skipped.refused.append(InvalidInput("evidence", missing, limit, line=question.line))
        if known or where:
            yield replace(question, evidence=known, evidence_sessions=where)
        else:
            skipped.questions["evidence is missing"] += 1
