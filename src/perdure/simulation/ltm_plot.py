"""The life of two servers as a picture: what facts cost in prompts, and whether questions still got theirs."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from perdure.simulation.ltm_days import Lived
from perdure.simulation.plot import pyplot


def draw_servers(lived: Lived, path: Path) -> None:
    """Draws tokens and answered questions over the days, as a PNG or whatever `path` ends with.

    Raises ConfigurationError where matplotlib is not installed.
    """
    plt = pyplot()
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 7), sharex=True)
    _tokens(above, lived)
    _answers(below, lived)
    for axis in (above, below):
        for one in lived.evenings:
            if one.down or not one.turns:
                colour = "#fddbc7" if one.down else "#eeeeee"
                axis.axvspan(one.day - 0.5, one.day + 0.5, color=colour, linewidth=0, zorder=0)
        axis.spines[["top", "right"]].set_visible(False)
    above.set_title("Facts of two servers (red: no embedding model; grey: nobody spoke)")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _tokens(axis: Any, lived: Lived) -> None:
    """Each day pale, the mean of five days dark; nothing where nobody spoke."""
    for name, colour, label in (("everything", "#666666", "with all facts"), ("shown", "#2c7bb6", "as it was built")):
        values = [float("nan") if getattr(one, name) is None else getattr(one, name) for one in lived.evenings]
        axis.plot(range(len(values)), values, color=colour, alpha=0.25, linewidth=1)
        axis.plot(range(len(values)), _levelled(values), color=colour, label=label)
    axis.set_ylabel("tokens of facts in a prompt")
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper left", frameon=False)


def _levelled(values: Sequence[float]) -> list[float]:
    near = [values[max(0, place - 2) : place + 3] for place in range(len(values))]
    return [
        fmean(one for one in window if isfinite(one)) if isfinite(value) else value
        for value, window in zip(values, near, strict=True)
    ]


def _answers(axis: Any, lived: Lived) -> None:
    asked = [one for one in lived.asked if one.questions]
    for name, colour, label in (("answered", "#008837", "with recall"), ("active", "#e66101", "active anyway")):
        shares = [getattr(one, name) / one.questions for one in asked]
        axis.plot([one.day for one in asked], shares, color=colour, marker="o", markersize=3, label=label)
    axis.set_ylim(0, 1.05)
    axis.set_ylabel("questions whose fact is in the prompt")
    axis.set_xlabel("day")
    axis.legend(loc="lower left", frameon=False)
