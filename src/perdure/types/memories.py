"""What is remembered, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from perdure.types.ids import Id


class MemoryType(StrEnum):
    """What kind of memory a row is. Identity and reflection are hidden from general retrieval."""

    GENERAL = "general"
    FACT = "fact"
    PREFERENCE = "preference"
    EVENT = "event"
    EMAIL = "email"
    CALENDAR = "calendar"
    EPISODE = "episode"
    REFLECTION = "reflection"
    IDENTITY = "identity"
    TRANSITION = "transition"


HIDDEN_TYPES: frozenset[MemoryType] = frozenset({MemoryType.IDENTITY, MemoryType.REFLECTION})
"""Types that only an explicit `memory_type` filter reaches."""


CONCLUDED_TYPES: frozenset[MemoryType] = HIDDEN_TYPES | {MemoryType.EPISODE, MemoryType.TRANSITION}
"""Types of what was concluded from other memories, and which nobody told."""


CONCLUDED_SOURCES: frozenset[str] = frozenset({"consolidation", "episode_synthesis", "reflection", "transition"})
"""Where conclusions come from; a merge of consolidation has the type of what it was made of."""


class Trust(StrEnum):
    """Who vouches for a memory: user > assistant > tool > external > derived."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    EXTERNAL = "external"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a memory rests on: a message, a mail, an event. `excerpt` is at most 500 characters.

    `trust` is who vouched for what was said there; None stands for the memory's own when it is stored.
    """

    kind: str
    external_id: str | None = None
    speaker: str | None = None
    observed_at: datetime | None = None
    excerpt: str = ""
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A row of the stream as a caller sees it. Times are in UTC; `score` fields live in `Hit`, not here.

    `conflicts_with` are memories that say otherwise and that this one, less trusted, could not supersede.
    """

    space: str
    id: Id
    summary: str
    memory_type: MemoryType
    salience: float
    usefulness: float
    confidence: float
    retrieval_count: int
    source: str
    trust: Trust
    source_date: datetime
    created_at: datetime
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    speaker: str | None = None
    audience: str | None = None
    conversation_id: str | None = None
    language: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    pinned: bool = False
    superseded_by: Id | None = None
    superseded_at: datetime | None = None
    superseded_reason: str | None = None
    related_ids: tuple[Id, ...] = ()
    conflicts_with: tuple[Id, ...] = ()
    chunk_of: Id | None = None
    chunk_no: int = 0
    last_retrieved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PageEnd:
    """Where a page of `Space.list` ends: what its last memory is sorted by."""

    source_date: datetime
    id: Id

    @classmethod
    def of(cls, memory: StoredMemory) -> PageEnd:
        return cls(memory.source_date, memory.id)
