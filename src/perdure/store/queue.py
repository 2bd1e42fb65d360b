"""The queue of captured exchanges, and what was done already; failed.py keeps what was given up.

States of a row: ready (no lease), leased (`lease_until` ahead), done (gone, in the transaction that stored its
memories). Within one conversation the order of capture is kept: a row is claimable only together with everything before
it. An exchange of no named conversation ('') waits for no other. Claiming holds the space's lock for a moment, so that
two workers cannot take neighbouring rows of a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction

REMEMBER_OPERATION: Final = """
    INSERT INTO operations (space_id, operation_id, fingerprint, outcome, created_at)
    VALUES (%(space_id)s, %(operation_id)s, %(fingerprint)s, %(outcome)s, %(now)s)
    ON CONFLICT (space_id, operation_id) DO NOTHING
"""

FIND_OPERATION: Final = """
    SELECT fingerprint, outcome FROM operations WHERE space_id = %(space_id)s AND operation_id = %(operation_id)s
"""

SET_OUTCOME: Final = """
    UPDATE operations SET outcome = %(outcome)s
    WHERE space_id = %(space_id)s AND operation_id = %(operation_id)s
"""

ENQUEUE: Final = """
    INSERT INTO pending_triage (space_id, conversation_id, audience, speaker, payload, occurred_at, enqueued_at,
                                not_before)
    VALUES (%(space_id)s, %(conversation_id)s, %(audience)s, %(speaker)s, %(payload)s, %(occurred_at)s, %(now)s,
            %(now)s)
    RETURNING id
"""

CLAIM: Final = """
    WITH due AS MATERIALIZED (
        SELECT p.id
        FROM pending_triage p
        WHERE p.space_id = %(space_id)s
          AND p.not_before <= %(now)s
          AND (p.lease_until IS NULL OR p.lease_until <= %(now)s)
          AND NOT EXISTS (
              SELECT FROM pending_triage e
              WHERE e.space_id = %(space_id)s
                AND e.conversation_id = p.conversation_id
                AND p.conversation_id <> ''
                AND e.id < p.id
                AND (e.not_before > %(now)s OR e.lease_until > %(now)s))
        ORDER BY p.id
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    )
    UPDATE pending_triage q
    SET lease_holder = %(holder)s, lease_until = %(lease_until)s
    FROM due
    WHERE q.space_id = %(space_id)s AND q.id = due.id
    RETURNING q.id, q.conversation_id, q.audience, q.speaker, q.payload, q.occurred_at, q.attempts
"""

# Deleting is the proof of ownership: a worker that hung past its lease finds nothing and stores nothing.
FINISH: Final = """
    DELETE FROM pending_triage
    WHERE space_id = %(space_id)s AND id = %(id)s AND lease_holder = %(holder)s
"""

RETRY_LATER: Final = """
    UPDATE pending_triage
    SET lease_holder = NULL, lease_until = NULL, attempts = attempts + %(failed)s, not_before = %(not_before)s,
        last_error = %(error)s
    WHERE space_id = %(space_id)s AND id = %(id)s AND lease_holder = %(holder)s
"""

COUNT_PENDING: Final = """
    SELECT count(*) AS pending, min(enqueued_at) AS oldest,
           count(lease_until) FILTER (WHERE lease_until > %(now)s) AS leased
    FROM pending_triage WHERE space_id = %(space_id)s
"""

RECENT_PENDING: Final = """
    SELECT id, speaker, payload, occurred_at
    FROM pending_triage
    WHERE space_id = %(space_id)s AND (audience IS NULL OR audience = %(audience)s)
    ORDER BY id DESC LIMIT %(limit)s
"""

FIND_PROCESSED: Final = """
    SELECT external_id FROM processed_items
    WHERE space_id = %(space_id)s AND source = %(source)s AND external_id = ANY(%(external_ids)s)
