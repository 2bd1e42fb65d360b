"""LongMemEval (Wu et al., 2024): one long chat history with an assistant per question.

The data marks its evidence: session ids begin with "answer_", turns carry `has_answer`. Neither may reach a memory,
so ids here are positions: session 7, turn 3 is "s0007t003".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from perdure.connect.reading import attempt
from perdure.connect.sessions import read_sessions
from perdure.connect.values import checked_space, in_utc, mapping, sequence
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from perdure.connect.reading import ReadOptions, Rejected, Source, Tally
    from perdure.connect.sessions import Placed

_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2}) (?:\(\w+\) )?(\d{1,2}):(\d{2})")
_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a haystack. `conversation_id` is its opaque name, `given_id` the one in the data."""

    conversation_id: str
    given_id: object
    date: object
    turns: list[object]


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """Every turn of every haystack; the space is the question_id."""
    return read_sessions(
        source,
        sessions=lambda question: (checked_space("question_id", question.get("question_id")), sessions_of(question)),
        start=lambda session: parse_date("haystack_dates", session.date, options.zone),
        turns=partial(_turns, tally=tally),
    )


def sessions_of(question: dict[str, object]) -> list[Session]:
    """The sessions of a question's haystack. Raises InvalidInput when ids, dates and sessions don't correspond."""
    turns = sequence("haystack_sessions", question.get("haystack_sessions"))
    ids = sequence("haystack_session_ids", question.get("haystack_session_ids"))
    dates = sequence("haystack_dates", question.get("haystack_dates"))
    if not len(turns) == len(ids) == len(dates):
        counts = f"{len(turns)} sessions, {len(ids)} ids, {len(dates)} dates"
        raise InvalidInput("haystack_sessions", counts, "each session needs one id and one date")
    return [
        Session(f"s{number:04}", given, date, sequence("haystack_sessions", session))
        for number, (given, date, session) in enumerate(zip(ids, dates, turns, strict=True), start=1)
    ]


def turn_id(session: Session, position: int) -> str:
    """The opaque id of a turn, whose position in its session counts from 0."""
    return f"{session.conversation_id}t{position + 1:03}"


def _turns(session: Session, placed: Placed, *, tally: Tally) -> Iterator[Message | Rejected]:
    for position, turn in enumerate(session.turns):
        if isinstance(turn, dict) and not str(turn.get("content") or "").strip():
            tally.skip("turn without words")
            continue
        fixed = Message(
            external_id=turn_id(session, position),
            text="",
            occurred_at=placed.start + timedelta(seconds=position),
            conversation_id=session.conversation_id,
            space=placed.space,
            line=placed.line,
        )
        yield attempt(placed.line, partial(_with_words, fixed, turn))


def _with_words(message: Message, turn: object) -> Message:
    fields = mapping("turn", turn)
    if fields.get("role") not in _ROLES:
        raise InvalidInput("role", fields.get("role"), f"it must be one of {', '.join(_ROLES)}")
    return replace(message, text=require_text(fields.get("content"), "content"), speaker=str(fields["role"]))


def parse_date(field: str, value: object, zone: tzinfo) -> datetime:
    """A time such as "2023/05/20 (Sat) 02:21", in UTC. Raises InvalidInput for anything else."""
    limit = 'it must be a time such as "2023/05/20 (Sat) 02:21"'
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise InvalidInput(field, value, limit)
    try:
        moment = datetime(*(int(part) for part in found.groups()))  # type: ignore[arg-type]  # noqa: DTZ001  # its zone comes next
    except ValueError as error:
        raise InvalidInput(field, value, limit) from error
    return in_utc(field, value, moment, zone)
