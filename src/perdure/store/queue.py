"""The queues of what is still to be worked off; claiming.py says what is due, failed.py keeps what was given up.

States of a row: ready (no lease), leased (`lease_until` ahead), done (gone, in the transaction that stored its
memories).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, LiteralString, NotRequired, TypedDict, Unpack

from psycopg import sql
from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction
from perdure.store.statements import Part, kept, write_together

LONGEST_WAIT: Final = timedelta(hours=2)
"""More than any lease or pause lasts: what is put off for longer was put off before the clock was set back, and is due.
New rows are due whatever the clock says."""

ENQUEUE: Final = """
    INSERT INTO {queue} (space_id, kind, conversation_id, audience, speaker, payload, occurred_at, enqueued_at,
                         not_before, for_model)
    VALUES (%(space_id)s, %(kind)s, %(conversation_id)s, %(audience)s, %(speaker)s, %(payload)s, %(occurred_at)s,
            %(now)s, '-infinity', %(for_model)s)
    RETURNING id
"""

# Ids count up in the order of the rows.
ENQUEUE_ALL: Final = """
    INSERT INTO {queue} (space_id, kind, conversation_id, audience, speaker, payload, occurred_at, enqueued_at,
                         not_before, for_model)
    SELECT %(space_id)s, %(kind)s, r.conversation_id, %(audience)s, r.speaker, r.payload, r.occurred_at, %(now)s,
           '-infinity', %(for_model)s
    FROM unnest(%(conversation_ids)s::text[], %(speakers)s::text[], %(payloads)b::jsonb[], %(times)s::timestamptz[])
        WITH ORDINALITY AS r (conversation_id, speaker, payload, occurred_at, place)
    ORDER BY r.place
"""

# The operation, its outcome and the row in one statement: each one more is a journey that a turn waits for.
ENQUEUE_ONCE: Final = """
    WITH next AS MATERIALIZED (SELECT nextval({sequence}) AS id),
    operation AS (
        INSERT INTO operations (space_id, operation_id, fingerprint, outcome, created_at)
        SELECT %(space_id)s, %(operation_id)s, %(fingerprint)s,
               jsonb_build_object('status', 'pending', 'queue_id', next.id), %(now)s
        FROM next
        ON CONFLICT (space_id, operation_id) DO NOTHING
        RETURNING operation_id
    )
    INSERT INTO {queue} (space_id, id, kind, conversation_id, audience, speaker, payload, occurred_at, enqueued_at,
                         not_before, for_model)
    SELECT %(space_id)s, next.id, %(kind)s, %(conversation_id)s, %(audience)s, %(speaker)s, %(payload)s,
           %(occurred_at)s, %(now)s, '-infinity', %(for_model)s
    FROM next, operation
    RETURNING id
"""

# Deleting is the proof of ownership: a worker that hung past its lease finds nothing and stores nothing.
FINISH: Final = """
    DELETE FROM {queue} q
    WHERE q.space_id = %(space_id)s AND q.id = ANY(%(ids)s::bigint[]) AND q.lease_holder = %(holder)s
"""

RENEW: Final = """
    UPDATE {queue} q SET lease_until = greatest(q.lease_until, %(lease_until)s)
    WHERE q.space_id = %(space_id)s AND q.id = ANY(%(ids)s::bigint[]) AND q.lease_holder = %(holder)s
"""

RETRY_LATER: Final = """
    UPDATE {queue} q
    SET lease_holder = NULL, lease_until = NULL, attempts = q.attempts + %(failed)s, not_before = %(not_before)s,
        last_error = %(error)s
    WHERE q.space_id = %(space_id)s AND q.id = %(id)s AND q.lease_holder = %(holder)s
"""

COUNT_PENDING: Final = """
    SELECT {name} AS queue, count(*) AS pending, min(q.enqueued_at) AS oldest,
           count(q.lease_until) FILTER (WHERE q.lease_until > %(now)s AND q.lease_until <= %(latest)s) AS leased,
           min(q.lease_until) FILTER (WHERE q.lease_until > %(now)s AND q.lease_until <= %(latest)s) AS leased_until,
           count(*) FILTER (WHERE q.not_before > %(now)s AND q.not_before <= %(latest)s) AS backing_off,
           min(q.not_before) FILTER (WHERE q.not_before > %(now)s AND q.not_before <= %(latest)s) AS backing_off_until
    FROM {queue} q WHERE q.space_id = %(space_id)s
