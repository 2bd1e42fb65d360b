"""Forks a process for each run of a script, so that a kill costs no start of an interpreter.

`python -m tests.faults.runner` reads one job per line (JSON, see `Job`) and writes one result per line (`Result`).
What a run does is told through a pipe as it happens: a call that was acknowledged before the kill stays told.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

from perdure import Memory, Space
from perdure.clock import SimulatedClock
from perdure.errors import DatabaseUnavailable
from perdure.store import database
from perdure.store.embedded import EmbeddedServer
from tests.doubles.embedder import HashedEmbedder
from tests.faults.points import FaultPoints, install
from tests.faults.scripts import LATER, SCRIPTS, Step
from tests.faults.state import State, read_state

PATIENCE_S = 90
HANGING_S = 0.5
"""Instead of 10 s, so that a process that hangs in a transaction is given up sooner."""


@dataclass(frozen=True)
class Job:
    """A run of a script in a space: from its step `begin` on, with a strike at point `at` (None: none).

    `strike`: self (this process is killed), stop (it hangs until it is told to go on), backend (the server's end of the
    connection is killed, and PostgreSQL restarts), server (all of it is killed, and started again).
    `repeat`: once finished, everything is called once more.
    """

    script: str
    space: str
    now: str
    app: str
    worker: str
    admin: str
    data_dir: str
    begin: int = 0
    at: int | None = None
    strike: str = "self"
    repeat: bool = False


@dataclass
class Result:
    """How a run went: calls acknowledged, the point struck, all points passed, the states, and its end."""

    acknowledged: int = 0
    stopped: bool = False
    struck: str | None = None
    points: list[str] = field(default_factory=list)
    state: State | None = None
    repeated: State | None = None
    status: int = 0
    error: str | None = None

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL


class Running:
    """A forked process and what it has told so far."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.result = Result(acknowledged=job.begin)
        reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(reading)
            os._exit(_in_child(job, writing))
        os.close(writing)
        self._told = os.fdopen(reading)

    def follow(self) -> Result:
        """Listens until the process has ended, one way or the other, or has stopped itself."""
        for line in self._told:
            # A process that was killed may leave half a line, which it therefore did not say.
            with suppress(ValueError):
                self._note(json.loads(line))
            if self.result.struck and self._job.strike == "stop" and not self.result.stopped:
                self.result.stopped = True
                os.waitpid(self._pid, os.WUNTRACED)
                return self.result
        self.result.status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self.result

    def go_on(self) -> Result:
        os.kill(self._pid, signal.SIGCONT)
        return self.follow()

    def _note(self, said: dict[str, Any]) -> None:
        if said.pop("server", None) == "down":
            EmbeddedServer.open(Path(self._job.data_dir))
        for name, value in said.items():
            setattr(self.result, name, value)


def main() -> None:
    asyncio.run(_warm_up())
    stopped: list[Running] = []
    for line in sys.stdin:
        asked = json.loads(line)
        if asked == "go on":
            result = stopped.pop().go_on()
        else:
            running = Running(Job(**asked))
            result = running.follow()
            if result.stopped:
                stopped.append(running)
        print(json.dumps(asdict(result)), flush=True)


async def _warm_up() -> None:
    """Imports what the driver and the HTTP client import at their first use, so that no fork does it anew."""
    with suppress(httpx.ConnectError):
        async with httpx.AsyncClient() as client:
            await client.get("http://127.0.0.1:1/")
    with suppress(psycopg.OperationalError):
        await psycopg.AsyncConnection.connect("host=127.0.0.1 port=1 connect_timeout=2")


def _in_child(job: Job, writing: int) -> int:
    faulthandler.dump_traceback_later(PATIENCE_S, exit=True)

    def tell(**said: object) -> None:
        os.write(writing, json.dumps(said, default=str).encode() + b"\n")

    try:
        asyncio.run(_play(job, tell))
    except BaseException:
        tell(error=traceback.format_exc())
        return 1
    return 0


async def _play(job: Job, tell: Callable[..., None]) -> None:
    def strike(label: str, backend: int) -> None:
        tell(struck=label)
        if job.strike == "self":
            os.kill(os.getpid(), signal.SIGKILL)
        elif job.strike == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif job.strike == "server":
            kill_server(Path(job.data_dir))
            tell(server="down")
        elif backend:
            os.kill(backend, signal.SIGKILL)

    script = SCRIPTS[job.script]
    clock = SimulatedClock(datetime.fromisoformat(job.now))
    points = FaultPoints(job.at, strike)
    database.HANGING_S = HANGING_S  # type: ignore[misc]
    install(points)
    with script.surroundings() as settings:
        async with Memory.open(
            database_url=job.app,
            database_worker_url=job.worker,
            embedder=HashedEmbedder(),
            worker=False,
            clock=clock,
            **settings,
        ) as memory:
            space = memory.space(job.space)
            for number, step in enumerate(script.steps[job.begin :], job.begin):
                points.armed = number >= script.prepared
                await _until_done(step, space, clock, patient=job.strike != "self")
                points.armed = False
                tell(acknowledged=number + 1)
            tell(state=await _state(job), points=points.labels)
            if job.repeat:
                for step in script.steps:
                    await step(space)
                tell(repeated=await _state(job))


async def _until_done(step: Step, space: Space, clock: SimulatedClock, *, patient: bool) -> None:
    """Repeats a call until it is acknowledged; a patient client comes back when every lease has run out."""
    while True:
        try:
            await step(space)
        except DatabaseUnavailable:
            if not patient:
                raise
            clock.advance(LATER)
            await asyncio.sleep(0.05)
        else:
            return


async def _state(job: Job) -> State:
    """What the space holds, as soon as the server can be asked."""
    while True:
        try:
            return read_state(job.admin, job.space)
        except psycopg.OperationalError:
            await asyncio.sleep(0.05)


def kill_server(data_dir: Path) -> None:
    """Kills every process of an embedded server at once."""
    postmaster = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    with suppress(psutil.NoSuchProcess):
        processes = [postmaster, *(child.pid for child in psutil.Process(postmaster).children(recursive=True))]
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
