"""What `perdure eval --gate` shows: the relevance gate measured on labelled turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from perdure.cli.printing import Screen

if TYPE_CHECKING:
    from perdure.evaluation import EvaluationSet, GateReport

HEADS: Final = ("empty turns", "silent", "asking", "found", "kept", "recall@3 ungated", "gated", "injected")
MEASURES: Final = ("empty", "silent", "asking", "found", "kept", "recall@3_ungated", "recall@3", "injected")
COUNTS: Final = frozenset({"empty", "asking", "found"})
CURVE_SHOWN: Final = 10
"""Every so many steps of the curve stand in the table; `--json` has all."""


def gate_data(report: GateReport) -> dict[str, object]:
    """What `--json` prints."""
    return asdict(report)


def show_gate(screen: Screen, report: GateReport, chosen: EvaluationSet) -> None:
    """The tables for a person."""
    turns = sum(report.overall[name] or 0 for name in ("empty", "asking"))
    screen.line(f"{chosen.name}: {turns:,.0f} turns over {report.memories:,} memories, with {report.embedder}.")
    parts = (report.by_part, report.by_category, report.by_language)
    rows = [("all", report.overall), *(item for part in parts for item in part.items())]
    screen.line()
    screen.table(("", *HEADS), [(name, *_told(figures)) for name, figures in rows], right=range(1, 1 + len(HEADS)))
    if not report.overall["empty"]:
        return
    screen.line()
    curve = [(f"{point['step']:+.1f}", f"{point['silent']:.3f}", f"{point['kept']:.3f}") for point in report.curve]
    ours = next(place for place, point in enumerate(report.curve) if point["step"] == 0)
    heads = ("threshold beside ours", "silent", "kept")
    screen.table(heads, curve[ours % CURVE_SHOWN :: CURVE_SHOWN], right=(0, 1, 2))


def _told(figures: Mapping[str, float | None]) -> list[str]:
    """Counts as whole numbers, shares with three places, and a dash for what there is none of."""
    told = []
    for name in MEASURES:
        value = figures[name]
        told.append("-" if value is None else f"{value:,.0f}" if name in COUNTS else f"{value:.3f}")
    return told
