"""The queues of what is still to be worked off, and what was done already; failed.py keeps what was given up.

States of a row: ready (no lease), leased (`lease_until` ahead), done (gone, in the transaction that stored its
memories). Within one conversation of a queue the order is kept: a row is claimable only together with everything before
it. A row of no named conversation ('') waits for no other. Claiming holds the space's lock for a moment, so that
two workers cannot take neighbouring rows of a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb

from perdure.rules.order import kinds_in_turn
from perdure.store.database import SpaceTransaction
from perdure.store.statements import kept

LONGEST_WAIT: Final = timedelta(hours=2)
"""More than any lease or pause lasts: what is put off for longer was put off before the clock was set back, and is due.
New rows are due whatever the clock says."""

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
    INSERT INTO {queue} (space_id, kind, conversation_id, audience, speaker, payload, occurred_at, enqueued_at,
                         not_before)
    VALUES (%(space_id)s, %(kind)s, %(conversation_id)s, %(audience)s, %(speaker)s, %(payload)s, %(occurred_at)s,
            %(now)s, '-infinity')
    RETURNING id
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
                         not_before)
    SELECT %(space_id)s, next.id, %(kind)s, %(conversation_id)s, %(audience)s, %(speaker)s, %(payload)s,
           %(occurred_at)s, %(now)s, '-infinity'
    FROM next, operation
    RETURNING id
"""

# What holds a conversation up is found first, by the index of what is not due: few rows, however long the queue is.
CLAIM: Final = """
    WITH held AS MATERIALIZED (
        SELECT h.conversation_id, min(h.id) AS id
        FROM {queue} h
        WHERE h.space_id = %(space_id)s AND h.due_at > %(now)s AND h.due_at <= %(latest)s AND h.conversation_id <> ''
        GROUP BY h.conversation_id
    ),
    due AS MATERIALIZED (
        SELECT p.id
        FROM {queue} p
        LEFT JOIN held ON held.conversation_id = p.conversation_id AND held.id < p.id
        WHERE p.space_id = %(space_id)s AND (p.due_at <= %(now)s OR p.due_at > %(latest)s) AND held.id IS NULL
          AND {of_kind}
        ORDER BY p.id
        LIMIT %(limit)s
        FOR UPDATE OF p SKIP LOCKED
    )
    {take}
"""

# Of each queue what kinds have something due, and which conversations are held up: one journey for all of them.
DUE: Final = """
    SELECT {name} AS queue,
           ARRAY(SELECT k.kind FROM unnest({kinds}::text[]) WITH ORDINALITY AS k (kind, place)
                 WHERE EXISTS (SELECT FROM {queue} p
                               WHERE p.space_id = %(space_id)s AND p.kind = k.kind
                                 AND (p.due_at <= %(now)s OR p.due_at > %(latest)s))
                 ORDER BY k.place) AS kinds,
           ARRAY(SELECT DISTINCT h.conversation_id
                 FROM {queue} h
                 WHERE h.space_id = %(space_id)s AND h.due_at > %(now)s AND h.due_at <= %(latest)s
                   AND h.conversation_id <> '') AS held
"""

# From head to head: every row is looked at once at most, however long a conversation is and however many there are.
CLAIM_HEADS: Final = """
    WITH RECURSIVE heads AS (
        (SELECT p.id, ARRAY[p.conversation_id] AS seen
         FROM {queue} p
         WHERE p.space_id = %(space_id)s AND (p.due_at <= %(now)s OR p.due_at > %(latest)s)
           AND p.conversation_id <> ALL (%(held)s::text[]) AND {of_kind}
         ORDER BY p.id
         LIMIT 1)
        UNION ALL
        SELECT n.id, n.seen
        FROM heads f
        CROSS JOIN LATERAL (
            SELECT p.id, f.seen || p.conversation_id AS seen
            FROM {queue} p
            WHERE p.space_id = %(space_id)s AND p.id > f.id AND (p.due_at <= %(now)s OR p.due_at > %(latest)s)
              AND p.conversation_id <> ALL (%(held)s::text[])
              AND (p.conversation_id = '' OR p.conversation_id <> ALL (f.seen)) AND {of_kind}
            ORDER BY p.id
            LIMIT 1
        ) n
        WHERE cardinality(f.seen) < %(limit)s
    ),
    due AS MATERIALIZED (
        SELECT p.id
        FROM heads f
        JOIN {queue} p ON p.id = f.id
        WHERE p.space_id = %(space_id)s
        FOR UPDATE OF p SKIP LOCKED
    )
    {take}
"""

