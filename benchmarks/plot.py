"""The picture of the ranking figures, where matplotlib is installed (the extra `bench`)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def plot(results: Mapping[str, Any], path: Path) -> bool:
    """Draws time over size, both logarithmic; False where there is nothing to draw or nothing to draw it with."""
    rows = [row for row in results.get("ranking", {}).get("spaces", ()) if row["profile"] == "seed"]
    if len(rows) < 2 or find_spec("matplotlib") is None:
        return False
    import matplotlib as mpl  # noqa: PLC0415  # an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    sizes = [row["memories"] for row in rows]
    figure, axes = plt.subplots(figsize=(6.4, 4.0), dpi=100)
    for key, label, colour in (("plain_ms", "plain ORDER BY", "#b5473c"), ("ranked_ms", "ranked recall", "#2f6f9f")):
        axes.plot(sizes, [row[key]["p50"] for row in rows], "o-", color=colour, label=f"{label}, p50")
        axes.plot(sizes, [row[key]["p95"] for row in rows], ".:", color=colour, label=f"{label}, p95")
    axes.set(xscale="log", yscale="log", xlabel="memories in the space", ylabel="milliseconds")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    low, high = axes.get_ylim()
    times = [time for power in range(5) for time in (10**power, 2 * 10**power, 5 * 10**power) if low <= time <= high]
    axes.set_yticks(times, [f"{time:,}" for time in times])
    axes.minorticks_off()
    axes.set_title(f"The ten best of one space, {rows[0]['dimensions']} dimensions, profile seed", fontsize=10)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True
