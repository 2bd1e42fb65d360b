"""A process that is killed at any point of any script loses nothing and doubles nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import pytest

from tests.faults.harness import Reference, Runner, sample
from tests.faults.scripts import SCRIPTS

SAMPLE = 12
"""Points per script in a run of `make test`; `make test-long` strikes at every one."""


def strike_at(
    runner: Runner, script: str, new_space: Callable[[], str], choose: Callable[[Reference], Iterable[int]], strike: str
) -> list[str]:
    reference = runner.reference(script, new_space())
    wrong: list[str] = []
    start, count = time.monotonic(), 0
    for at in choose(reference):
        wrong += runner.struck(script, new_space(), reference, at, strike)
        count += 1
    print(f"{script}: {count} of {len(reference.points)} points, {strike}, {time.monotonic() - start:.1f} s")
    return wrong


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_killed_process_loses_nothing_and_doubles_nothing(
    runner: Runner, new_space: Callable[[], str], script: str
) -> None:
    assert strike_at(runner, script, new_space, lambda it: sample(it.points, SAMPLE), "self") == []


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_process_killed_at_every_single_point_loses_nothing_and_doubles_nothing(
    runner: Runner, new_space: Callable[[], str], script: str
) -> None:
    assert strike_at(runner, script, new_space, lambda it: range(len(it.points)), "self") == []
