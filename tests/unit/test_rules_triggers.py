"""Thinking waits for enough news and a lull, but never longer than the ceiling, and never without news."""

from __future__ import annotations

from datetime import timedelta

import pytest

from perdure.rules.triggers import Triggers, reflection_due, run_due

MINUTES = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("new", "idle", "since", "due"),
    [
        (21, 20, 21, "volume"),
        (20, 20, 21, None),
        (21, 19.9, 21, None),
        (1, 0, 240, "ceiling"),
        (1, 0, 239.9, None),
        (0, 10_000, 10_000, None),
        (21, 20, 240, "volume"),
    ],
)
def test_a_run_is_due(new: int, idle: float, since: float, due: str | None) -> None:
    assert run_due(new=new, idle=idle * MINUTES, since_last=since * MINUTES) == due


def test_the_limits_are_settings() -> None:
    eager = Triggers(buffer=0, lull=timedelta(0), ceiling=timedelta(days=1))
    assert run_due(new=1, idle=timedelta(0), since_last=timedelta(0), triggers=eager) == "volume"


def test_a_reflection_needs_fifty_new_memories_and_five_to_read() -> None:
    assert reflection_due(new=50, in_all=5)
    assert not reflection_due(new=49, in_all=100)
    assert not reflection_due(new=50, in_all=4)
