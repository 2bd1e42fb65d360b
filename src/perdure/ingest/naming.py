"""Whom and what a text names, by the subagent. It is a help in finding, and holds up nothing that is to be stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perdure.errors import ModelFailed
from perdure.ingest.saving import masked_labels
from perdure.llm import Ledger, render
from perdure.llm.schemas import ExtractedEntities
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue, QueuedWork, enqueue
from perdure.text import entity_key, entity_keys


@dataclass(frozen=True, slots=True)
class Named:
    """Whom and what a text names, and the prompt and model that said so."""

    entities: tuple[str, ...]
    made_by: str


async def extracted_entities(resources: Resources, text: str, ledger: Ledger) -> Named | None:
    """Whom and what a text names, by the subagent; None without one.

    Raises:
        ModelUnavailable, ModelFailed.
    """
    if not resources.models.can("entities"):
        return None
    answer = await resources.models.ask("entities", render("entities", text=text), ExtractedEntities, ledger=ledger)
    return Named(masked_labels(answer.value.entities), answer.made_by)


async def entities_or_later(resources: Resources, text: str, ledger: Ledger) -> tuple[Named | None, bool]:
    """As `extracted_entities`; True where the model's answer was none: that holds up nothing, and is asked again later.

    Raises:
        ModelUnavailable.
    """
    try:
        return await extracted_entities(resources, text, ledger), False
    except ModelFailed:
        return None, True


async def ask_later(tx: SpaceTransaction, work: QueuedWork, site: str, ids: Sequence[int], **more: object) -> None:
    """Queues a question about memories that are stored now, on behalf of the work they come from."""
    payload = {"ids": list(ids), **more}
    await enqueue(
        tx,
        Queue.FOLLOWUP,
        site,
        payload,
        audience=work.audience,
        speaker=work.speaker,
        occurred_at=work.occurred_at,
    )


def keys_to_share(text: str, entities: Sequence[str] | None) -> tuple[str, ...]:
    """Keys of entities by which candidates are looked for: those that are known, else all that the text could name."""
    if entities is None:
        return tuple(entity_keys(text))
    return tuple(sorted({entity_key(entity) for entity in entities} - {""}))
