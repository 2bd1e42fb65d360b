"""Whose turn it is in the queue of triage."""

from __future__ import annotations

import pytest

from perdure.rules.order import SHARE, kinds_in_turn

ALL = ("conversation", "bootstrap", "calendar", "email")


def test_what_goes_first_goes_first() -> None:
    assert kinds_in_turn(ALL, 1, 5) == [(kind, 5) for kind in ALL]


def test_every_eighth_turn_begins_with_one_row_of_another_kind_and_they_take_turns() -> None:
    first = [kinds_in_turn(ALL, turn, 5)[0] for turn in range(1, 4 * SHARE + 1)]
    ahead = [kind for kind in first if kind[0] != "conversation"]
    assert len(ahead) == 4
    assert set(ahead) == {("bootstrap", 1), ("calendar", 1), ("email", 1)}


@pytest.mark.parametrize("waiting", [(), ("email",)])
def test_where_nothing_else_waits_every_turn_is_the_same(waiting: tuple[str, ...]) -> None:
    assert [kinds_in_turn(waiting, turn, 3) for turn in range(SHARE + 1)] == [[(kind, 3) for kind in waiting]] * (
        SHARE + 1
    )