TAKE: Final = """
    UPDATE {queue} q
    SET lease_holder = %(holder)s, lease_until = %(lease_until)s, not_before = least(q.not_before, %(now)s)
    FROM due
    WHERE q.space_id = %(space_id)s AND q.id = due.id
    RETURNING q.id, q.kind, q.conversation_id, q.audience, q.speaker, q.payload, q.occurred_at, q.enqueued_at,
              q.attempts
"""

# Deleting is the proof of ownership: a worker that hung past its lease finds nothing and stores nothing.
FINISH: Final = """
    DELETE FROM {queue} q
    WHERE q.space_id = %(space_id)s AND q.id = %(id)s AND q.lease_holder = %(holder)s
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
           count(q.lease_until) FILTER (WHERE q.lease_until > %(now)s AND q.lease_until <= %(latest)s) AS leased
    FROM {queue} q WHERE q.space_id = %(space_id)s
"""

# What was stored as it was said and waits to be judged (`replaces`) is to be found among the memories.
RECENT_PENDING: Final = """
    SELECT id, speaker, payload, occurred_at
    FROM pending_triage
    WHERE space_id = %(space_id)s AND (audience IS NULL OR audience = %(audience)s)
      AND kind = 'conversation' AND payload -> 'replaces' IS NULL
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


class Queue(StrEnum):
    """The queues, by the names of their tables."""

    TRIAGE = "pending_triage"
    DISTILLATION = "pending_distillation"
    FOLLOWUP = "pending_followups"


KINDS: Final[Mapping[Queue, tuple[str, ...]]] = {
    Queue.TRIAGE: ("conversation", "bootstrap", "calendar", "email"),
    Queue.DISTILLATION: ("archive",),
    Queue.FOLLOWUP: ("quality", "contradiction", "transition"),
}
"""What each queue holds. A kind says who works the row off, and what its payload is made of. In the queue of triage
what somebody is talking about now goes first, and an imported mailbox last (`rules.order`)."""


@dataclass(frozen=True, slots=True)
class QueuedWork:
    """A claimed row of a queue; `conversation_id` is '' where it follows nothing."""

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


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits in one space, how much of it some worker holds, and since when the oldest waits.

    `of` is how much waits in each queue.
    """

    pending: int
    leased: int
    oldest: datetime | None
    of: Mapping[Queue, int]


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
    queue: Queue,
    kind: str,
    payload: Mapping[str, object],
    *,
    conversation_id: str = "",
    audience: str | None,
    speaker: str | None,
    occurred_at: datetime,
) -> int:
    """Adds work to a queue and returns its queue id. Raises ValueError for a kind that the queue doesn't hold."""
    if kind not in KINDS[queue]:
        raise ValueError(f"{queue} holds no {kind!r}")
    row = await tx.fetch_one(
        _of(ENQUEUE, queue),
        {
            "kind": kind,
            "conversation_id": conversation_id,
            "audience": audience,
            "speaker": speaker,
            "payload": Jsonb(payload),
            "occurred_at": occurred_at,
        },
    )
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
    conversation_id: str = "",
    audience: str | None,
    speaker: str | None,
    occurred_at: datetime,
) -> int | None:
    """As `enqueue`, with the operation id in the payload and an outcome `Pending` remembered under it.

    None if the operation was there already (see `find_operation`); then nothing is added.
    """
    if kind not in KINDS[queue]:
        raise ValueError(f"{queue} holds no {kind!r}")
    row = await tx.fetch_one(
        _of(ENQUEUE_ONCE, queue),
        {
            "operation_id": operation_id,
            "fingerprint": fingerprint,
            "kind": kind,
            "conversation_id": conversation_id,
            "audience": audience,
            "speaker": speaker,
            "payload": Jsonb({**payload, "operation_id": operation_id}),
            "occurred_at": occurred_at,
        },
    )
    return None if row is None else int(row["id"])


@dataclass(frozen=True, slots=True)
class Due:
    """What one queue of a space has: the kinds of which a row is due, in their order, and what waits for a lease or a
    pause to end."""

    kinds: tuple[str, ...]
    held: tuple[str, ...]


async def due(tx: SpaceTransaction, queues: Sequence[Queue]) -> dict[Queue, Due]:
    """What is due in these queues. A kind may be named of which every row is held up by another."""
    rows = await tx.fetch_all(_due_statement(tuple(queues)), {"latest": tx.now + LONGEST_WAIT})
    return {Queue(row["queue"]): Due(tuple(row["kinds"]), tuple(row["held"])) for row in rows}


