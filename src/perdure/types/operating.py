"""What an operator looks at, and families of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from perdure.types.ids import Id


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
