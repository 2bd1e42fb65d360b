"""The curve of the relevance gate: what it keeps back and what it keeps, over thresholds beside the one in use.

    perdure eval tests/data/gate.jsonl --gate --json > gate.json
    python -m benchmarks.gate gate.json --plot docs/gate.png

Several files, one for each embedder, make one picture.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STYLES = ("-", "--", ":")


def draw(reports: Sequence[Mapping[str, Any]], path: Path) -> None:
    """One pair of lines for each report; the threshold in use is marked."""
    import matplotlib as mpl  # noqa: PLC0415  # an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8, 4.5))
    for report, style in zip(reports, STYLES, strict=False):
        steps = [point["step"] for point in report["curve"]]
        for name, colour, told in (("silent", "#b04a3a", "silent where nothing helps"), ("kept", "#2f6f8f", "kept")):
            shares = [100 * point[name] for point in report["curve"]]
            axes.plot(steps, shares, style, color=colour, label=f"{told} ({report['embedder']})")
            axes.plot([0], [100 * report["overall"][name]], "o", color=colour)
    axes.axvline(0, color="#888888", linewidth=0.8)
    axes.axhline(95, color="#b04a3a", linewidth=0.5, linestyle=":")
    axes.axhline(90, color="#2f6f8f", linewidth=0.5, linestyle=":")
    axes.set_xlabel("threshold beside the one in use, in spreads of unrelated texts")
    axes.set_ylabel("share of turns, %")
    axes.set_ylim(40, 101)
    axes.legend(loc="lower center", fontsize=8)
    axes.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="+", help="what `perdure eval --gate --json` printed")
    parser.add_argument("--plot", type=Path, required=True, help="where to draw it, such as docs/gate.png")
    given = parser.parse_args()
    draw([json.loads(path.read_text("utf-8")) for path in given.reports], given.plot)


if __name__ == "__main__":
    main()
