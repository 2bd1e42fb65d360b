"""What was promised, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
CAPTURE_P50_MS: Final = 5
CAPTURE_P99_MS: Final = 30
DRAIN_MS: Final = 15
STATEMENT_MS: Final = 200
MOST_SLOWER: Final = 2.0
"""How much longer recall may take while spaces are kept up."""
RUN_S: Final = 10
TURN_MS: Final = 25
COUNT_MS: Final = 30
RECALL_OF: Final = (100_000, 384)
"""Memories and dimensions that the promises about recall are made for."""
RECALL_P95_MS: Final = 25
RECALL_CPU_MS: Final = 6
RECALLS_PER_SECOND: Final = 250
SEARCH_TO_RECALL: Final = 2


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
    if "recall" in results:
        found += _recall(results["recall"])
    if "import" in results:
        found += _import(results["import"])
    if "updates" in results:
        found += _updates(results["updates"])
    if "startup" in results:
        seconds = results["startup"]["seconds"]["p50"]
        found.append(Target("`perdure --help`", f"{seconds:.2f} s", f"< {HELP_S} s", seconds < HELP_S))
    if results.get("embedding", {}).get("model"):
        found += _embedding(results["embedding"])
    for part, said in (("upkeep", _upkeep), ("cognition", _cognition), ("facts", _facts), ("rest", _rest)):
        if part in results:
            found += said(results[part])
    if "words_in" in results:
        words_in = results["words_in"]
        found += _capture(words_in["capture"])
        found += _overhead(words_in["overhead"])
        found += _drain(words_in["drain"])
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


def _rest(row: Mapping[str, Any]) -> Iterator[Target]:
    yield Target(
        f"recall over REST, {row['clients']} clients, {row['memories']:,} × {row['dimensions']}",
        f"{row['per_second']} a second; p50 {row['ms']['p50']:.0f} ms, p95 {row['ms']['p95']:.0f} ms; "
        f"CPU {row['server_cpu_ms']:.1f} ms in the server and {row['database_cpu_ms']:.1f} in PostgreSQL; "
        f"{row['failed']} failed",
        "",
        None,
    )


def _facts(found: Sequence[Mapping[str, Any]]) -> Iterator[Target]:
    for row in found:
        turn, days, crew = row["turn"], row["accounting"]["ms"], row["processes"]
        what = f"{row['facts']:,} facts × {row['dimensions']}"
        yield Target(
            f"the facts of a turn, {what}",
            f"{_times(turn)}; CPU {turn['client_cpu_ms']:.1f} ms here and {turn['server_cpu_ms']:.1f} in PostgreSQL",
            f"p95 ≤ {TURN_MS} ms",
            turn["ms"]["p95"] <= TURN_MS,
        )
        yield Target(
            f"counting them, {what}",
            f"p50 {days['p50']:.1f} ms, p95 {days['p95']:.1f} ms",
            f"p50 ≤ {COUNT_MS} ms",
            days["p50"] <= COUNT_MS,
        )
        yield Target(
            f"{crew['processes']} processes counting them at once, {what}",
            f"{crew['counts']} counts, {crew['wrong']} of {crew['facts']:,} facts otherwise than by one process",
            "none lost, none double",
            crew["wrong"] == 0 and crew["ended_well"] == crew["processes"],
        )


def _recall(found: Mapping[str, Any]) -> Iterator[Target]:
    for row in found["spaces"]:
        what = f"{row['memories']:,} × {row['dimensions']}"
        promised = (row["memories"], row["dimensions"]) == RECALL_OF
        alone, together, searched = row["recall"], row["together"], row["search"]
        cpu_ms = alone["client_cpu_ms"] + alone["server_cpu_ms"]
        yield Target(
            f"recall, {what}",
            f"{_times(alone)}; CPU {alone['client_cpu_ms']:.1f} ms here and {alone['server_cpu_ms']:.1f} in PostgreSQL",
            f"p95 ≤ {RECALL_P95_MS} ms, CPU ≤ {RECALL_CPU_MS} ms" if promised else "",
            alone["ms"]["p95"] <= RECALL_P95_MS and cpu_ms <= RECALL_CPU_MS if promised else None,
        )
        yield Target(
            f"{found['clients']} callers at once, {what}",
            f"{together['per_second']:.0f} a second; {_times(together)}",
            f"≥ {RECALLS_PER_SECOND} a second" if promised else "",
            together["per_second"] >= RECALLS_PER_SECOND if promised else None,
        )
        beside = row["beside_a_writer"]
        yield Target(
            f"the same while {found['writes_a_second']} memories a second come in",
            f"{beside['per_second']:.0f} a second; {_times(beside)}",
            "",
            None,
        )
        ratio = searched["ms"]["p50"] / alone["ms"]["p50"]
        yield Target(
            f"search without a model, {what}",
            f"{_times(searched)}; p50 {ratio:.1f} times that of recall",
            f"≤ {SEARCH_TO_RECALL} times",
            ratio <= SEARCH_TO_RECALL,
        )
        yield Target(
            f"loading {what}",
            f"{row['load_s']} s, index {row['index_s']} s and {row['index_mb']:,} MB of {row['database_mb']:,} MB",
            "",
            None,
        )
    many = found["many"]
    if many:
        yield Target(
            f"{many['spaces']:,} spaces of {many['memories_each']} beside one of {many['beside']:,}",
            f"{many['as_the_oracle']:.0%} of {many['asked']} filtered and plain searches as the plain ORDER BY, "
            f"{many['exact']:.0%} exact, p50 {many['search_ms']['p50']:.1f} ms; "
            f"{many['indexes_before']} indexes before, {many['indexes_after']} after",
            "exact, as many indexes as before",
            many["as_the_oracle"] == 1 and many["exact"] == 1 and many["indexes_before"] == many["indexes_after"],
        )


def _times(row: Mapping[str, Any]) -> str:
    return f"p50 {row['ms']['p50']:.1f} ms, p95 {row['ms']['p95']:.1f} ms"


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


def _capture(found: Mapping[str, Any]) -> Iterator[Target]:
    alone = {row["layout"]: row["ms"] for row in found["rows"] if row["beside"] == "no worker"}
    for row in found["rows"]:
        ms, beside = row["ms"], row["beside"]
        figures = f"p50 {ms['p50']:.1f} ms, p99 {ms['p99']:.1f} ms"
        if beside == "no worker":
            figures += f"; {found['cpu_ms']:.2f} ms of this process's CPU each"
        else:
            figures += f"; p50 {ms['p50'] / alone[row['layout']]['p50']:.2f} times that without"
        yield Target(
            f"capture, {found['callers']} callers at once, {row['layout']}, {beside}",
            figures,
            f"p50 ≤ {CAPTURE_P50_MS} ms, p99 ≤ {CAPTURE_P99_MS} ms",
            ms["p50"] <= CAPTURE_P50_MS and ms["p99"] <= CAPTURE_P99_MS,
        )


def _overhead(found: Mapping[str, Any]) -> Iterator[Target]:
    yield Target(
        f"draining one exchange, {found['calls']:.1f} questions to the model, without it and the embedder",
        f"{found['overhead_ms']:.1f} ms by the clock; CPU {found['python_cpu_ms']:.1f} ms here "
        f"and {found['server_cpu_ms']:.1f} ms in PostgreSQL; {found['transactions']:.1f} transactions",
        f"≤ {DRAIN_MS} ms by the clock",
        found["overhead_ms"] <= DRAIN_MS,
    )


def _upkeep(found: Mapping[str, Any]) -> Iterator[Target]:
    yield Target(
        f"one tick of upkeep over {found['memories']:,} memories in {found['spaces']:,} spaces, every row written",
        f"{found['seconds']:.0f} s, {found['python_cpu_s']:.0f} s of CPU here and {found['server_cpu_s']:.0f} s in "
        f"PostgreSQL; {found['statements']:,} statements, p99 {found['statement_ms']['p99']:.0f} ms, "
        f"the slowest {found['slowest_ms']:.0f} ms",
        f"no statement over {STATEMENT_MS} ms",
        found["slowest_ms"] <= STATEMENT_MS,
    )
    alone, beside = found["recall_ms"]["alone"], found["recall_ms"]["meanwhile"]
    yield Target(
        f"recall in a space of a thousand meanwhile, {found['recall_ms']['recalls']:,} times",
        f"p95 {beside['p95']:.0f} ms, alone {alone['p95']:.0f} ms",
        f"p95 at most {MOST_SLOWER:.0f} times that alone",
        beside["p95"] <= MOST_SLOWER * alone["p95"],
    )


def _cognition(found: Mapping[str, Any]) -> Iterator[Target]:
    yield Target(
        f"a cognitive run over {found['memories']:,} memories of a day, {sum(found['asked'].values())} questions",
        f"{found['seconds']:.1f} s without the model's time; CPU {found['python_cpu_s']:.1f} s here "
        f"and {found['server_cpu_s']:.1f} s in PostgreSQL",
        f"≤ {RUN_S} s",
        found["seconds"] <= RUN_S,
    )


def _drain(found: Mapping[str, Any]) -> Iterator[Target]:
    for name in ("verbatim", "judged"):
        one = found[name]
        wrong = one["lost"] + one["doubled"] + one["failed"]
        yield Target(
            f"{found['exchanges']:,} pending exchanges in {found['spaces']} spaces, "
            f"{found['workers']} worker processes, {name}",
            f"{one['lost']} lost, {one['doubled']} twice, {one['failed']} failed; {one['per_second']:,.0f} a second",
            "none lost, none twice",
            wrong == 0,
        )


def table(rows: list[Target]) -> str:
    """The targets as a Markdown table."""
    words = {True: "yes", False: "**no**", None: ""}
    lines = ["| what | measured | target | met |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.measured} | {row.target} | {words[row.met]} |" for row in rows]
    return "\n".join(lines)
