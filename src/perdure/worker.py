"""The heartbeat: one loop that looks for due work and hands it to the rooms that do it.

It has no work of its own. State lives in the database, leases keep workers apart, and any number of workers, in any
number of processes, may run at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from perdure.acting import Actor, Door, acting
from perdure.chores import Chores
from perdure.errors import DatabaseUnavailable, without_words
from perdure.observing import Worked, observe
from perdure.recall import recall_for_tasks
from perdure.resources import Resources
from perdure.store.database import Transaction
from perdure.store.workers import leave, tell, tell_beat

LOOK_S: Final = 5.0
"""How often a worker looks for spaces that have gone quiet, between its heartbeats."""
PATIENCE_S: Final = 3.0
"""How long a worker that is told to stop waits for the step at hand …"""
CUT_OFF_S: Final = 1.0
"""… and how long cancelled work may take to end, and to end once more: 5 s in all."""
LONGEST_S: Final = 600.0
"""A chore leaves off after the step that it is at when its time is up, such as a question to a model. What takes so
much longer hangs, and is cut off."""
SHARES: Final = {"drain": 0.5, "tasks": 0.55, "upkeep": 0.75, "cognition": 1.0}
"""By which part of the interval each chore of a heartbeat has to leave off: none starves those after it."""

log = logging.getLogger("perdure.worker")


@dataclass(slots=True)
class _Beat:
    """What one heartbeat did."""

    drained: int = 0
    kept_up: int = 0
    concluded: int = 0
    trouble: str | None = None


class Worker:
    """Runs until `stop`; drains a space once it has been quiet for 30 s, and does everything at each heartbeat."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._holder = f"worker-{uuid.uuid4()}"
        self._stopping = asyncio.Event()
        self._chores = Chores(resources, self._holder, self._stopping.is_set)
        self._starting = True
        self._task: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts the loop in the running event loop."""
        self._task = asyncio.create_task(self._act(), name="perdure-worker")
        self._warming = asyncio.create_task(self._warm_up(), name="perdure-warming")

    async def stop(self, patience_s: float = PATIENCE_S) -> None:
        """Ends the loop after the step at hand; what is cut off after `patience_s` is taken up again later.

        A query of a frozen database ends at the second cancellation, which closes its connection.
        """
        self._stopping.set()
        if self._warming is not None:
            self._warming.cancel()
        if self._task is None:
            return
        for seconds in (patience_s, CUT_OFF_S, CUT_OFF_S):
            done, _ = await asyncio.wait({self._task}, timeout=seconds)
            if done:
                return
            self._task.cancel()

    async def _warm_up(self) -> None:
        """Has the embedder load its model before the first turn, whose deadline that would use up."""
        try:
            await self._resources.embedder.embed(["warm"], "query")
        except Exception as error:
            log.info("the embedder could not be tried: %s", without_words(error))

    async def tick(self, *, heartbeat: bool) -> int:
        """Drains what is due, at a heartbeat in spaces where somebody talks, too. Returns how much was settled."""
        settings, clock = self._resources.settings, self._resources.database.clock
        quiet = None if heartbeat else timedelta(seconds=settings.idle_drain_s)
        return await self._chores.drain(quiet=quiet, until=clock.monotonic() + settings.heartbeat_interval_s)

    async def beat(self) -> None:
        """One whole heartbeat: drain, recall for tasks, upkeep, cognition; each leaves off in time for the next."""
        clock = self._resources.database.clock
        began, interval = clock.monotonic(), self._resources.settings.heartbeat_interval_s
        beat = _Beat()

        def end_of(chore: str) -> float:
            return began + SHARES[chore] * interval

        async def drain() -> None:
            beat.drained = await self._chores.drain(quiet=None, until=end_of("drain"))

        async def tasks() -> None:
            end = end_of("tasks")
            await recall_for_tasks(
                self._resources, heartbeat=True, stopping=lambda: self._stopping.is_set() or clock.monotonic() >= end
            )

        async def upkeep() -> None:
            beat.kept_up = await self._chores.keep_up(until=end_of("upkeep"))

        async def cognition() -> None:
            end = end_of("cognition")
            beat.concluded = await self._chores.think(until=end, starting=self._starting)
            # Where there was no time to look into every space, the next beat does it.
            self._starting = self._starting and clock.monotonic() >= end

        for name, chore in (("drain", drain), ("tasks", tasks), ("upkeep", upkeep), ("cognition", cognition)):
            if not self._stopping.is_set():
                await self._tell(name)
                left_s = max(0.0, end_of(name) - clock.monotonic()) + LONGEST_S
                beat.trouble = await self._attempt(name, chore, left_s) or beat.trouble
        await self._tell_beat(beat)

    async def _attempt(self, name: str, chore: Callable[[], Awaitable[None]], limit_s: float) -> str | None:
        """Does one chore; what goes wrong in it is told, and ends neither the beat nor the heart."""
        clock = self._resources.database.clock
        began = clock.monotonic()
        trouble = await self._done(name, chore, limit_s)
        observe(Worked(name, clock.monotonic() - began, trouble is not None))
        return trouble

    async def _done(self, name: str, chore: Callable[[], Awaitable[None]], limit_s: float) -> str | None:
        try:
            async with asyncio.timeout(limit_s):
                await chore()
        except DatabaseUnavailable as error:
            log.warning("the worker waits for the database: %s", error.message)
            return f"{name}: {error.message}"
        except Exception as error:
            log.error("the worker's %s failed: %s", name, without_words(error))  # noqa: TRY400
            return f"{name}: {type(error).__name__}"
        return None

    async def _act(self) -> None:
        with acting(Actor("worker", Door.WORKER)):
            await self._run()

    async def _run(self) -> None:
        settings = self._resources.settings
        clock = self._resources.database.clock
        last_heartbeat = clock.monotonic()
        await self._tell("waiting")
        while not self._stopping.is_set():
            if clock.monotonic() - last_heartbeat >= settings.heartbeat_interval_s:
                last_heartbeat = clock.monotonic()
                await self.beat()
            else:
                await self._attempt("look", self._look, settings.heartbeat_interval_s + LONGEST_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    min(LOOK_S, settings.heartbeat_interval_s, max(settings.idle_drain_s, 0.05))
                ):
                    await self._stopping.wait()
        await self._leave()

    async def _look(self) -> None:
        """Between two heartbeats: spaces that have gone quiet, and tasks that were set since."""
        await self.tick(heartbeat=False)
        await recall_for_tasks(self._resources, heartbeat=False, stopping=self._stopping.is_set)

    async def _tell(self, doing: str) -> None:
        async def write(tx: Transaction) -> None:
            await tell(tx, self._holder, host=socket.gethostname(), process=os.getpid(), doing=doing)

        await self._write(write)

    async def _tell_beat(self, beat: _Beat) -> None:
        async def write(tx: Transaction) -> None:
            await tell_beat(
                tx,
                self._holder,
                drained=beat.drained,
                kept_up=beat.kept_up,
                concluded=beat.concluded,
                trouble=beat.trouble,
            )

        await self._write(write)

    async def _leave(self) -> None:
        async def write(tx: Transaction) -> None:
            await leave(tx, self._holder)

        await self._write(write)

    async def _write(self, work: Callable[[Transaction], Awaitable[None]]) -> None:
        """What others see of this worker is no reason to stop it."""
        try:
            await self._resources.database.across(work, as_worker=True)
        except DatabaseUnavailable as error:
            log.info("the worker can't say what it does: %s", error.message)
