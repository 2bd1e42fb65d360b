"""The sample conversation behind `make demo` and the questions that are asked of it.

Saskia and Julián are invented, and so is all they say. The sample is in the documented JSONL of messages, so the demo
imports it the same way as anybody's own file; a message's `id` is what a question's `evidence` refers to.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question to the sample, asked after its last message.

    `evidence` holds the message ids that answer it; it is empty for small talk, where nothing should be recalled.
    `note` says in a sentence what the question shows.
    """

    text: str
    time: datetime
    evidence: tuple[str, ...]
    note: str


def sample_path() -> Path:
    """The JSONL file of the sample: one message a line, ordered by time, all in the space `demo`."""
    return _file("sample.jsonl")


def questions() -> tuple[DemoQuestion, ...]:
    """The ten questions, in the order in which the demo asks them."""
    rows = map(json.loads, _file("questions.jsonl").read_text(encoding="utf-8").splitlines())
    return tuple(
        DemoQuestion(
            text=row["text"],
            time=datetime.fromisoformat(row["time"]),
            evidence=tuple(row["evidence"]),
            note=row["note"],
        )
        for row in rows
    )


def _file(name: str) -> Path:
    return Path(str(files(__name__) / name))


__all__ = ["DemoQuestion", "questions", "sample_path"]
