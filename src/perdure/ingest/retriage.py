"""Judging later what was kept as it was said while there was no judge."""

from __future__ import annotations

from typing import Final

from perdure.errors import ModelUnavailable
from perdure.ingest.keys import is_tools
from perdure.ingest.verbatim import VERBATIM
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.evidence import VerbatimExchange, verbatim_exchanges
from perdure.store.memories import MemoryRow
from perdure.store.queue import Queue, enqueue
from perdure.store.spaces import SpaceRow, lock_space
from perdure.text import ASSISTANT
from perdure.types import Trust

BATCH: Final = 256


async def retriage(resources: Resources, space: SpaceRow, *, limit: int) -> int:
    """Puts exchanges, mails and events that were kept verbatim back into the queue, oldest first; returns how many.

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
            if exchanges:
                await note(tx, "retriage", touched=len(exchanges))
            return len(exchanges)

        found = await resources.database.in_space(space.id, write, writer=True)
        queued += found
        if found < BATCH:
            break
    return queued


async def _put_back(tx: SpaceTransaction, exchange: VerbatimExchange) -> None:
    first = exchange.texts[0][0].memory
    said = exchange.kind == "exchange"
    payload = _said(exchange) if said else _item(exchange)
    await enqueue(
        tx,
        Queue.TRIAGE,
        "conversation" if said else exchange.kind,
        {**payload, "operation_id": exchange.operation_id, "replaces": list(exchange.ids)},
        conversation_id=(first.conversation_id if said else exchange.operation_id) or "",
        audience=first.audience,
        speaker=_user_of(exchange) if said else first.speaker,
        occurred_at=first.source_date,
        for_model=True,
    )


def _user_of(exchange: VerbatimExchange) -> str | None:
    return next((text[0].memory.speaker for text in exchange.texts if text[0].memory.trust is Trust.USER), None)


def _said(exchange: VerbatimExchange) -> dict[str, object]:
    """An exchange as capture queues it."""

    firsts = [(text[0].memory, _words(text)) for text in exchange.texts]
    replies = [words for memory, words in firsts if memory.speaker == ASSISTANT]
    return {
        "user": "\n".join(words for memory, words in firsts if memory.trust is Trust.USER),
        "assistant": "\n".join(replies),
        "tools": [
            {"name": memory.speaker, "content": words, "ok": True, "trust": memory.trust}
            for memory, words in firsts
            if memory.speaker != ASSISTANT and is_tools(memory.source, memory.trust)
        ],
        "recalled_ids": [],
    }


def _item(exchange: VerbatimExchange) -> dict[str, object]:
    """A mail or an event as an import queues it."""
    return {
        "source": exchange.kind,
        "external_id": exchange.operation_id,
        "series": exchange.operation_id,
        "title": "",
        "text": "\n".join(map(_words, exchange.texts)),
        "cancelled": False,
        "metadata": dict(exchange.texts[0][0].memory.metadata),
    }


def _words(text: tuple[MemoryRow, ...]) -> str:
    return "\n".join(row.memory.summary for row in text)
