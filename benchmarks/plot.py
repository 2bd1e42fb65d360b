"""Pictures of the figures, where matplotlib is installed (the extra `bench`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def plot(results: Mapping[str, Any], path: Path) -> bool:
    """Draws time of the ten best over size, both logarithmic; False where nothing can be drawn."""
    rows = [row for row in results.get("ranking", {}).get("spaces", ()) if row["profile"] == "seed"]
    if len(rows) < 2:
        return False
    lines = [
        Line(label, colour, [row["memories"] for row in rows], [row[key] for row in rows])
        for key, label, colour in (("plain_ms", "plain ORDER BY", "#b5473c"), ("ranked_ms", "ranked recall", "#2f6f9f"))
    ]
    return _draw(lines, f"The ten best of one space, {rows[0]['dimensions']} dimensions, profile seed", path)


def plot_recall(results: Mapping[str, Any], path: Path) -> bool:
    """Draws time of a recall over size, alone and in company; False where nothing can be drawn."""
    spaces = results.get("recall", {}).get("spaces", ())
    rows = [row for row in spaces if row["dimensions"] == spaces[0]["dimensions"]]
    if len(rows) < 2:
        return False
    sizes = [row["memories"] for row in rows]
    kinds = (
        ("recall", "recall", "#2f6f9f"),
        ("search", "search without a model", "#4f9f5f"),
        ("together", f"recall, {results['recall']['clients']} at once", "#b5473c"),
    )
    lines = [Line(label, colour, sizes, [row[key]["ms"] for row in rows]) for key, label, colour in kinds]
    return _draw(lines, f"Recall in one space, {rows[0]['dimensions']} dimensions, without embedding", path)


@dataclass(frozen=True, slots=True)
class Line:
    """Summaries of times in ms at several sizes."""

    label: str
    colour: str
    sizes: Sequence[int]
    times: Sequence[Mapping[str, float]]


def _draw(lines: Sequence[Line], title: str, path: Path) -> bool:
    if find_spec("matplotlib") is None:
        return False
    import matplotlib as mpl  # noqa: PLC0415  # an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(6.4, 4.0), dpi=100)
    for line in lines:
        for name, style in (("p50", "o-"), ("p95", ".:")):
            times = [time[name] for time in line.times]
            axes.plot(line.sizes, times, style, color=line.colour, label=f"{line.label}, {name}")
    axes.set(xscale="log", yscale="log", xlabel="memories in the space", ylabel="milliseconds")
    axes.set_xticks(lines[0].sizes, [f"{size:,}" for size in lines[0].sizes])
    low, high = axes.get_ylim()
    ticks = [time for power in range(5) for time in (10**power, 2 * 10**power, 5 * 10**power) if low <= time <= high]
    axes.set_yticks(ticks, [f"{time:,}" for time in ticks])
    axes.minorticks_off()
    axes.set_title(title, fontsize=10)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True
