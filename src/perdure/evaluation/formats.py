"""The kinds of sets: where one lies, how its questions and messages are read, and what makes its halves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from perdure.connect import (
    Question,
    QuestionSet,
    Rejected,
    detect_format,
    read_jsonl_questions,
    read_locomo_questions,
    read_longmemeval_questions,
    read_madial_memories,
    read_madial_questions,
    read_messages,
    read_xquad_paragraphs,
    read_xquad_questions,
    xquad_files,
)
from perdure.errors import InvalidInput
from perdure.types import Message

Format = Literal["locomo", "longmemeval", "madial", "xquad", "jsonl"]
Messages = Iterator[Message | Rejected]

_JSON: Final = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_DIALOGUES: Final = ("-dialogue.json", "-dialogue.json.gz")


@dataclass(frozen=True, slots=True)
class SetFormat:
    """How the sets of one kind are read.

    Attributes:
        expected: what the path of such a set leads to, in words.
        questions: the questions at this path.
        messages: the messages at this path; what is left out on purpose is counted by reason.
        endings: what the names of files end with that may be such a set; in a folder others aren't looked at.
        by_folder: a folder of such files is one set.
        half: what keeps together when the set is cut into two halves.
        with_sessions: its authors measure sessions, too.
        user_only: only what the user said is stored, as its authors do.
    """

    expected: str
    questions: Callable[[Path], QuestionSet]
    messages: Callable[[Path, Counter[str]], Messages]
    endings: tuple[str, ...] = _JSON
    by_folder: bool = False
    half: Callable[[Question], object] = lambda question: question.space
    with_sessions: bool = False
    user_only: bool = False


def _as_imported(format: str) -> Callable[[Path, Counter[str]], Messages]:  # noqa: A002  # the word of the API
    def read(path: Path, skipped: Counter[str]) -> Messages:
        reader = read_messages(path, format)
        try:
            yield from reader
        finally:
            reader.close()
            skipped.update({reason: count for reason, count in reader.skipped.items() if reason != "query"})

    return read


FORMATS: Final[dict[Format, SetFormat]] = {
    "locomo": SetFormat(
        "LoCoMo's file: a JSON array of conversations, such as locomo10.json",
        read_locomo_questions,
        _as_imported("locomo"),
    ),
    "longmemeval": SetFormat(
        "LongMemEval's file: a JSON array or lines of questions with haystack_sessions, such as longmemeval_s.json "
        "(or .json.gz, .jsonl.gz)",
        read_longmemeval_questions,
        _as_imported("longmemeval"),
        with_sessions=True,
        user_only=True,
    ),
    "madial": SetFormat(
        "MADial-Bench's file of dialogues with its file of memories beside it, such as MADial-Bench-zh-dialogue.json "
        "and MADial-Bench-zh-memory.json",
        read_madial_questions,
        lambda path, _: read_madial_memories(path),
        endings=_DIALOGUES,
        half=lambda question: question.line,
    ),
    "xquad": SetFormat(
        "XQuAD's files, such as xquad.en.json, or one of them",
        read_xquad_questions,
        lambda path, _: read_xquad_paragraphs(path),
        by_folder=True,
        half=lambda question: question.evidence,
    ),
    "jsonl": SetFormat("a file of JSON lines", read_jsonl_questions, _as_imported("jsonl")),
}


def find_file(path: Path, kind: Format) -> Path:
    """Where a set lies: at `path` itself, or in the one file in the folder `path` that is of this kind.

    Raises InvalidInput saying what is expected there.
    """
    known = FORMATS[kind]
    if not path.exists():
        raise InvalidInput("data", str(path), f"there is no such file or folder; expected is {known.expected}")
    if known.by_folder and _is_of(path, kind):
        return path
    if not path.is_dir():
        if not _is_of(path, kind):
            raise InvalidInput("data", str(path), f"it is not in the format of {kind}; expected is {known.expected}")
        return path
    candidates = sorted(file for file in path.iterdir() if file.name.endswith(known.endings) and file.is_file())
    found = [file for file in candidates if _is_of(file, kind)]
    if not found:
        limit = f"no file in this folder is in the format of {kind}; expected is {known.expected}"
        raise InvalidInput("data", str(path), limit)
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise InvalidInput("data", str(path), f"the folder holds several sets; name one of {names}")
    return found[0]


def _is_of(path: Path, kind: Format) -> bool:
    """Whether a file is of this kind, by its content, or by its name where that is what its authors go by."""
    try:
        if kind == "xquad":
            return bool(xquad_files(path))
        return path.name.endswith(_DIALOGUES) if kind == "madial" else detect_format(path) == kind
    except InvalidInput:
        return False


def set_format(path: Path) -> Format:
    """What a file given by itself is. Raises InvalidInput for a file without messages and questions."""
    found = next((kind for kind in FORMATS if path.is_file() and _is_of(path, kind)), None)
    if found is None:
        limit = f"a file of {detect_format(path)} has no questions; see docs/evaluation.md for what is read"
        raise InvalidInput("file", path.name, limit)
    return found
