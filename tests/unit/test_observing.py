"""Whoever listens hears how a verb ended; whoever fails to listen costs it nothing."""

from __future__ import annotations

import asyncio

import pytest

from perdure.errors import InvalidInput
from perdure.observing import Answered, Event, listening, observed


class Handle:
    """Something with a verb."""

    @observed
    async def recall(self, how: str) -> str:
        if how == "refused":
            raise InvalidInput("how", how, "it has to be another")
        if how == "broken":
            raise RuntimeError(how)
        if how == "long":
            await asyncio.sleep(60)
        return how


@pytest.mark.parametrize(
    ("how", "told"), [("well", None), ("refused", "invalid_input"), ("broken", "internal"), ("long", "cancelled")]
)
async def test_every_end_of_a_verb_is_told(how: str, told: str | None) -> None:
    heard: list[Event] = []
    with listening(heard.append):
        try:
            async with asyncio.timeout(0.05):
                await Handle().recall(how)
        except (InvalidInput, RuntimeError, TimeoutError):
            assert told is not None
    (event,) = heard
    assert isinstance(event, Answered)
    assert (event.verb, event.error) == ("recall", told)


async def test_a_listener_that_fails_costs_the_verb_nothing() -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("no")

    with listening(broken):
        assert await Handle().recall("well") == "well"