"""

COUNT_FOR_MODEL: Final = """
    SELECT {name} AS queue, count(*) AS waiting, min(q.enqueued_at) AS oldest
    FROM {queue} q
    WHERE q.space_id = %(space_id)s AND q.for_model AND q.enqueued_at > %(before)s
"""


class Queue(StrEnum):
    """The queues, by the names of their tables."""

    TRIAGE = "pending_triage"
    DISTILLATION = "pending_distillation"
    FOLLOWUP = "pending_followups"


KINDS: Final[Mapping[Queue, tuple[str, ...]]] = {
    Queue.TRIAGE: ("conversation", "bootstrap", "calendar", "email"),
    Queue.DISTILLATION: ("archive",),
    Queue.FOLLOWUP: ("quality", "contradiction", "entities", "transition", "usefulness"),
}
"""What each queue holds. A kind says who works the row off, and what its payload is made of. In the queue of triage
what somebody is talking about now goes first, and an imported mailbox last (`rules.order`)."""


@dataclass(frozen=True, slots=True)
class QueuedWork:
    """A claimed row of a queue; `conversation_id` is '' where it follows nothing.

    `for_model`: a model was configured where it was taken in.
    """

    id: int
    queue: Queue
    kind: str
    conversation_id: str
    audience: str | None
    speaker: str | None
    payload: Mapping[str, Any]
    occurred_at: datetime
    enqueued_at: datetime
    attempts: int
    for_model: bool = False


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits in one space, and since when the oldest waits.

    `leased` is how much of it some worker holds, `backing_off` how much has failed or met an outage; each with when the
    first of it is due again. `of` is how much waits in each queue.
    """

    pending: int
    oldest: datetime | None
    of: Mapping[Queue, int]
    leased: int = 0
    leased_until: datetime | None = None
    backing_off: int = 0
    backing_off_until: datetime | None = None


class Origin(TypedDict):
    """Where a queued row comes from. Without `conversation_id` it follows nothing.

    `for_model`: whoever takes it in has a model for it; follow-ups are nothing without one.
    """

    conversation_id: NotRequired[str]
    for_model: NotRequired[bool]
    audience: str | None
    speaker: str | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """One of many rows that are queued together: what is in it, and what it has of its own."""

    payload: Mapping[str, object]
    conversation_id: str
    speaker: str | None
    occurred_at: datetime


async def enqueue_all(
    tx: SpaceTransaction, queue: Queue, kind: str, entries: Sequence[Entry], *, audience: str | None, for_model: bool
) -> None:
    """As `enqueue`, for all of these in one statement; they are worked off in this order."""
    _require_kind(queue, kind)
    if not entries:
        return
    params = {
        "kind": kind,
        "audience": audience,
        "for_model": for_model,
        "conversation_ids": [entry.conversation_id for entry in entries],
        "speakers": [entry.speaker for entry in entries],
        "payloads": [Jsonb(entry.payload) for entry in entries],
        "times": [entry.occurred_at for entry in entries],
    }
    await tx.execute(_of(ENQUEUE_ALL, queue), params)


async def enqueue(
    tx: SpaceTransaction, queue: Queue, kind: str, payload: Mapping[str, object], **origin: Unpack[Origin]
) -> int:
    """Adds work to a queue and returns its queue id. Raises ValueError for a kind that the queue doesn't hold."""
    row = await tx.fetch_one(_of(ENQUEUE, queue), _row(queue, kind, payload, origin))
    assert row is not None
    return int(row["id"])


async def enqueue_once(
    tx: SpaceTransaction,
    queue: Queue,
    kind: str,
    payload: Mapping[str, object],
    *,
    operation_id: str,
    fingerprint: bytes,
    **origin: Unpack[Origin],
) -> int | None:
    """As `enqueue`, with the operation id in the payload and an outcome `Pending` remembered under it.

    None if the operation was there already (see `operations.find_operation`); then nothing is added.
    """
    params = _row(queue, kind, {**payload, "operation_id": operation_id}, origin)
    params |= {"operation_id": operation_id, "fingerprint": fingerprint}
    row = await tx.fetch_one(_of(ENQUEUE_ONCE, queue), params)
    return None if row is None else int(row["id"])


