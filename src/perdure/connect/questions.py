"""What every evaluation set is read as: questions, with the ids of the messages that answer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perdure.connect.reading import Rejected

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Question:
    """One query of an evaluation set.

    `evidence` may be empty where only `evidence_sessions` are known: then it counts for sessions, not for messages.
    """

    space: str | None
    text: str
    time: datetime | None
    category: str | None
    evidence: tuple[str, ...]
    evidence_sessions: tuple[str, ...] = ()
    line: int | None = None


@dataclass(slots=True)
class QuestionSet(Iterator[Question | Rejected]):
    """Iterates over questions; `left_out` counts those passed over, by reason."""

    _items: Iterator[Question | Rejected]
    left_out: Counter[str] = field(default_factory=Counter)

    def __next__(self) -> Question | Rejected:
        return next(self._items)
