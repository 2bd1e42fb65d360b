"""The walk that files of dated sessions share: every record holds sessions, every session its turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from perdure.connect.json_stream import records
from perdure.connect.reading import Rejected
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from perdure.connect.reading import Source
    from perdure.types import Message

Session = TypeVar("Session")


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the turns of a session stand: in which space, since when, and on which line of the file."""

    space: str
    start: datetime
    line: int


def read_sessions(
    source: Source,
    *,
    sessions: Callable[[dict[str, object]], tuple[str, Sequence[Session]]],
    start: Callable[[Session], datetime],
    turns: Callable[[Session, Placed], Iterator[Message | Rejected]],
) -> Iterator[Message | Rejected]:
    """Every turn of every session of every record; `sessions` gives a record's space and its sessions.

    A record without readable sessions is refused by its line, and so is a session without a readable start; what
    follows is read all the same.
    """
    with source.open() as stream:
        for record in records(stream):
            if isinstance(record, Rejected):
                yield record
                continue
            try:
                space, found = sessions(record.value)
            except InvalidInput as error:
                yield Rejected.at(record.line, error)
                continue
            for session in found:
                try:
                    placed = Placed(space, start(session), record.line)
                except InvalidInput as error:
                    yield Rejected.at(record.line, error)
                    continue
                yield from turns(session, placed)
