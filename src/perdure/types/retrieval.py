"""What a recall or a search is asked, and what it brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from perdure.types.ids import Id
from perdure.types.memories import MemoryType, StoredMemory


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved memory and why it was chosen.

    `score` is the negated ranking formula: higher is better. `terms` holds what each term of the formula contributed
    to the rank (lower is better there); `arms` names the candidate arms that brought it; `similarity` is the family's
    calibrated similarity, 0 for unrelated and 1 for identical. `query` is the one of a search's queries that it answers
    best; `led_by` the hit whose entity (`shared`) led to it, where no query did.
    """

    memory: StoredMemory
    score: float
    similarity: float
    terms: Mapping[str, float]
    arms: tuple[str, ...]
    matched: tuple[str, ...] = ()
    entity_match: bool = False
    query: str | None = None
    led_by: Id | None = None
    shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingItem:
    """An exchange that was captured but not yet drained, shown so that nothing just said is invisible."""

    queue_id: Id
    speaker: str | None
    text: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that the turn could have used and that was left out of the prompt, whole.

    `repeated`: memory `beside` says the same, or is of the same text. `alike`: it may say the same as `beside`, and
    others wanted the place. `over_budget`: its `tokens` were more than was left.
    """

    id: Id
    why: Literal["repeated", "alike", "over_budget"]
    beside: Id | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Recall:
    """What `recall` hands back for one turn.

    `memories` is empty when nothing is worth injecting. `prefix` is stable from turn to turn and can be cached by the
    model's server; `tail` changes, and costs at most about `tokens`. `degraded` names the parts that failed or ran out
    of time; the rest is still good. `left_out` are memories that passed the gate and repeat others, or didn't fit.
    """

    query: str
    memories: tuple[Hit, ...]
    pending: tuple[PendingItem, ...]
    prefix: str
    tail: str
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    left_out: tuple[LeftOut, ...] = ()
    tokens: int = 0

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids of the injected memories, for `capture(recall=...)`."""
        return tuple(hit.memory.id for hit in self.memories)


@dataclass(frozen=True, slots=True)
class TaskRecall:
    """What the worker last recalled for the task at hand; `recalled_at` is None until it has.

    `stale` says that this is too long ago, or hasn't been: no worker runs, or it can't.
    """

    task: str
    memories: tuple[StoredMemory, ...]
    set_at: datetime
    recalled_at: datetime | None
    stale: bool


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits of a search, best first: by score, or with `reranked` as the model put them.

    `degraded` names what could not be done: rewrite, embedding, rerank, history. `queries` are all that were asked, the
    caller's own first.
    """

    query: str
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    path: Literal["exact", "index"]
    queries: tuple[str, ...] = ()
    reranked: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """Which memories were counted as retrieved, sibling chunks included, and which are not there for this audience."""

    tracked: tuple[Id, ...]
    ignored: tuple[Id, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """What a retrieval may return, as `door.require_filters` makes it; every field is optional.

    `tags` and `speaker` are folded. `since` is inclusive, `until` exclusive, on source_date.
    """

    tags: tuple[str, ...] = ()
    memory_type: MemoryType | None = None
    source: str | None = None
    speaker: str | None = None
    conversation_id: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None

    @property
    def empty(self) -> bool:
        return self == Filters()
