"""How many requests an endpoint works on at a time, and who is next.

A live turn goes before background work. Background work that has waited for `ageing_s` may go before a live turn, but
only after three live ones went before it: a steady stream of turns can't starve it, and a backlog of it can't hold
up a turn by more than one request.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from perdure.clock import Clock

AGEING_S = 60.0
LIVE_AHEAD = 3
"""Live turns that go before background work which has aged."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    turn: asyncio.Future[None]
    since: float


class Slots:
    """`count` slots, handed out within one event loop."""

    def __init__(self, count: int, clock: Clock, *, ageing_s: float = AGEING_S) -> None:
        if count < 1:
            raise ValueError("an endpoint has at least one slot")
        self.count = count
        self._clock = clock
        self._ageing_s = ageing_s
        self._free = count
        self._live: deque[_Waiter] = deque()
        self._background: deque[_Waiter] = deque()
        self._went_ahead = 0

    @property
    def free(self) -> int:
        return self._free

    @property
    def waiting(self) -> int:
        return len(self._live) + len(self._background)

    @asynccontextmanager
    async def hold(self, *, live: bool) -> AsyncIterator[None]:
        """One slot for the length of the block; cancelling the wait or the block gives it back exactly once."""
        await self._acquire(self._live if live else self._background)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, queue: deque[_Waiter]) -> None:
        if self._free:  # then nobody waits: whoever lets a slot go hands it on
            self._free -= 1
            return
        waiter = _Waiter(asyncio.get_running_loop().create_future(), self._clock.monotonic())
        queue.append(waiter)
        try:
            await waiter.turn
        except asyncio.CancelledError:
            # The slot may have been given to us in the very moment in which we were cancelled.
            if not waiter.turn.cancelled():
                self._release()
            elif waiter in queue:
                queue.remove(waiter)
            raise

    def _release(self) -> None:
        self._free += 1
        while self._free and (waiter := self._next()) is not None:
            # One that was cancelled in this very moment takes itself off when it wakes; it gets no slot.
            if not waiter.turn.done():
                self._free -= 1
                waiter.turn.set_result(None)

    def _next(self) -> _Waiter | None:
        if self._background and (not self._live or self._aged()):
            self._went_ahead = 0
            return self._background.popleft()
        if self._live:
            self._went_ahead += 1 if self._background else 0
            return self._live.popleft()
        return None

    def _aged(self) -> bool:
        waited = self._clock.monotonic() - self._background[0].since
        return waited >= self._ageing_s and self._went_ahead >= LIVE_AHEAD