"""

MARK_PROCESSED: Final = """
    INSERT INTO processed_items (space_id, source, external_id, processed_at)
    SELECT %(space_id)s, %(source)s, t.external_id, %(now)s
    FROM unnest(%(external_ids)s::text[]) AS t (external_id)
    ON CONFLICT (space_id, source, external_id) DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class QueuedExchange:
    """A claimed row of pending_triage."""

    id: int
    conversation_id: str
    audience: str | None
    speaker: str | None
    payload: Mapping[str, Any]
    occurred_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits in one space, how much of it some worker holds, and since when the oldest waits."""

    pending: int
    leased: int
    oldest: datetime | None


async def remember_operation(
    tx: SpaceTransaction, operation_id: str, fingerprint: bytes, outcome: Mapping[str, object]
) -> bool:
    """True if this operation is new; False if it was there already (see `find_operation`)."""
    params = {"operation_id": operation_id, "fingerprint": fingerprint, "outcome": Jsonb(outcome)}
    return await tx.execute(REMEMBER_OPERATION, params) == 1


async def find_operation(tx: SpaceTransaction, operation_id: str) -> tuple[bytes, Mapping[str, Any]] | None:
    """Fingerprint of the first request and its outcome."""
    row = await tx.fetch_one(FIND_OPERATION, {"operation_id": operation_id})
    return (bytes(row["fingerprint"]), row["outcome"]) if row else None


async def set_outcome(tx: SpaceTransaction, operation_id: str, outcome: Mapping[str, object]) -> None:
    await tx.execute(SET_OUTCOME, {"operation_id": operation_id, "outcome": Jsonb(outcome)})


async def enqueue(
    tx: SpaceTransaction,
    payload: Mapping[str, object],
    *,
    conversation_id: str,
    audience: str | None,
    speaker: str | None,
    occurred_at: datetime,
) -> int:
    """Adds an exchange to the queue and returns its queue id."""
    row = await tx.fetch_one(
        ENQUEUE,
        {
            "conversation_id": conversation_id,
            "audience": audience,
            "speaker": speaker,
            "payload": Jsonb(payload),
            "occurred_at": occurred_at,
        },
    )
    assert row is not None
    return int(row["id"])


async def claim(tx: SpaceTransaction, holder: str, *, limit: int, visibility: timedelta) -> list[QueuedExchange]:
    """Leases up to `limit` due rows in order of capture. Needs the space's lock."""
    params = {"holder": holder, "limit": limit, "lease_until": tx.now + visibility}
    rows = await tx.fetch_all(CLAIM, params)
    return sorted((QueuedExchange(**row) for row in rows), key=lambda row: row.id)


async def finish(tx: SpaceTransaction, row_id: int, holder: str) -> bool:
    """Removes a done row; False if the lease was lost, and then nothing else of this transaction may stay."""
    return await tx.execute(FINISH, {"id": row_id, "holder": holder}) == 1


async def retry_later(
    tx: SpaceTransaction, row_id: int, holder: str, *, failed: bool, not_before: datetime, error: str
) -> None:
    """Gives a row back; an outage (`failed=False`) uses up no attempt."""
    await tx.execute(
        RETRY_LATER,
        {"id": row_id, "holder": holder, "failed": int(failed), "not_before": not_before, "error": error[:500]},
    )


async def backlog(tx: SpaceTransaction) -> Backlog:
    row = await tx.fetch_one(COUNT_PENDING)
    assert row is not None
    return Backlog(**row)


async def recent_pending(tx: SpaceTransaction, audience: str | None, limit: int) -> list[dict[str, Any]]:
    """The newest exchanges that are not drained yet and that this audience may see."""
    return await tx.fetch_all(RECENT_PENDING, {"audience": audience, "limit": limit})


async def processed(tx: SpaceTransaction, source: str, external_ids: Sequence[str]) -> set[str]:
    """Which of these items of a source are in already."""
    params = {"source": source, "external_ids": list(external_ids)}
    return {row["external_id"] for row in await tx.fetch_all(FIND_PROCESSED, params)}


async def mark_processed(tx: SpaceTransaction, source: str, external_ids: Sequence[str]) -> None:
    """Marks items as in; called in the transaction that stores or enqueues them. The marks outlive erasure."""
    await tx.execute(MARK_PROCESSED, {"source": source, "external_ids": list(external_ids)})
