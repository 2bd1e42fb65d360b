"""What of a queue is due, and which worker gets it.

Within one conversation of a queue the order is kept: a row is claimable only together with everything before it. A row
of no named conversation ('') waits for no other. Claiming holds the space's lock for a moment, so that two workers
cannot take neighbouring rows of a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from psycopg import sql

from perdure.rules.order import kinds_in_turn
from perdure.store.database import SpaceTransaction
from perdure.store.queue import KINDS, LONGEST_WAIT, Queue, QueuedWork
from perdure.store.statements import kept

# What holds a conversation up is found first, by the index of what is not due: few rows, however long the queue is.
CLAIM: Final = """
    WITH held AS MATERIALIZED (
        SELECT h.conversation_id, min(h.id) AS id
        FROM {queue} h
        WHERE h.space_id = %(space_id)s AND h.conversation_id <> ''
          AND (h.due_at > %(now)s AND h.due_at <= %(latest)s OR {left})
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
              q.attempts, q.for_model
"""


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
    left_since: datetime | None = None,
) -> list[QueuedWork]:
    """Leases up to `limit` due rows of a queue, in order within each kind. Needs the space's lock.

    With `heads` at most one row of each named conversation, its first, for those who work off conversations side by
    side; otherwise a row comes together with everything due before it.

    Args:
        turn: which kind comes first depends on it, see `rules.order`; counts up with each claim.
        known: what `due` said in this transaction; asked for if None.
        left_since: what was taken in for a model after this moment is left to those who have one.
    """
    found = known or (await due(tx, [queue]))[queue]
    params: dict[str, object] = {"holder": holder, "lease_until": tx.now + visibility}
    params |= {"latest": tx.now + LONGEST_WAIT, "left_since": left_since}
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
        statement = _claim_statement(queue, heads, by_kind, left_since is not None)
        rows = await tx.fetch_all(statement, wanted, prepare=False)
        claimed += sorted((QueuedWork(queue=queue, **row) for row in rows), key=lambda row: row.id)
    return claimed


@lru_cache(maxsize=16)
def _claim_statement(queue: Queue, heads: bool, by_kind: bool, leaving: bool) -> sql.SQL:
    table = sql.Identifier(queue.value)
    statement = sql.SQL(CLAIM_HEADS if heads else CLAIM)
    of_kind = "p.kind = %(kind)s" if by_kind else "true"
    if leaving:
        of_kind += " AND (NOT p.for_model OR p.enqueued_at <= %(left_since)s)"
    left = "h.for_model AND h.enqueued_at > %(left_since)s" if leaving else "false"
    take = sql.SQL(TAKE).format(queue=table)
    return kept(statement.format(queue=table, take=take, of_kind=sql.SQL(of_kind), left=sql.SQL(left)))


@lru_cache(maxsize=8)
def _due_statement(queues: tuple[Queue, ...]) -> sql.SQL:
    parts = [
        sql.SQL(DUE).format(
            queue=sql.Identifier(queue.value), name=sql.Literal(queue.value), kinds=sql.Literal(list(KINDS[queue]))
        )
        for queue in queues
    ]
    return kept(sql.SQL(" UNION ALL ").join(parts))
