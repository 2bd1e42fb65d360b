"""Exchanges that wait to be drained, as a turn sees them: what was just said is not invisible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction
from perdure.types import Filters

MATCHED_CHARS: Final = 4000
"""How much of each exchange is read."""

# What was stored as it was said and waits to be judged (`replaces`) is to be found among the memories.
PENDING_PAGE: Final = """
    SELECT q.id, q.speaker, q.payload ->> 'operation_id' AS operation_id, q.occurred_at,
           left(coalesce(nullif(q.payload ->> 'user', ''), q.payload ->> 'assistant'), %(chars)s) AS said
    FROM pending_triage q
    WHERE q.space_id = %(space_id)s AND (q.audience IS NULL OR q.audience = %(audience)s)
      AND q.kind = 'conversation' AND q.payload -> 'replaces' IS NULL
      AND (%(before)s::bigint IS NULL OR q.id < %(before)s)
      AND (%(conversation_id)s::text IS NULL OR q.conversation_id = %(conversation_id)s)
      AND (%(since)s::timestamptz IS NULL OR q.occurred_at >= %(since)s)
      AND (%(until)s::timestamptz IS NULL OR q.occurred_at < %(until)s)
    ORDER BY q.id DESC LIMIT %(limit)s
"""

RESTS_ON: Final = """
    SELECT DISTINCT e.external_id AS operation_id
    FROM memory_evidence e
    WHERE e.space_id = %(space_id)s AND e.memory_id = ANY(%(ids)s::bigint[]) AND e.kind = 'exchange'
      AND e.external_id = ANY(%(operations)s::text[])
"""


@dataclass(frozen=True, slots=True)
class WaitingExchange:
    """An exchange that is not drained yet; `said` are the words of the user, or where there are none of the reply."""

    id: int
    speaker: str | None
    operation_id: str | None
    occurred_at: datetime
    said: str


async def pending_page(
    tx: SpaceTransaction, audience: str | None, filters: Filters, *, before: int | None, limit: int
) -> list[WaitingExchange]:
    """The newest exchanges before queue id `before` that this audience may see, newest first.

    Of the filters only conversation and time are asked for here.
    """
    params = {
        "audience": audience,
        "before": before,
        "conversation_id": filters.conversation_id,
        "since": filters.since,
        "until": filters.until,
        "chars": MATCHED_CHARS,
        "limit": limit,
    }
    return [WaitingExchange(**row) for row in await tx.fetch_all(PENDING_PAGE, params)]


async def rested_on(tx: SpaceTransaction, ids: Sequence[int], operations: Sequence[str]) -> set[str]:
    """Which of these exchanges, by operation id, some of these memories were made of."""
    rows = await tx.fetch_all(RESTS_ON, {"ids": list(ids), "operations": list(operations)})
    return {row["operation_id"] for row in rows}
