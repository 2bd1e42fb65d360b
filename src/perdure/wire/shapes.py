"""Where JSON differs from what the library hands out: the few values that hold something which only a process has."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perdure.cognition import Identity
from perdure.context import Block, Context, ContextReport, Layout
from perdure.errors import InvalidInput
from perdure.fact_types import FactId
from perdure.rules.identity import Profile
from perdure.types import PageEnd, Recall, StoredMemory


@dataclass(frozen=True, slots=True)
class IdentityCard:
    """The card as it is, and the memory that holds it; None before the first."""

    profile: Profile = field(default_factory=Profile)
    memory: StoredMemory | None = None

    @classmethod
    def of(cls, identity: Identity) -> IdentityCard:
        return cls(identity.profile, identity.row.memory if identity.row is not None else None)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A `Context` as it is sent. `context_id` names it to the server that made it, for `capture` and an hour.

    `winners` are the facts that were recalled for this turn, for `create_long_term_memory`.
    """

    query: str
    blocks: tuple[Block, ...]
    prefix: str
    tail: str
    layout: Layout
    recall: Recall
    report: ContextReport
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    memory_intent: bool
    tools: tuple[Mapping[str, Any], ...]
    real: bool
    context_id: str
    winners: tuple[FactId, ...] = ()

    @classmethod
    def of(cls, context: Context, context_id: str) -> Prompt:
        return cls(
            context.query,
            context.blocks,
            context.prefix,
            context.tail,
            context.layout,
            context.recall,
            context.report,
            context.degraded,
            context.timings_ms,
            context.memory_intent,
            context.tools,
            context.real,
            context_id,
            context.facts.winners if context.facts is not None else (),
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """What a turn's prompt held, as `capture` takes it: the memories, and the prompt if there was a whole one."""

    ids: tuple[int, ...]
    context_id: str | None = None


def cursor_of(memory: StoredMemory | PageEnd) -> str:
    """Where the next page begins, as a text that is nobody's business but the server's."""
    return written([memory.source_date.isoformat(), memory.id])


def written(key: object) -> str:
    """A cursor: what a list is sorted by, opaque and fit for a URL."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> list[Any]:
    """What `written` has put into a cursor. Raises InvalidInput for what no page has given."""
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        key = None
    if not isinstance(key, list):
        raise InvalidInput("cursor", cursor, "it has to be what a page before gave as `next`")
    return key
