"""Judging later what was kept as it was said while there was no judge."""

from __future__ import annotations

from typing import Final

from perdure.errors import ModelUnavailable
from perdure.ingest.verbatim import VERBATIM
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.evidence import VerbatimExchange, verbatim_exchanges
from perdure.store.memories import MemoryRow
from perdure.store.queue import Queue, enqueue
from perdure.store.spaces import SpaceRow, lock_space
from perdure.types import Trust

BATCH: Final = 256


async def retriage(resources: Resources, space: SpaceRow, *, limit: int) -> int:
    """Puts exchanges that were kept verbatim back into the queue, oldest first; returns how many.

    The memories stay until the judge has spoken: saved, the new memory takes their place; else they are worth what the
    judge says, if that is less.

    Raises:
        ModelUnavailable: there is nobody to judge.
    """
    if not resources.models.can("triage"):
        raise ModelUnavailable(
            "No language model is configured that could judge what was stored.",
            hint="Set PERDURE_THINKER_URL or PERDURE_SUBAGENT_URL; docs/models.md shows how.",
        )
    queued = 0
    while queued < limit:

        async def write(tx: SpaceTransaction, most: int = min(BATCH, limit - queued)) -> int:
            await lock_space(tx)
            exchanges = await verbatim_exchanges(tx, VERBATIM, most, space=space.name)
            for exchange in exchanges:
                await _put_back(tx, exchange)
            return len(exchanges)

        found = await resources.database.in_space(space.id, write, writer=True)
        queued += found
        if found < BATCH:
            break
    return queued


async def _put_back(tx: SpaceTransaction, exchange: VerbatimExchange) -> None:
    first = exchange.texts[0][0].memory
    user = [text for text in exchange.texts if text[0].memory.trust is Trust.USER]
    payload: dict[str, object] = {
        "operation_id": exchange.operation_id,
        "user": "\n".join(map(_words, user)),
        "assistant": "\n".join(_words(text) for text in exchange.texts if text[0].memory.trust is Trust.ASSISTANT),
        "tools": [
            {"name": text[0].memory.speaker, "content": _words(text), "ok": True}
            for text in exchange.texts
            if text[0].memory.trust is Trust.TOOL
        ],
        "recalled_ids": [],
        "replaces": list(exchange.ids),
    }
    await enqueue(
        tx,
        Queue.TRIAGE,
        "conversation",
        payload,
        conversation_id=first.conversation_id or "",
        audience=first.audience,
        speaker=user[0][0].memory.speaker if user else None,
        occurred_at=first.source_date,
    )


def _words(text: tuple[MemoryRow, ...]) -> str:
    return "\n".join(row.memory.summary for row in text)
