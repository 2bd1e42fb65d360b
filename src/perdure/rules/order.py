"""Whose turn it is in the queue of triage: what is said now goes before what was imported, which isn't starved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

SHARE: Final = 8
"""Every eighth turn begins with one row of what would wait else (ours: 8)."""


def kinds_in_turn(waiting: Sequence[str], turn: int, most: int) -> list[tuple[str, int]]:
    """The kinds in the order in which they are taken, each with how many rows of it at most.

    On every `SHARE`-th turn one row of a kind that isn't the first goes ahead; these take turns themselves.

    Args:
        waiting: the kinds that have something due, what goes first at the front.
        turn: counts up from claim to claim.
        most: how many rows are wanted in all.
    """
    order = [(kind, most) for kind in waiting]
    others = waiting[1:]
    if not others or turn % SHARE:
        return order
    return [(others[turn // SHARE % len(others)], 1), *order]
