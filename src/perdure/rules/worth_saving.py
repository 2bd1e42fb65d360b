"""Whether what a triage judged is worth saving: a threshold per domain, on the mission's scale of salience."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SaveThresholds:
    """The least salience, 1..10, at which each kind is saved; the settings of the same names."""

    grounded: float = 3
    """Of an exchange in which a tool looked something up (mission: 3)."""
    parametric: float = 5
    """Of an exchange that rests on what the model says by itself (mission: 5)."""
    item: float = 1
    """Of a mail or an event (mission: 1)."""


def saves_exchange(salience: float, thresholds: SaveThresholds, *, grounded: bool) -> bool:
    """Whether an exchange is saved; what the model says by itself has to weigh more."""
    return salience >= (thresholds.grounded if grounded else thresholds.parametric)


def saves_item(salience: float, thresholds: SaveThresholds, *, save: bool) -> bool:
    """Whether a mail or an event is saved: unless the model says not to, or it is below the threshold."""
    return save and salience >= thresholds.item
