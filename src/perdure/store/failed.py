"""What failed for good: looked at, put back into the queue, or dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction
from perdure.store.queue import KINDS, Queue, QueuedWork, enqueue, storable
from perdure.types import FailedOperation

MAX_ANSWER_CHARS: Final = 20_000
"""How much of a model's answer is kept: more than any call asks for."""

MAX_LABEL_CHARS: Final = 200
MAX_ERROR_CHARS: Final = 2000

OF_QUEUE: Final[Mapping[Queue, str]] = {Queue.TRIAGE: "triage", Queue.DISTILLATION: "distillation"}
"""The kind of operation that works off a queue; of the others each kind of work is one of its own."""
OPERATIONS: Final = frozenset(OF_QUEUE.get(queue, kind) for queue, kinds in KINDS.items() for kind in kinds)
"""The kinds of operation that a replay puts back into their queue."""

RECORD_FAILURE: Final = """
    INSERT INTO failed_operations (space_id, op_type, label, error, context, created_at)
    VALUES (%(space_id)s, %(op_type)s, %(label)s, %(error)s, %(context)s, %(now)s)
    RETURNING id
"""

COUNT_FAILED: Final = """
    SELECT count(*) AS failed FROM failed_operations WHERE space_id = %(space_id)s
"""

LIST_FAILED: Final = """
    SELECT id, op_type, label, error, created_at, context ->> 'audience' AS audience,
           octet_length(context::text) AS context_bytes
    FROM failed_operations
    WHERE space_id = %(space_id)s
      AND (%(audience)s::text IS NULL OR context ->> 'audience' IS NULL OR context ->> 'audience' = %(audience)s)
      AND id > %(after)s
    ORDER BY id
    LIMIT %(limit)s
"""

READ_CONTEXT: Final = """
    SELECT context
    FROM failed_operations
    WHERE space_id = %(space_id)s AND id = %(id)s
      AND (context ->> 'audience' IS NULL OR context ->> 'audience' = %(audience)s)
"""

# Of two that take the same row the second waits and finds it gone: nothing is put back twice.
TAKE_FAILED: Final = """
    DELETE FROM failed_operations
    WHERE space_id = %(space_id)s AND op_type = ANY(%(op_types)s::text[])
      AND (%(ids)s::bigint[] IS NULL OR id = ANY(%(ids)s::bigint[]))
      AND (%(audience)s::text IS NULL OR context ->> 'audience' IS NULL OR context ->> 'audience' = %(audience)s)
    RETURNING id, context
"""

DROP_FAILED: Final = """
    DELETE FROM failed_operations
    WHERE space_id = %(space_id)s AND id = ANY(%(ids)s::bigint[])
      AND (%(audience)s::text IS NULL OR context ->> 'audience' IS NULL OR context ->> 'audience' = %(audience)s)
    RETURNING id
"""


async def record_failure(tx: SpaceTransaction, work: QueuedWork, error: str, answer: str | None = None) -> int:
    """Keeps work that was given up, with all that a replay needs; returns the id of the failed operation.

    `answer` is what a model said last that could not be used.
    """
    context = {
        "id": work.id,
        "queue": work.queue.value,
        "kind": work.kind,
        "conversation_id": work.conversation_id,
        "audience": work.audience,
        "speaker": work.speaker,
        "payload": dict(work.payload),
        "occurred_at": work.occurred_at.isoformat(),
        "attempts": work.attempts,
        "for_model": work.for_model,
    }
    if answer is not None:
        context["answer"] = storable(answer[:MAX_ANSWER_CHARS])
    what = "exchange" if work.kind == "conversation" else work.kind
    label = f"{what} {work.id} of conversation {work.conversation_id or '(none)'}"
    params = {
        "op_type": operation_of(work),
        "label": label[:MAX_LABEL_CHARS],
        "error": storable(error)[:MAX_ERROR_CHARS],
    }
    found = await tx.fetch_one(RECORD_FAILURE, {**params, "context": Jsonb(context)})
    assert found is not None
    return int(found["id"])


def operation_of(work: QueuedWork) -> str:
    """The kind of operation that works off such a row."""
    return OF_QUEUE.get(work.queue, work.kind)


async def count_failed(tx: SpaceTransaction) -> int:
    row = await tx.fetch_one(COUNT_FAILED)
    assert row is not None
    return int(row["failed"])


async def list_failed(
    tx: SpaceTransaction, limit: int, audience: str | None = None, *, after: int = 0
) -> list[FailedOperation]:
    """The oldest failed operations, without what was said: of the whole space and this audience; None: all of them.

    Those with a higher id than `after`.
    """
    params = {"limit": limit, "audience": audience, "after": after}
    return [FailedOperation(**row) for row in await tx.fetch_all(LIST_FAILED, params)]


async def read_context(tx: SpaceTransaction, failed_id: int, audience: str | None) -> Mapping[str, Any] | None:
    """All that a replay of this operation needs, if this audience may see it."""
    row = await tx.fetch_one(READ_CONTEXT, {"id": failed_id, "audience": audience})
    return row["context"] if row else None


async def requeue_failed(tx: SpaceTransaction, ids: Sequence[int] | None, audience: str | None = None) -> list[int]:
    """Puts work back at the end of its queue with all its attempts; returns the ids that were there. None: all.

    `audience` as in `list_failed`. Rows of one conversation keep their order.
    """
    params = {"op_types": sorted(OPERATIONS), "ids": None if ids is None else list(ids), "audience": audience}
    rows = sorted(await tx.fetch_all(TAKE_FAILED, params), key=lambda row: row["context"]["id"])
    for row in rows:
        context = row["context"]
        await enqueue(
            tx,
            # What the first version kept was an exchange, and it didn't say so.
            Queue(context.get("queue", Queue.TRIAGE.value)),
            context.get("kind", "conversation"),
            context["payload"],
            conversation_id=context["conversation_id"],
            audience=context["audience"],
            speaker=context["speaker"],
            occurred_at=datetime.fromisoformat(context["occurred_at"]),
            for_model=context.get("for_model", False),
        )
    return sorted(row["id"] for row in rows)


async def drop_failed(tx: SpaceTransaction, ids: Sequence[int], audience: str | None = None) -> list[int]:
    """Erases failed operations with what was said; returns the ids that were there. `audience` as in `list_failed`."""
    return sorted(row["id"] for row in await tx.fetch_all(DROP_FAILED, {"ids": list(ids), "audience": audience}))
