"""Several workers on one queue, and clocks that jump."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.faults.harness import Runner
from tests.faults.scripts import SCRIPTS
from tests.faults.state import differences, waiting


@pytest.mark.parametrize("script", ["drain", "distilled archive", "judged mail"])
def test_two_workers_on_one_queue_do_what_one_would(
    runners: Sequence[Runner], new_space: Callable[[], str], script: str
) -> None:
    reference = runners[0].reference(script, new_space())
    space = new_space()
    with ThreadPoolExecutor(len(runners)) as pool:
        results = list(pool.map(lambda runner: runner.run(script, space), runners))
    assert [result.error for result in results] == [None] * len(runners)
    last = runners[0].run(script, space, begin=len(SCRIPTS[script].steps) - 1, after=timedelta(minutes=10))
    assert last.state is not None
    assert waiting(last.state) == []
    assert differences(reference.state, last.state) == []


@pytest.mark.parametrize("jump", [timedelta(days=-1), timedelta(days=30)])
@pytest.mark.parametrize("script", ["drain", "mail"])
def test_a_clock_that_jumps_while_a_worker_holds_work_blocks_and_doubles_nothing(
    runners: Sequence[Runner], new_space: Callable[[], str], script: str, jump: timedelta
) -> None:
    runner = runners[0]
    reference = runner.reference(script, new_space())
    # The worker has claimed, and has its vectors: it hangs, and the clock jumps for everybody else.
    at = reference.points.index("after embedding")
    space = new_space()
    hung = runner.run(script, space, at=at, strike="stop")
    assert hung.stopped, hung.error
    others = runners[1].run(script, space, begin=hung.acknowledged, after=jump)
    assert others.state is not None, others.error
    assert waiting(others.state) == []
    late = runner.go_on()
    assert late.state is not None, late.error
    assert differences(others.state, late.state) == []
    assert late.state["memories"] == reference.state["memories"]
    assert late.state["memory_evidence"] == reference.state["memory_evidence"]
