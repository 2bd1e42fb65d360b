"""An endpoint at a double, with short ways to call it and to see what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from perdure.clock import DatabaseClock
from perdure.errors import ModelFailed, ModelUnavailable
from perdure.llm import Ledger, Prompt, Reply, render
from perdure.llm.endpoint import Endpoint, EndpointLimits
from perdure.llm.port import Call
from perdure.llm.schemas import ExtractedEntities
from tests.doubles.chat_server import ChatServer

PROMPT = render("entities", text="Ada moved to Lisbon.")
SITE = "entities"


class Waits(list[float]):
    """Records how long the client wanted to wait, and doesn't."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Shifted:
    """The real clock, plus what a test adds."""

    ahead = 0.0

    def now(self) -> datetime | None:
        return None

    def monotonic(self) -> float:
        return DatabaseClock().monotonic() + self.ahead


class Caller:
    """An endpoint, the ledger of its calls, and short ways to make them."""

    def __init__(self, url: str, **options: Any) -> None:
        self.clock = Shifted()
        self.waits = Waits()
        limits = EndpointLimits(**{"probe": 5.0, "stall": 10.0, **options.pop("limits", {})})
        given = {"clock": self.clock, "limits": limits, "chance": lambda: 0.0, "sleep": self.waits, **options}
        self.endpoint = Endpoint(url, **given)
        self.ledger = Ledger()

    def call(self, *, seconds: float = 5.0, live: bool = False) -> Call:
        return Call(SITE, "subagent", self.ledger, self.clock.monotonic() + seconds, 200, live)

    async def ask(self, prompt: Prompt = PROMPT, *, seconds: float = 5.0, live: bool = False) -> Reply:
        return await self.endpoint.complete_with_grammar(
            prompt, ExtractedEntities, self.call(seconds=seconds, live=live)
        )

    async def think(self, *, seconds: float = 5.0) -> Reply:
        return await self.endpoint.complete(PROMPT, self.call(seconds=seconds))

    async def fails(self, error: type[ModelFailed | ModelUnavailable], **given: Any) -> Any:
        with pytest.raises(error) as caught:
            await self.ask(**given)
        return caught.value


@asynccontextmanager
async def calling(server: ChatServer | str, **options: Any) -> AsyncIterator[Caller]:
    caller = Caller(server if isinstance(server, str) else server.url, **options)
    try:
        yield caller
    finally:
        await caller.endpoint.close()
        assert caller.endpoint.slots.free == caller.endpoint.slots.count, "a slot was lost or made"
