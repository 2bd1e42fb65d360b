"""What `--json` prints: ids as strings, times in ISO 8601 UTC, names as in the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.printing import moment

if TYPE_CHECKING:
    from datetime import datetime

    from perdure.types import Evidence, Hit, LeftOut, PendingItem, StoredMemory

Data = dict[str, object]


def optional_moment(time: datetime | None) -> str | None:
    return None if time is None else moment(time)


def optional_id(number: int | None) -> str | None:
    return None if number is None else str(number)


def memory_data(memory: StoredMemory) -> Data:
    """A memory, all of it."""
    return {
        "space": memory.space,
        "id": str(memory.id),
        "summary": memory.summary,
        "memory_type": str(memory.memory_type),
        "salience": memory.salience,
        "usefulness": memory.usefulness,
        "confidence": memory.confidence,
        "retrieval_count": memory.retrieval_count,
        "source": memory.source,
        "trust": str(memory.trust),
        "source_date": moment(memory.source_date),
        "created_at": moment(memory.created_at),
        "tags": list(memory.tags),
        "entities": list(memory.entities),
        "speaker": memory.speaker,
        "audience": memory.audience,
        "conversation_id": memory.conversation_id,
        "language": memory.language,
        "metadata": dict(memory.metadata),
        "pinned": memory.pinned,
        "superseded_by": optional_id(memory.superseded_by),
        "superseded_at": optional_moment(memory.superseded_at),
        "superseded_reason": memory.superseded_reason,
        "related_ids": [str(other) for other in memory.related_ids],
        "chunk_of": optional_id(memory.chunk_of),
        "chunk_no": memory.chunk_no,
        "last_retrieved_at": optional_moment(memory.last_retrieved_at),
    }


def hit_data(hit: Hit) -> Data:
    """A memory, and why it was chosen."""
    return {
        **memory_data(hit.memory),
        "score": hit.score,
        "similarity": hit.similarity,
        "arms": list(hit.arms),
        "matched": list(hit.matched),
        "entity_match": hit.entity_match,
        "terms": dict(hit.terms),
        "query": hit.query,
        "led_by": optional_id(hit.led_by),
        "shared": list(hit.shared),
    }


def pending_data(item: PendingItem) -> Data:
    """An exchange that waits in the queue."""
    return {
        "queue_id": str(item.queue_id),
        "speaker": item.speaker,
        "text": item.text,
        "occurred_at": moment(item.occurred_at),
    }


def left_out_data(one: LeftOut) -> Data:
    """A memory that a recall left out, and why."""
    return {"id": str(one.id), "why": one.why, "beside": optional_id(one.beside), "tokens": one.tokens}


def evidence_data(evidence: Evidence) -> Data:
    """What a memory rests on."""
    return {
        "kind": evidence.kind,
        "external_id": evidence.external_id,
        "speaker": evidence.speaker,
        "observed_at": optional_moment(evidence.observed_at),
        "excerpt": evidence.excerpt,
    }
