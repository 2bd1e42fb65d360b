"""The frozen values that rooms hand to each other. No behaviour beyond what a value can say about itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class _AsText:
    """Lets pydantic write an id as text in JSON, where numbers of more than 53 bits lose digits; it reads both."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - not needed to use the types

        as_text = core_schema.plain_serializer_function_ser_schema(
            str, return_schema=core_schema.str_schema(pattern="^[0-9]+$"), when_used="json"
        )
        return core_schema.int_schema(ge=1, serialization=as_text)


Id = Annotated[int, _AsText()]
"""The number of a row within its space; text in JSON."""


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
class GateReading:
    """What the relevance gate sees of a memory for one turn.

    Attributes:
        cosine: of the memory to the turn.
        noise: what it has to exceed, the lower, the more the message asks and the more of its words the memory shares;
            None where no cosine decides: for small talk, and while nobody can tell what a cosine means.
        words: what of the message's words the memory has, normalised.
        share: how much of the message that is, 0..1; rare words count for more.
        name: an entity of the memory is named in the message.
        asks: False for small talk, which lets nothing pass.
        surplus: by how much the signals exceed what is needed; one is a spread of the cosines of unrelated texts.
    """

    cosine: float
    noise: float | None
    words: tuple[str, ...]
    share: float
    name: bool
    asks: bool
    surplus: float

    @property
    def passed(self) -> bool:
        """Whether the memory may be injected."""
        return self.surplus > 0


Fate = Literal[
    "returned",
    "not_there",
    "superseded",
    "hidden",
    "filtered",
    "not_a_candidate",
    "behind",
    "repeated",
    "below_the_gate",
    "over_budget",
    "failed",
]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Where one memory fell out of a recall or a search, or that it didn't.

    Attributes:
        memory_id, query: what was asked about.
        fate: where it fell out; `not_there` is also what somebody else's memory is.
        detail: the same in a sentence, with what it rests on.
        hit: the memory with each term of the formula; None where it never came that far.
        place: where the formula puts it among the `visible` memories that could be returned, 1 being the first.
        limit: how many were asked for.
        arms: its place in what each arm of a large space looks for.
        ahead: the memories that were returned, and their scores.
        gate: what the relevance gate saw of it; only of a recall.
        superseded_by: what took its place, if this audience may see that.
        filters: the names of the filters that it doesn't fit.
    """

    memory_id: Id
    query: str
    fate: Fate
    detail: str
    hit: Hit | None = None
    place: int | None = None
    visible: int | None = None
    limit: int | None = None
    arms: Mapping[str, int] = field(default_factory=dict)
    ahead: tuple[tuple[Id, float], ...] = ()
    gate: GateReading | None = None
    superseded_by: Id | None = None
    filters: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an imported or captured conversation, as sources hand it in.

    `external_id` is the source's own id; with space and source it makes an import idempotent. `line` is where the
    message stands in its file, if it has lines.
    """

    external_id: str
    text: str
    speaker: str | None = None
    occurred_at: datetime | None = None
    conversation_id: str | None = None
    space: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A mail, or one instance of an event, as a source hands it in; `text` is what is judged and may be kept.

    `external_id` names this very item (of an event: this revision), so that it comes in once. `series` names what its
    revisions have in common: a newer revision replaces what was kept of the one before; None for what never changes.
    `occurred_at` is when it was sent, or begins. `cancelled` closes what was kept of the series.
    """

    kind: Literal["email", "calendar"]
    external_id: str
    text: str
    occurred_at: datetime
    title: str = ""
    speaker: str | None = None
    series: str | None = None
    cancelled: bool = False
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Items of a source in its order, and where to go on after them: JSON that only the source understands.

    `refused` says what stood among them and could not be read; it isn't met again after the checkpoint.
    """

    items: tuple[SourceItem, ...]
    checkpoint: Mapping[str, object] | None = None
    refused: tuple[InvalidInput, ...] = ()


class ItemSource(Protocol):
    """A mailbox or a calendar. Reading blocks; whoever reads it from an event loop does so in a thread."""

    @property
    def name(self) -> str:
        """Under which its items are known; the same for the same account and folder, file or address."""

    @property
    def notes(self) -> Sequence[str]:
        """What a person should know of the reading so far, such as a time zone that had to be guessed."""

    def batches(self, checkpoint: Mapping[str, object] | None, *, now: datetime) -> Iterator[SourceBatch]:
        """What came after `checkpoint` (None: everything), in its order."""

    def close(self) -> None:
        """Ends the connection; safe to repeat."""


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


@dataclass(frozen=True, slots=True)
class Family:
    """Embeddings that may be compared: provider, model, dimensions, prefixes, normalisation (and their calibration)."""

    name: str
    provider: str
    model: str
    dimensions: int
    query_prefix: str = ""
    document_prefix: str = ""


@dataclass(frozen=True, slots=True)
class FailedOperation:
    """What was given up after its last attempt, without what was said; all that a replay needs lies beside it.

    `context_bytes` is how much that is. `audience` is who may see what was said.
    """

    id: Id
    op_type: str
    label: str
    error: str
    created_at: datetime
    audience: str | None
    context_bytes: int


@dataclass(frozen=True, slots=True)
class SpaceStats:
    """Counts of one space.

    `pending` is all that waits, `waiting` how much of it in each queue; `documents` are those that can be found.
    `family` is the name of the embedding family, None before the first memory. `model_calls` and
    `model_tokens` are what background work has used today (UTC); `paused` says why what waits for a model is left
    alone, None if it isn't: the day's budget is used up, or no model is configured here and what came in for one is
    left to those who have one.
    """

    space: str
    memories: int
    pending: int
    oldest_pending: datetime | None
    failed: int
    family: str | None
    created_at: datetime
    waiting: Mapping[str, int] = field(default_factory=dict)
    model_calls: int = 0
    model_tokens: int = 0
    paused: str | None = None
    documents: int = 0