async def renew(tx: SpaceTransaction, works: Sequence[QueuedWork], holder: str, visibility: timedelta) -> int:
    """Prolongs the leases of rows that are still being worked on, never shortens one; how many are still held."""
    held = 0
    for queue in Queue:
        ids = [work.id for work in works if work.queue is queue]
        if ids:
            params = {"ids": ids, "holder": holder, "lease_until": tx.now + visibility}
            held += await tx.execute(_of(RENEW, queue), params)
    return held


async def finish(tx: SpaceTransaction, works: Sequence[QueuedWork], holder: str, also: Sequence[Part] = ()) -> bool:
    """Removes done rows of one queue; False if a lease was lost, and then nothing else of this transaction may stay.

    What is `also` to be written is, in the same journey.
    """
    delete = _of(FINISH, works[0].queue), {"ids": [work.id for work in works], "holder": holder}
    return await write_together(tx, [*also, delete]) == len(works)


async def retry_later(
    tx: SpaceTransaction, work: QueuedWork, holder: str, *, failed: bool, not_before: datetime, error: str
) -> None:
    """Gives a row back; an outage (`failed=False`) uses up no attempt."""
    params = {"id": work.id, "holder": holder, "failed": int(failed), "not_before": not_before}
    await tx.execute(_of(RETRY_LATER, work.queue), {**params, "error": storable(error)[:500]})


async def backlog(tx: SpaceTransaction) -> Backlog:
    rows = await tx.fetch_all(_count_statement(), {"latest": tx.now + LONGEST_WAIT})

    def first(name: str) -> datetime | None:
        return min((row[name] for row in rows if row[name] is not None), default=None)

    return Backlog(
        pending=sum(row["pending"] for row in rows),
        oldest=first("oldest"),
        of={Queue(row["queue"]): row["pending"] for row in rows},
        leased=sum(row["leased"] for row in rows),
        leased_until=first("leased_until"),
        backing_off=sum(row["backing_off"] for row in rows),
        backing_off_until=first("backing_off_until"),
    )


async def waiting_for_model(
    tx: SpaceTransaction, queues: Sequence[Queue], before: datetime
) -> tuple[int, datetime | None]:
    """How much of these queues was taken in for a model after `before`, and when the oldest of it was."""
    rows = await tx.fetch_all(_model_statement(tuple(queues)), {"before": before})
    oldest = [row["oldest"] for row in rows if row["oldest"] is not None]
    return sum(row["waiting"] for row in rows), min(oldest, default=None)


def storable(text: str) -> str:
    """A text of somebody else's making, an error or a model's answer, without what PostgreSQL refuses to store."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _require_kind(queue: Queue, kind: str) -> None:
    if kind not in KINDS[queue]:
        raise ValueError(f"{queue} holds no {kind!r}")


def _row(queue: Queue, kind: str, payload: Mapping[str, object], origin: Origin) -> dict[str, object]:
    _require_kind(queue, kind)
    usual = {"conversation_id": "", "for_model": queue is Queue.FOLLOWUP}
    return {**usual, **origin, "kind": kind, "payload": Jsonb(payload)}


@lru_cache(maxsize=64)
def _of(statement: LiteralString, queue: Queue) -> sql.SQL:
    return kept(
        sql.SQL(statement).format(queue=sql.Identifier(queue.value), sequence=sql.Literal(f"{queue.value}_id_seq"))
    )


@lru_cache(maxsize=1)
def _count_statement() -> sql.SQL:
    counts = [
        sql.SQL(COUNT_PENDING).format(queue=sql.Identifier(queue.value), name=sql.Literal(queue.value))
        for queue in Queue
    ]
    return kept(sql.SQL(" UNION ALL ").join(counts))


@lru_cache(maxsize=8)
def _model_statement(queues: tuple[Queue, ...]) -> sql.SQL:
    counts = [
        sql.SQL(COUNT_FOR_MODEL).format(queue=sql.Identifier(queue.value), name=sql.Literal(queue.value))
        for queue in queues
    ]
    return kept(sql.SQL(" UNION ALL ").join(counts))
