"""The year as a picture: what memories weighed, how many there were, and what was concluded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from perdure.errors import ConfigurationError
from perdure.simulation.life import AWAY
from perdure.simulation.year import Year

COLOURS: Final = {
    "important": "#7b3294",
    "changing": "#c2a5cf",
    "trip": "#008837",
    "everyday": "#2c7bb6",
    "mail": "#d7191c",
    "noise": "#888888",
}


def pyplot() -> Any:
    """What draws into files. Raises ConfigurationError where matplotlib, an extra, is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415

        mpl.use("Agg")
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError("Drawing needs matplotlib.", hint="pip install 'perdure[bench]'") from error
    return plt


def draw(year: Year, path: Path) -> None:
    """Draws salience by kind, the store's size, and conclusions over the days, as a PNG or whatever `path` ends with.

    Raises ConfigurationError where matplotlib is not installed.
    """
    plt = pyplot()
    figure, (above, middle, below) = plt.subplots(3, 1, figsize=(9, 10), sharex=True)
    days = [sample.day for sample in year.samples]
    _salience(above, year, days)
    middle.fill_between(
        days,
        [sample.live + sample.superseded for sample in year.samples],
        color="#d9d9d9",
        label="superseded, not yet pruned",
    )
    middle.fill_between(days, [sample.live for sample in year.samples], color="#92c5de", label="live")
    middle.set_ylabel("memories")
    middle.legend(loc="upper left", frameon=False)
    below.plot(days, [sample.episodes for sample in year.samples], color="#008837", label="episodes")
    below.plot(days, [sample.reflections for sample in year.samples], color="#e66101", label="reflections")
    below.set_ylabel("live conclusions")
    below.set_xlabel("day")
    below.legend(loc="upper left", frameon=False)
    for axis in (above, middle, below):
        for first, last in AWAY:
            axis.axvspan(first, min(last, year.days), color="#f0f0f0", zorder=0)
        axis.spines[["top", "right"]].set_visible(False)
    above.set_title("A year of one life: what was said, what was kept, what was concluded (grey: nobody spoke)")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _salience(axis: Any, year: Year, days: list[int]) -> None:
    for kind, colour in COLOURS.items():
        values = [sample.salience.get(kind, float("nan")) for sample in year.samples]
        if any(value == value for value in values):  # noqa: PLR0124 - not all NaN
            axis.plot(days, values, color=colour, label=kind)
    axis.set_ylim(0.8, 10)
    axis.set_ylabel("mean salience")
    axis.legend(loc="upper right", frameon=False, ncols=2)
