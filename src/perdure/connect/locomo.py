"""LoCoMo (Maharana et al., 2024): very long conversations of two people, in dated sessions of turns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from perdure.connect.reading import attempt
from perdure.connect.sessions import read_sessions
from perdure.connect.values import checked_id, checked_name, checked_space, in_utc, mapping, sequence
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from perdure.connect.reading import ReadOptions, Rejected, Source, Tally
    from perdure.connect.sessions import Placed

_SESSION = re.compile(r"session_(\d+)")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DATE = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a conversation, with its date as written."""

    name: str
    date: object
    turns: list[object]


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """Every turn of every conversation, session by session; the space is the conversation's sample_id."""
    return read_sessions(
        source,
        sessions=lambda sample: (checked_space("sample_id", sample.get("sample_id")), sessions_of(sample)),
        start=lambda session: session_start(session, options.zone),
        turns=partial(_turns, tally=tally),
    )


def sessions_of(sample: dict[str, object]) -> list[Session]:
    """The sessions that have turns, in order of their numbers."""
    conversation = mapping("conversation", sample.get("conversation"))
    numbered = sorted((int(found[1]), key) for key in conversation if (found := _SESSION.fullmatch(key)))
    return [Session(key, conversation.get(f"{key}_date_time"), sequence(key, conversation[key])) for _, key in numbered]


def _turns(session: Session, placed: Placed, *, tally: Tally) -> Iterator[Message | Rejected]:
    for order, turn in enumerate(session.turns):
        if isinstance(turn, dict) and not _words(turn):
            tally.skip("turn without words")
            continue
        yield attempt(placed.line, partial(_message, turn, session.name, placed, timedelta(seconds=order)))


def _message(turn: object, session: str, placed: Placed, since: timedelta) -> Message:
    fields = mapping("turn", turn)
    return Message(
        external_id=checked_id("dia_id", fields.get("dia_id")),
        text=require_text(_words(fields), "text"),
        speaker=checked_name("speaker", fields.get("speaker")),
        occurred_at=placed.start + since,
        conversation_id=session,
        space=placed.space,
        line=placed.line,
    )


def _words(turn: dict[str, object]) -> str:
    """What was said, and what the shared picture shows: the caption is all that a reader of the data has of it."""
    text, caption = turn.get("text"), turn.get("blip_caption")
    spoken = text.strip() if isinstance(text, str) else ""
    shown = f"[shares a picture: {caption.strip()}]" if isinstance(caption, str) and caption.strip() else ""
    return f"{spoken} {shown}".strip()


def session_start(session: Session, zone: tzinfo) -> datetime:
    """A time such as "1:56 pm on 8 May, 2023", in UTC. Raises InvalidInput for anything else."""
    field, value = f"{session.name}_date_time", session.date
    limit = 'it must be a time such as "1:56 pm on 8 May, 2023"'
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[5].lower() not in _MONTHS:
        raise InvalidInput(field, value, limit)
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    try:
        moment = datetime(int(found[6]), _MONTHS.index(found[5].lower()) + 1, int(found[4]), hour, int(found[2]))  # noqa: DTZ001  # its zone comes next
    except ValueError as error:
        raise InvalidInput(field, value, limit) from error
    return in_utc(field, value, moment, zone)
