"""What was promised, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from benchmarks.measuring import growth

SIZE_OF_THE_RATIO: Final = 50_000
LEAST_RATIO: Final = 40
MOST_GROWTH: Final = 0.5
"""Our reading of "far slower than linearly": twenty-five times the memories take at most five times as long."""
LEAST_OVERLAP: Final = 0.99
LEAST_OVERLAP_OF_ONE: Final = 0.8
MEMORIES_PER_SECOND: Final = 1000
UPDATES_MS: Final = 50
HELP_S: Final = 0.4
TOKENS_PER_SECOND: Final = 1500
SINGLE_MS: Final = 25


@dataclass(frozen=True, slots=True)
class Target:
    """One promise. `met` is None for a figure that nothing was promised about."""

    what: str
    measured: str
    target: str
    met: bool | None


def targets(results: Mapping[str, Any]) -> list[Target]:
    """Every promise that these results say something about, and the figures that stand beside them."""
    found: list[Target] = []
    if "ranking" in results:
        found += _ranking(results["ranking"])
    if "import" in results:
        found += _import(results["import"])
    if "updates" in results:
        found += _updates(results["updates"])
    if "startup" in results:
        seconds = results["startup"]["seconds"]["p50"]
        found.append(Target("`perdure --help`", f"{seconds:.2f} s", f"< {HELP_S} s", seconds < HELP_S))
    if results.get("embedding", {}).get("model"):
        found += _embedding(results["embedding"])
    if "capture" in results:
        capture = results["capture"]
        figures = f"p50 {capture['ms']['p50']:.1f} ms, p99 {capture['ms']['p99']:.1f} ms"
        found.append(Target(f"capture, {capture['callers']} callers at once", figures, "", None))
    return found


def _ranking(ranking: Mapping[str, Any]) -> Iterator[Target]:
    seed = [row for row in ranking["spaces"] if row["profile"] == "seed"]
    for row in ranking["spaces"]:
        promised = row["profile"] == "seed"
        what = f"ranked recall, `{row['profile']}`, {row['memories']:,} × {row['dimensions']}"
        times = f"p50 {row['ranked_ms']['p50']:.1f} ms, p95 {row['ranked_ms']['p95']:.1f} ms"
        plain = f"plain ORDER BY p50 {row['plain_ms']['p50']:.0f} ms: {row['ratio']:.1f} times faster"
        cpu = f"CPU {row['ranked_cpu_ms']:.1f} against {row['plain_cpu_ms']:.0f} ms: {row['cpu_ratio']:.1f} times less"
        fast = promised and row["memories"] == SIZE_OF_THE_RATIO
        yield Target(
            what,
            f"{times}; {plain}; {cpu}",
            f"≥ {LEAST_RATIO} times faster" if fast else "",
            row["ratio"] >= LEAST_RATIO if fast else None,
        )
        yield Target(
            f"overlap with the plain ORDER BY's top 10, `{row['profile']}`, {row['memories']:,}",
            f"mean {row['overlap']:.4f}, least {row['overlap_least']:.1f}",
            f"mean ≥ {LEAST_OVERLAP}, least ≥ {LEAST_OVERLAP_OF_ONE}" if promised else "",
            row["overlap"] >= LEAST_OVERLAP and row["overlap_least"] >= LEAST_OVERLAP_OF_ONE if promised else None,
        )
    for row in ranking["literal"]:
        yield Target(
            f"the mission's literal statement, {row['memories']:,} × {row['dimensions']}",
            f"p50 {row['literal_ms']['p50']:.0f} ms, {row['ratio']:.1f} times slower than ranked recall; "
            f"overlap with the plain ORDER BY {row['overlap']:.4f}",
            "",
            None,
        )
    for small, large in pairwise(seed):
        exponent = growth(*((row["memories"], row["ranked_ms"]["p50"]) for row in (small, large)))
        plain_exponent = growth(*((row["memories"], row["plain_ms"]["p50"]) for row in (small, large)))
        yield Target(
            f"growth from {small['memories']:,} to {large['memories']:,}, `seed`",
            f"time ~ size^{exponent:.2f} (plain ORDER BY: {plain_exponent:.2f})",
            f"exponent ≤ {MOST_GROWTH}",
            exponent <= MOST_GROWTH,
        )
    for row in ranking["small"]:
        yield Target(
            f"{row['memories']:,} memories beside {row['beside']:,}",
            f"{' and '.join(row['paths'])}, p50 {row['ranked_ms']['p50']:.1f} ms",
            "exact",
            row["paths"] == ["exact"],
        )


def _import(found: Mapping[str, Any]) -> Iterator[Target]:
    empty, living = found["empty"], found["living"]
    yield Target(
        f"import, vectors given, {found['dimensions']} dimensions, {empty['memories']:,} into an empty family",
        f"{empty['per_second']:,.0f} memories/s ({_cpu_each(empty)}); "
        f"the index afterwards takes {found['index_s']:.1f} s",
        f"≥ {MEMORIES_PER_SECOND:,} memories/s",
        empty["per_second"] >= MEMORIES_PER_SECOND,
    )
    yield Target(
        f"the same beside the living index of {empty['memories']:,}",
        f"{living['per_second']:,.0f} memories/s ({_cpu_each(living)})",
        "",
        None,
    )


def _cpu_each(found: Mapping[str, Any]) -> str:
    cpu_ms = 1000 * (found["python_cpu_s"] + found["server_cpu_s"]) / found["memories"]
    return f"{cpu_ms:.2f} ms of CPU each, the server's included"


def _updates(found: Mapping[str, Any]) -> Iterator[Target]:
    names = {"boost": "boost after a retrieval", "decay": "decay of an hour"}
    for key, name in names.items():
        ms = found[key]["ms"]
        yield Target(
            f"{found['rows']:,} state updates ({name}) in a space of {found['memories']:,}",
            f"p50 {ms['p50']:.1f} ms, p95 {ms['p95']:.1f} ms, "
            f"{found[key]['server_cpu_ms']:.1f} ms of the server's CPU, {found[key]['hot_share']:.0%} HOT",
            f"p50 ≤ {UPDATES_MS} ms",
            ms["p50"] <= UPDATES_MS,
        )


def _embedding(found: Mapping[str, Any]) -> Iterator[Target]:
    speed, single = found["tokens_per_cpu_second"], found["single_cpu_ms"]["p50"]
    yield Target(
        f"embedding {found['turns']} {found['texts']} in batches of {found['batch']}",
        f"{speed:,} tokens per CPU second",
        f"≥ {TOKENS_PER_SECOND:,}",
        speed >= TOKENS_PER_SECOND,
    )
    yield Target(
        f"embedding one text of {found['single_tokens']} tokens",
        f"{single:.1f} ms of CPU, {found['single_ms']['p50']:.1f} ms by the clock",
        f"≤ {SINGLE_MS} ms of CPU",
        single <= SINGLE_MS,
    )


def table(rows: list[Target]) -> str:
    """The targets as a Markdown table."""
    words = {True: "yes", False: "**no**", None: ""}
    lines = ["| what | measured | target | met |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.measured} | {row.target} | {words[row.met]} |" for row in rows]
    return "\n".join(lines)
