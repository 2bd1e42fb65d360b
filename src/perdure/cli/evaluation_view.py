"""What `perdure eval` shows: how far it is, on stderr, and what it found."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from perdure.cli.failing import error_data
from perdure.cli.printing import Screen, one_line, tell
from perdure.cli.progress import QUIET_S
from perdure.clock import DatabaseClock

if TYPE_CHECKING:
    from perdure.evaluation import EvaluationSet, Part, Report, Skipped, Watcher

TOLD_REFUSALS: Final = 20
KEPT_REFUSALS: Final = 1000
"""Refusals that `--json` lists; all are counted."""

MEASURES: Final = ("recall@5", "recall@10", "recall@20", "all@5", "mrr", "ndcg@10")
HEADS: Final = ("", "n", "recall@5", "recall@10", "recall@20", "all@5", "MRR", "nDCG@10")
BASELINE_NAMES: Final = {"bm25": "plain BM25", "dense": "plain cosine", "rrf": "both fused by rank"}


class _Lines:
    """A line now and then, with the time that is left at the speeds so far."""

    def __init__(self, messages: int, questions: int) -> None:
        self._totals = {"messages": messages, "questions": questions}
        self._done = {"messages": 0, "questions": 0}
        self._spent = {"messages": 0.0, "questions": 0.0}
        self._clock = DatabaseClock()
        self._last = self._told = self._clock.monotonic()

    def imported(self, messages: int) -> None:
        self._count("messages", messages)

    def asked(self, questions: int) -> None:
        self._count("questions", questions)

    def _count(self, what: str, number: int) -> None:
        now = self._clock.monotonic()
        self._done[what] += number
        self._spent[what] += now - self._last
        self._last = now
        if now - self._told < QUIET_S:
            return
        self._told = now
        left = sum(
            (total - self._done[name]) * self._spent[name] / max(1, self._done[name])
            for name, total in self._totals.items()
        )
        counts = ", ".join(f"{self._done[name]:,} of {total:,} {name}" for name, total in self._totals.items())
        tell(f"{counts}, about {left:.0f} s left")


@contextmanager
def run_progress(to_import: int, to_ask: int) -> Iterator[Watcher]:
    """Progress through so many messages and questions: bars on a terminal, lines anywhere else."""
    if not sys.stderr.isatty():
        yield _Lines(to_import, to_ask)
        return
    from rich.console import Console  # noqa: PLC0415 - not needed without a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=300) as bar:
        messages = bar.add_task("messages in", total=to_import)
        questions = bar.add_task("questions asked", total=to_ask)

        class Bars:
            def imported(self, count: int) -> None:
                bar.advance(messages, count)

            def asked(self, count: int) -> None:
                bar.advance(questions, count)

        yield Bars()


def report_data(report: Report, skipped: Skipped) -> dict[str, object]:
    """What `--json` prints."""
    data: dict[str, object] = {
        **_part_data(report.turns),
        "latency_ms": report.latency_ms,
        "latency_without_embedding_ms": report.latency_without_embedding_ms,
        "profile": report.profile,
        "embedder": report.embedder,
    }
    if report.sessions is not None:
        data["sessions"] = _part_data(report.sessions)
    data["skipped"] = {
        "questions": dict(skipped.questions),
        "messages": dict(skipped.messages),
        "refused": len(skipped.refused),
        "refusals": [error_data(error) for error in skipped.refused[:KEPT_REFUSALS]],
    }
    return data


def _part_data(part: Part) -> dict[str, object]:
    return {
        "overall": part.overall,
        "by_category": part.by_category,
        "baselines": part.baselines,
        "baselines_by_category": part.baselines_by_category,
    }


def show(screen: Screen, report: Report, chosen: EvaluationSet) -> None:
    """The tables for a person."""
    screen.line(
        f"{chosen.name}: {_counted(len(chosen.questions), 'question')} about {_counted(chosen.messages, 'message')} in "
        f"{_counted(len(chosen.conversations), 'conversation')}, with {report.embedder}."
    )
    _table(screen, "By message", report.turns, report.profile)
    if report.sessions is not None:
        _table(screen, "By session", report.sessions, report.profile)
    screen.line()
    for what, found in (("with", report.latency_ms), ("without", report.latency_without_embedding_ms)):
        if found:
            times = " and ".join(f"{value:.1f} ms ({name})" for name, value in found.items())
            screen.line(f"A search took {times} {what} embedding the question.")
    for what, counts in (("questions", chosen.skipped.questions), ("messages", chosen.skipped.messages)):
        if counts:
            told = ", ".join(f"{count:,} × {reason}" for reason, count in counts.most_common())
            screen.line(f"Left out of the {what}: {told}.")


def _table(screen: Screen, title: str, part: Part, profile: str) -> None:
    rows = _rows(f"profile {profile}", part.overall, part.by_category)
    for name, figures in part.baselines.items():
        rows += _rows(BASELINE_NAMES.get(name, name), figures, part.baselines_by_category.get(name, {}))
    screen.line()
    screen.table((title, *HEADS[1:]), rows, right=range(1, len(HEADS)))


def _rows(name: str, overall: Mapping[str, float], of: Mapping[str, Mapping[str, float]]) -> list[tuple[str, ...]]:
    return [_row(name, overall), *(_row(f"· {category}", figures) for category, figures in of.items())]


def _row(name: str, figures: Mapping[str, float]) -> tuple[str, ...]:
    return (name, f"{figures['n']:,.0f}", *(f"{figures[measure]:.3f}" for measure in MEASURES))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def tell_refused(skipped: Skipped) -> None:
    """Lines on stderr about what could not be read."""
    for error in skipped.refused[:TOLD_REFUSALS]:
        tell(f"Refused: {one_line(error.message)}")
    more = len(skipped.refused) - TOLD_REFUSALS
    if more > 0:
        tell(f"... and {more:,} more refused.")
