"""What makes a call safe to repeat: its operation id, a fingerprint of what was asked, and the first outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from perdure.errors import Conflict
from perdure.ingest.outcomes import outcome_from_data
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.operations import find_operation
from perdure.store.queue import Queue, enqueue_once
from perdure.types import Outcome, Pending

VERBS: Final = {"conversation": "capture"}
"""Verbs by the kind of work that they queue, where it isn't called like it."""


async def enqueue_operation(
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
    for_model: bool,
) -> Outcome:
    """Queues work under its operation id; a replay changes nothing and returns the first outcome.

    Raises:
        Conflict: the operation id was used before for something else.
    """
    queue_id = await enqueue_once(
        tx,
        queue,
        kind,
        payload,
        operation_id=operation_id,
        fingerprint=fingerprint,
        conversation_id=conversation_id,
        audience=audience,
        speaker=speaker,
        occurred_at=occurred_at,
        for_model=for_model,
    )
    if not queue_id:
        return await require_first_outcome(tx, operation_id, fingerprint)
    await note(tx, VERBS.get(kind, kind), [queue_id])
    return Pending(queue_id)


async def require_first_outcome(tx: SpaceTransaction, operation_id: str, fingerprint: bytes) -> Outcome:
    """As `first_outcome`, of an operation that is known to be there."""
    outcome = await first_outcome(tx, operation_id, fingerprint)
    assert outcome is not None
    return outcome


async def first_outcome(tx: SpaceTransaction, operation_id: str, fingerprint: bytes) -> Outcome | None:
    """What the first call with this operation id returned, if there was one.

    Raises:
        Conflict: it asked for something else.
    """
    found = await find_operation(tx, operation_id)
    if found is None:
        return None
    if found[0] != fingerprint:
        raise Conflict(
            f"operation_id {operation_id!r} was used before for something else.",
            hint="Use a new operation_id for a new exchange; repeat the old one only with the same content.",
        )
    return outcome_from_data(found[1])


def operation_fingerprint(*parts: object) -> bytes:
    """A digest of what an operation was asked to do."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
