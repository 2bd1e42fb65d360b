"""The table of `make bench` says no where a promise is missed, and promises nothing that nobody promised."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.measuring import growth, percentile
from benchmarks.targets import Target, table, targets


def ranked(memories: int, profile: str = "seed", ms: float = 10.0, **figures: Any) -> dict[str, Any]:
    times = {"ranked_ms": {"p50": ms, "p95": ms * 2}, "plain_ms": {"p50": ms * 50, "p95": ms * 60}, "ratio": 50.0}
    times |= {"ranked_cpu_ms": ms, "plain_cpu_ms": ms * 50, "cpu_ratio": 50.0}
    overlap = {"overlap": 1.0, "overlap_least": 1.0}
    return {"memories": memories, "dimensions": 2560, "profile": profile, **times, **overlap, **figures}


def verdicts(*rows: dict[str, Any], small: tuple[dict[str, Any], ...] = ()) -> list[bool | None]:
    return [target.met for target in targets({"ranking": {"spaces": rows, "literal": (), "small": small}})]


def test_the_ratio_is_promised_at_fifty_thousand_memories_and_for_the_seed_profile_only() -> None:
    assert verdicts(ranked(50_000, ratio=39.9)) == [False, True]
    assert verdicts(ranked(50_000, ratio=40.0)) == [True, True]
    assert verdicts(ranked(10_000, ratio=2.0)) == [None, True]
    assert verdicts(ranked(50_000, "default", ratio=2.0, overlap=0.5)) == [None, None]


@pytest.mark.parametrize("figures", [{"overlap": 0.989}, {"overlap_least": 0.7}])
def test_an_overlap_fails_by_its_mean_or_by_a_single_query(figures: dict[str, float]) -> None:
    assert verdicts(ranked(10_000, **figures)) == [None, False]


def test_growth_is_told_between_neighbouring_sizes() -> None:
    assert verdicts(ranked(10_000, ms=10.0), ranked(50_000, ms=20.0))[-1] is True
    assert verdicts(ranked(10_000, ms=10.0), ranked(50_000, ms=30.0))[-1] is False


def test_a_small_space_that_went_by_index_is_a_broken_promise() -> None:
    row = {"memories": 500, "beside": 50_000, "ranked_ms": {"p50": 1.0}}
    assert verdicts(small=({**row, "paths": ["exact"]},)) == [True]
    assert verdicts(small=({**row, "paths": ["exact", "index"]},)) == [False]


def test_updates_are_judged_one_kind_at_a_time() -> None:
    kinds = {"boost": {"ms": {"p50": 51.0, "p95": 60.0}, "server_cpu_ms": 9.0, "hot_share": 0.0}}
    kinds |= {"decay": {"ms": {"p50": 49.0, "p95": 60.0}, "server_cpu_ms": 9.0, "hot_share": 0.9}}
    found = targets({"updates": {"rows": 1000, "memories": 12_000, **kinds}})
    assert [target.met for target in found] == [False, True]


def test_parts_that_were_not_measured_are_not_in_the_table() -> None:
    assert targets({}) == []
    assert targets({"embedding": {"model": None}}) == []


def test_the_table_shows_a_missed_promise_in_bold_and_no_word_without_one() -> None:
    lines = table([Target("a", "1", "2", met=False), Target("b", "1", "2", met=True), Target("c", "1", "", None)])
    assert lines.splitlines()[2:] == ["| a | 1 | 2 | **no** |", "| b | 1 | 2 | yes |", "| c | 1 |  |  |"]


def test_growth_is_the_exponent_of_size() -> None:
    assert growth((10, 1.0), (1000, 100.0)) == pytest.approx(1)
    assert growth((10, 1.0), (1000, 10.0)) == pytest.approx(0.5)
    assert growth((10, 3.0), (1000, 3.0)) == 0


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, share) for share in (0.0, 0.5, 0.95, 0.99, 1.0)] == [1, 50, 95, 99, 100]
    assert percentile([7.0], 0.5) == 7


@pytest.mark.parametrize(("slowest", "p95", "met"), [(200.0, 20.0, [True, True]), (201.0, 20.1, [False, False])])
def test_upkeep_is_judged_by_its_slowest_statement_and_by_what_recall_takes(
    slowest: float, p95: float, met: list[bool]
) -> None:
    tick = {"spaces": 2, "memories": 2000, "seconds": 9.0, "python_cpu_s": 1.0, "server_cpu_s": 1.0, "statements": 99}
    tick |= {"statement_ms": {"p99": 9.0}, "slowest_ms": slowest}
    tick["recall_ms"] = {"alone": {"p95": 10.0}, "meanwhile": {"p95": p95}, "recalls": 50}
    assert [target.met for target in targets({"upkeep": tick})] == met


def test_a_cognitive_run_has_ten_seconds() -> None:
    run = {"memories": 10_000, "python_cpu_s": 1.0, "server_cpu_s": 1.0, "asked": {"episode": 3}}
    assert [target.met for target in targets({"cognition": {**run, "seconds": 10.0}})] == [True]
    assert [target.met for target in targets({"cognition": {**run, "seconds": 10.1}})] == [False]
