"""Slots: a live turn goes first, background work is not starved, and cancelling neither loses nor makes a slot."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.llm.slots import LIVE_AHEAD, Slots


class Hands:
    """A clock that is moved by hand."""

    seconds = 0.0

    def now(self) -> datetime | None:
        return None

    def monotonic(self) -> float:
        return self.seconds


class Users:
    """Tasks that hold a slot until they are told to let go; `order` is who got one."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.order: list[str] = []
        self.done: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.holding = 0
        self.most = 0

    async def come(self, name: str, *, live: bool) -> None:
        self.done[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._use(name, live=live))
        await settled()

    async def leave(self, name: str) -> None:
        self.done[name].set()
        await settled()

    async def close(self) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    async def _use(self, name: str, *, live: bool) -> None:
        async with self.slots.hold(live=live):
            self.order.append(name)
            self.holding += 1
            self.most = max(self.most, self.holding)
            try:
                await self.done[name].wait()
            finally:
                self.holding -= 1


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def test_a_live_turn_goes_before_background_work_that_came_first() -> None:
    users = Users(Slots(1, Hands()))
    await users.come("first", live=False)
    await users.come("background", live=False)
    await users.come("turn", live=True)
    await users.leave("first")
    assert users.order == ["first", "turn"]
    await users.leave("turn")
    assert users.order == ["first", "turn", "background"]
    await users.close()


async def test_each_kind_is_served_in_the_order_in_which_it_came() -> None:
    users = Users(Slots(1, Hands()))
    await users.come("holder", live=True)
    for name in ("b1", "l1", "b2", "l2"):
        await users.come(name, live=name.startswith("l"))
    for name in ("holder", "l1", "l2", "b1"):
        await users.leave(name)
    assert users.order == ["holder", "l1", "l2", "b1", "b2"]
    await users.close()


async def test_background_work_that_waited_long_is_served_between_live_turns() -> None:
    clock = Hands()
    users = Users(Slots(1, clock, ageing_s=60))
    await users.come("holder", live=True)
    await users.come("background", live=False)
    for number in range(2 * LIVE_AHEAD):
        await users.come(f"turn {number}", live=True)
    clock.seconds = 61
    await users.leave("holder")
    for number in range(LIVE_AHEAD):
        await users.leave(f"turn {number}")
    assert users.order[-1] == "background"
    await users.close()


async def test_a_backlog_of_old_background_work_goes_before_a_turn_at_most_once() -> None:
    clock = Hands()
    users = Users(Slots(1, clock, ageing_s=60))
    await users.come("holder", live=False)
    for number in range(20):
        await users.come(f"background {number}", live=False)
    clock.seconds = 1000
    await users.come("turn", live=True)
    await users.leave("holder")
    if users.order[-1] != "turn":
        await users.leave(users.order[-1])
    assert users.order[-1] == "turn"
    await users.close()


async def test_cancelling_a_wait_leaves_the_place_to_the_next() -> None:
    slots = Slots(1, Hands())
    users = Users(slots)
    await users.come("holder", live=False)
    await users.come("gone", live=True)
    await users.come("next", live=False)
    users.tasks["gone"].cancel()
    await settled()
    await users.leave("holder")
    assert users.order == ["holder", "next"]
    await users.close()
    assert (slots.free, slots.waiting) == (1, 0)


async def test_a_slot_given_in_the_moment_of_cancelling_is_passed_on() -> None:
    slots = Slots(1, Hands())
    users = Users(slots)
    await users.come("holder", live=False)
    await users.come("gone", live=False)
    await users.come("next", live=False)
    users.done["holder"].set()
    await asyncio.sleep(0)  # the holder wakes and gives the slot to "gone", which hasn't woken yet
    users.tasks["gone"].cancel()
    await settled()
    assert users.order[-1] == "next"
    await users.close()
    assert (slots.free, slots.waiting) == (1, 0)


async def test_one_cancelled_in_the_moment_of_giving_gets_no_slot() -> None:
    slots = Slots(1, Hands())
    users = Users(slots)
    await users.come("holder", live=False)
    await users.come("gone", live=False)
    users.tasks["gone"].cancel()
    users.tasks["holder"].cancel()
    await settled()
    assert users.order == ["holder"]
    assert (slots.free, slots.waiting) == (1, 0)


def test_an_endpoint_without_a_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Slots(0, Hands())


STEPS = st.lists(
    st.tuples(st.sampled_from(["live", "background", "leave", "cancel", "wait", "tick"]), st.integers(0, 30)),
    max_size=60,
)


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 3), STEPS)
def test_whatever_is_cancelled_slots_are_neither_lost_nor_made(count: int, steps: list[tuple[str, int]]) -> None:
    async def scenario() -> None:
        clock = Hands()
        slots = Slots(count, clock, ageing_s=20)
        users = Users(slots)
        for number, (step, value) in enumerate(steps):
            names = list(users.tasks)
            chosen = names[value % len(names)] if names else None
            if step in ("live", "background"):
                users.done[str(number)] = asyncio.Event()
                users.tasks[str(number)] = asyncio.create_task(users._use(str(number), live=step == "live"))
            elif step == "wait":
                await settled()
            elif step == "tick":
                clock.seconds += value
                await asyncio.sleep(0)
            elif chosen and step == "leave":
                users.done[chosen].set()
            elif chosen:
                users.tasks[chosen].cancel()
        await settled()
        assert users.most <= count
        assert slots.free == count - users.holding
        assert not (slots.free and slots.waiting), "nobody waits beside a free slot"
        await users.close()
        assert (slots.free, slots.waiting) == (count, 0)

    run(scenario())
