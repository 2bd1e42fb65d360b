"""A process that is killed at any point of any script loses nothing and doubles nothing; nor does one that hangs.

`make test` strikes at a few points of each script, `make test-long` at every one. A long run that is interrupted goes
on where it was if PERDURE_FAULTS_DONE names a file in which to note what is done.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from tests.faults.harness import Reference, Runner
from tests.faults.scripts import SCRIPTS

SAMPLE = 2
"""Points per script in a run of `make test`."""
REACHED = 0.9
"""Jobs side by side make now more, now fewer round trips; at least so many of the chosen points have to be struck."""
PROGRESS_S = 20.0
COMMONLY = ("capture", "drain", "save", "judged mail")
"""Scripts whose server is killed, and whose process hangs, in a run of `make test`, too."""

Choice = Callable[[Reference], Iterable[int]]


@pytest.fixture
def strike(
    runners: Sequence[Runner], new_space: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> Callable[[str, Choice, str], list[str]]:
    """Strikes at the chosen points of a script, with as many processes as there are runners; returns what is wrong."""

    def all_of(script: str, choose: Choice, how: str) -> list[str]:
        reference = runners[0].reference(script, new_space())
        done = _Done(script, how)
        points = [at for at in choose(reference) if at not in done]
        free: SimpleQueue[Runner] = SimpleQueue()
        for runner in runners:
            free.put(runner)
        told = [time.monotonic(), 0.0]

        def one(at: int) -> tuple[list[str], bool]:
            runner = free.get()
            try:
                wrong, reached = runner.struck(script, new_space(), reference, at, how)
            finally:
                free.put(runner)
            if not wrong:
                done.note(at)
            told[1] += 1
            if time.monotonic() - told[0] > PROGRESS_S:
                told[0] = time.monotonic()
                with capsys.disabled():
                    print(f"\n  {script}, {how}: {told[1]:.0f} of {len(points)} points", end="", flush=True)
            return wrong, reached

        # A server is killed for everybody, and a heartbeat goes through the spaces of everybody.
        alone = how in {"server", "backend"} or script == "worker"
        with ThreadPoolExecutor(1 if alone else len(runners)) as pool:
            results = list(pool.map(one, points))
        assert sum(reached for _, reached in results) >= REACHED * len(points), "too many points were not reached"
        return [line for wrong, _ in results for line in wrong]

    return all_of


class _Done:
    """The points that an interrupted run has found to be fine, in the file that PERDURE_FAULTS_DONE names."""

    def __init__(self, script: str, how: str) -> None:
        named = os.environ.get("PERDURE_FAULTS_DONE")
        self._path = Path(named) if named else None
        self._name = f"{script} {how} "
        lines = self._path.read_text().splitlines() if self._path and self._path.exists() else []
        self._points = {int(line.removeprefix(self._name)) for line in lines if line.startswith(self._name)}

    def __contains__(self, at: int) -> bool:
        return at in self._points

    def note(self, at: int) -> None:
        if self._path:
            with self._path.open("a") as file:
                file.write(f"{self._name}{at}\n")


def a_few(script: str, most: int = SAMPLE) -> Choice:
    """Points spread over a script, elsewhere in each, half of them around its commits."""
    seed = zlib.crc32(script.encode())

    def choose(reference: Reference) -> list[int]:
        points = reference.points
        commits = [number for number, label in enumerate(points) if label.endswith("COMMIT")]
        half = max(1, most // 2)
        spread = [(seed + number * len(points) // half) % len(points) for number in range(most - half)]
        return sorted(
            {*spread, *(commits[(seed + number * len(commits) // half) % len(commits)] for number in range(half))}
        )

    return choose


def every(step: int) -> Choice:
    return lambda reference: range(0, len(reference.points), step)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_killed_process_loses_nothing_and_doubles_nothing(
    strike: Callable[[str, Choice, str], list[str]], script: str
) -> None:
    assert strike(script, a_few(script), "self") == []


@pytest.mark.parametrize("script", COMMONLY)
def test_a_process_that_hangs_past_its_lease_changes_nothing_when_it_goes_on(
    strike: Callable[[str, Choice, str], list[str]], script: str
) -> None:
    assert strike(script, a_few(script, 2), "stop") == []


@pytest.mark.parametrize("script", COMMONLY)
def test_a_killed_database_server_loses_nothing_and_doubles_nothing(
    strike: Callable[[str, Choice, str], list[str]], script: str
) -> None:
    assert strike(script, a_few(script, 1), "server") == []
    assert strike(script, a_few(script, 1), "backend") == []


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_process_killed_at_every_single_point_loses_nothing_and_doubles_nothing(
    strike: Callable[[str, Choice, str], list[str]], script: str
) -> None:
    assert strike(script, every(1), "self") == []


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_process_that_hangs_anywhere_changes_nothing_when_it_goes_on(
    strike: Callable[[str, Choice, str], list[str]], script: str
) -> None:
    assert strike(script, every(7), "stop") == []


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_database_server_killed_anywhere_loses_nothing_and_doubles_nothing(
    strike: Callable[[str, Choice, str], list[str]], script: str
) -> None:
    assert strike(script, every(7), "server") == []
    assert strike(script, every(31), "backend") == []
