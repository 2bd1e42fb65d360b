"""The kill matrix: a script is killed at a point, taken up again, and has to end as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

from tests.faults.runner import Result
from tests.faults.scripts import LATER
from tests.faults.state import RUNNING, State, differences, waiting

ROOT = Path(__file__).parents[2]
SHOWN, WIDTH = 5, 240
"""A failure tells so many lines of so many characters for each point: the first ones say enough."""


@dataclass(frozen=True)
class Place:
    """A server and the database in it that the scripts run in."""

    data_dir: Path
    app: str
    worker: str
    admin: str


@dataclass(frozen=True)
class Reference:
    """A run without a fault: what it leaves, and the points it passed."""

    state: State
    points: tuple[str, ...]


class Runner:
    """A process that forks one for each run."""

    def __init__(self, process: subprocess.Popen[str], place: Place) -> None:
        self._process = process
        self._place = place

    def run(self, script: str, space: str, *, after: timedelta = timedelta(0), **job: object) -> Result:
        place = self._place
        now = RUNNING + after
        asked = {"script": script, "space": space, "now": now.isoformat(), "data_dir": str(place.data_dir)}
        return self._ask(asked | {"app": place.app, "worker": place.worker, "admin": place.admin, **job})

    def go_on(self) -> Result:
        """Lets the run go on that was stopped last."""
        return self._ask("go on")

    def _ask(self, asked: object) -> Result:
        _pipe(self._process.stdin).write(json.dumps(asked) + "\n")
        _pipe(self._process.stdin).flush()
        answer = _pipe(self._process.stdout).readline()
        assert answer, f"the runner died with {self._process.wait()}"
        return Result(**json.loads(answer))

    def reference(self, script: str, space: str) -> Reference:
        """A run without a fault, repeated as a whole: which must change nothing."""
        result = self.run(script, space, repeat=True)
        assert result.status == 0, result.error
        assert result.state is not None
        assert result.repeated is not None
        assert waiting(result.state) == []
        assert result.points, "no fault point was passed"
        assert differences(result.state, result.repeated) == []
        return Reference(result.state, tuple(result.points))

    def struck(
        self, script: str, space: str, reference: Reference, at: int, strike: str = "self"
    ) -> tuple[list[str], bool]:
        """What is wrong after a strike at one point (nothing, if all is well), and whether the point was reached.

        A process that was killed is followed by one that makes the calls that were not acknowledged, and then, to see
        that this changes nothing, every call once more. Every third of these is killed, too, and followed by another.
        """
        result = self.run(script, space, at=at, strike=strike)
        label = f"{script} {at} ({result.struck}), {strike}"
        hangs, reached = result.stopped, result.struck is not None
        # Jobs side by side don't always make as many round trips: a run may end before its last points.
        if strike in {"self", "stop"} and reached:
            if not (hangs or result.killed):
                return [
                    f"{label}: neither killed nor stopped, but status {result.status}: {_last(result.error)}"
                ], reached
            result = self._taken_up(script, space, result.acknowledged, at if at % 3 == 2 and not hangs else None)
        if result.status or result.state is None:
            return [f"{label}: status {result.status}: {_last(result.error)}"], reached
        wrong = waiting(result.state) + differences(reference.state, result.state)
        if result.repeated is not None:
            wrong += [f"repeated: {line}" for line in differences(reference.state, result.repeated)]
        if hangs:
            late = self.go_on()
            if late.status or late.state is None:
                wrong.append(f"late: status {late.status}: {_last(late.error)}")
            else:
                # What it had asked of a model was asked, and counts, though what came of it changes nothing.
                late_state = differences(reference.state, late.state, besides=("model_usage",))
                wrong += [f"late: {line}" for line in late_state]
        return [f"{label}: {line}"[:WIDTH] for line in wrong[:SHOWN]], reached

    def _taken_up(self, script: str, space: str, begin: int, at: int | None) -> Result:
        """The run that follows one that was killed; with `at` it is killed as well, if it gets there."""
        after = LATER
        result = self.run(script, space, begin=begin, repeat=True, after=after, at=at)
        if not result.killed:
            return result
        return self.run(script, space, begin=result.acknowledged, repeat=True, after=after + LATER)


@contextmanager
def open_runner(place: Place) -> Iterator[Runner]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.runner"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        text=True,
    )
    try:
        yield Runner(process, place)
    finally:
        _pipe(process.stdin).close()
        process.wait(30)
        _pipe(process.stdout).close()


def _last(error: str | None) -> str:
    """What a traceback ends with."""
    return error.strip().splitlines()[-1] if error else "no error"


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
