"""What a queue's work asks of language models, and what a process without one leaves to those who have one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from perdure.llm import Models
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.queue import KINDS, Queue, waiting_for_model

SITES: Final[Mapping[Queue, tuple[str, ...]]] = {
    Queue.TRIAGE: ("triage",),
    Queue.DISTILLATION: ("distillation",),
    Queue.FOLLOWUP: KINDS[Queue.FOLLOWUP],
}
"""What a queue's work asks; a follow-up is named after it."""


def asked_by(models: Models, queue: Queue) -> list[str]:
    """Of what a queue's work asks, that which a model is configured for here."""
    return [site for site in SITES[queue] if models.can(site)]


def left_since(resources: Resources, now: datetime) -> datetime:
    """From when on what was taken in for a model is left to those who have one."""
    return now - timedelta(seconds=resources.settings.wait_for_model_s)


async def left_to_models(tx: SpaceTransaction, resources: Resources) -> str | None:
    """What of this space is left to those who have a model, as there is none here: in words for a person."""
    queues = [queue for queue in Queue if not asked_by(resources.models, queue)]
    if not queues:
        return None
    count, oldest = await waiting_for_model(tx, queues, left_since(resources, tx.now))
    if oldest is None:
        return None
    until = oldest + timedelta(seconds=resources.settings.wait_for_model_s)
    return (
        f"{count:,} that came in while a language model was configured are left to a process that has one; from "
        f"{until.isoformat(' ', 'minutes')} on they are worked off without one (PERDURE_WAIT_FOR_MODEL_S)"
    )