async def claim(
    tx: SpaceTransaction,
    queue: Queue,
    holder: str,
    *,
    limit: int,
    visibility: timedelta,
    heads: bool = False,
    turn: int = 1,
    known: Due | None = None,
) -> list[QueuedWork]:
    """Leases up to `limit` due rows of a queue, in order within each kind. Needs the space's lock.

    With `heads` at most one row of each named conversation, its first, for those who work off conversations side by
    side; otherwise a row comes together with everything due before it.

    Args:
        turn: which kind comes first depends on it, see `rules.order`; counts up with each claim.
        known: what `due` said in this transaction; asked for if None.
    """
    found = known or (await due(tx, [queue]))[queue]
    params: dict[str, object] = {"holder": holder, "lease_until": tx.now + visibility}
    params["latest"] = tx.now + LONGEST_WAIT
    claimed: list[QueuedWork] = []
    by_kind = queue is Queue.TRIAGE
    for kind, most in kinds_in_turn(found.kinds, turn, limit) if by_kind else [("", limit)] if found.kinds else []:
        room = min(most, limit - len(claimed))
        if room <= 0:
            break
        # What was claimed just now holds its conversation up.
        held = sorted({*found.held, *(row.conversation_id for row in claimed if row.conversation_id)})
        # Not prepared: the planner has to see how few rows are asked for, and which conversations are held.
        wanted = {**params, "kind": kind, "limit": room, "held": held}
        rows = await tx.fetch_all(_claim_statement(queue, heads, by_kind), wanted, prepare=False)
        claimed += sorted((QueuedWork(queue=queue, **row) for row in rows), key=lambda row: row.id)
    return claimed


async def renew(tx: SpaceTransaction, works: Sequence[QueuedWork], holder: str, visibility: timedelta) -> int:
    """Prolongs the leases of rows that are still being worked on, never shortens one; how many are still held."""
    held = 0
    for queue in Queue:
        ids = [work.id for work in works if work.queue is queue]
        if ids:
            params = {"ids": ids, "holder": holder, "lease_until": tx.now + visibility}
            held += await tx.execute(_of(RENEW, queue), params)
    return held


async def finish(tx: SpaceTransaction, work: QueuedWork, holder: str) -> bool:
    """Removes a done row; False if the lease was lost, and then nothing else of this transaction may stay."""
    return await tx.execute(_of(FINISH, work.queue), {"id": work.id, "holder": holder}) == 1


async def retry_later(
    tx: SpaceTransaction, work: QueuedWork, holder: str, *, failed: bool, not_before: datetime, error: str
) -> None:
    """Gives a row back; an outage (`failed=False`) uses up no attempt."""
    params = {"id": work.id, "holder": holder, "failed": int(failed), "not_before": not_before}
    await tx.execute(_of(RETRY_LATER, work.queue), {**params, "error": storable(error)[:500]})


async def backlog(tx: SpaceTransaction) -> Backlog:
    rows = await tx.fetch_all(_count_statement(), {"latest": tx.now + LONGEST_WAIT})
    oldest = [row["oldest"] for row in rows if row["oldest"] is not None]
    return Backlog(
        pending=sum(row["pending"] for row in rows),
        leased=sum(row["leased"] for row in rows),
        oldest=min(oldest, default=None),
        of={Queue(row["queue"]): row["pending"] for row in rows},
    )


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


def storable(text: str) -> str:
    """A text of somebody else's making, an error or a model's answer, without what PostgreSQL refuses to store."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


@lru_cache(maxsize=64)
def _of(statement: LiteralString, queue: Queue) -> sql.SQL:
    return kept(
        sql.SQL(statement).format(queue=sql.Identifier(queue.value), sequence=sql.Literal(f"{queue.value}_id_seq"))
    )


@lru_cache(maxsize=16)
def _claim_statement(queue: Queue, heads: bool, by_kind: bool) -> sql.SQL:
    table = sql.Identifier(queue.value)
    statement = sql.SQL(CLAIM_HEADS if heads else CLAIM)
    of_kind = sql.SQL("p.kind = %(kind)s" if by_kind else "true")
    return kept(statement.format(queue=table, take=sql.SQL(TAKE).format(queue=table), of_kind=of_kind))


@lru_cache(maxsize=8)
def _due_statement(queues: tuple[Queue, ...]) -> sql.SQL:
    parts = [
        sql.SQL(DUE).format(
            queue=sql.Identifier(queue.value), name=sql.Literal(queue.value), kinds=sql.Literal(list(KINDS[queue]))
        )
        for queue in queues
    ]
    return kept(sql.SQL(" UNION ALL ").join(parts))


@lru_cache(maxsize=1)
def _count_statement() -> sql.SQL:
    counts = [
        sql.SQL(COUNT_PENDING).format(queue=sql.Identifier(queue.value), name=sql.Literal(queue.value))
        for queue in Queue
    ]
    return kept(sql.SQL(" UNION ALL ").join(counts))
