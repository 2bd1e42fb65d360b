"""How a piece of queued work is done: outside calls first, then one callable inside the transaction that finishes it.

A handler asks models and embedder and returns `Ready`; nothing is written by it. The drain then opens one writer
transaction, locks the space, runs `Ready.write`, records what the ledger counted and takes the row off its queue:
everything of it stays, or nothing does. A transaction may run more than once, so `write` speaks to it and to nothing
else, and leaves what it was given as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from perdure.llm import Ledger
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.queue import QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.types import Nothing, Outcome

T = TypeVar("T")
ROUNDS = 5
"""How often what turned up meanwhile is judged before the work is given back, without an attempt."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Work whose outside calls are done.

    `write` runs with the space locked and returns what became of the work. It may raise `Unjudged`: the transaction is
    rolled back, `judge` is awaited with its ids outside of any transaction, and `write` runs again (`ROUNDS` times).
    """

    write: Callable[[SpaceTransaction], Awaitable[Sequence[Outcome]]]
    judge: Callable[[Sequence[int]], Awaitable[None]] | None = None

    @classmethod
    def nothing(cls, reason: str) -> Ready:
        """Work that comes to nothing; `reason` tells why."""

        async def write(_: SpaceTransaction) -> Sequence[Outcome]:
            return [Nothing(reason)]

        return cls(write)


class Unjudged(Exception):
    """Since the outside calls began, these memories came in; nobody has said yet how they go with the new text."""

    def __init__(self, ids: Sequence[int]) -> None:
        super().__init__(f"{len(ids)} memories came in meanwhile")
        self.ids = tuple(ids)


Handler = Callable[[Resources, SpaceRow, QueuedWork, Ledger], Awaitable[Ready]]
"""Raises ModelUnavailable or EmbeddingUnavailable for an outage: the work waits. Every other error is an attempt."""


async def together(*calls: Awaitable[T]) -> list[T]:
    """Awaits outside calls side by side; the first error cancels the others and is raised as it is."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
