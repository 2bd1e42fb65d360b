"""What became of words that came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perdure.types.ids import Id


@dataclass(frozen=True, slots=True)
class Stored:
    """The text is now in these memories, one per chunk, readable by every connection."""

    ids: tuple[Id, ...]
    status: Literal["stored"] = "stored"


@dataclass(frozen=True, slots=True)
class Merged:
    """The same text was already there; its evidence, tags and salience were merged into this memory."""

    id: Id
    status: Literal["merged"] = "merged"


@dataclass(frozen=True, slots=True)
class Superseded:
    """`new` replaced `old`, which is now a tombstone."""

    old: Id
    new: Id
    status: Literal["superseded"] = "superseded"


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing was kept, and why."""

    reason: str
    status: Literal["nothing"] = "nothing"


@dataclass(frozen=True, slots=True)
class Pending:
    """The raw exchange is committed and waits in the queue under this id."""

    queue_id: Id
    status: Literal["pending"] = "pending"


@dataclass(frozen=True, slots=True)
class Failed:
    """The third attempt failed; the exchange lies in failed_operations and can be replayed."""

    reason: str
    status: Literal["failed"] = "failed"


Outcome = Stored | Merged | Superseded | Nothing | Pending | Failed
