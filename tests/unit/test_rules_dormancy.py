"""Dormancy: seven counted days put a fact to sleep, one win wakes it, and nothing else counts."""

from __future__ import annotations

import math
from datetime import date, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.dormancy import (
    DORMANT_AFTER,
    MAX_PER_SCOPE,
    Count,
    Resident,
    Room,
    is_dormant,
    is_quick_return,
    pick_victim,
    pick_winners,
    record_recall_day,
    room_for_one,
)
from perdure.rules.fact_ids import FactId, FactKind

TODAY = date(2026, 5, 1)
TOMORROW = TODAY + timedelta(days=1)
IDS = st.builds(FactId, st.sampled_from(FactKind), st.integers(1, 50))


def s(number: int) -> FactId:
    return FactId(FactKind.SERVER, number)


def p(number: int) -> FactId:
    return FactId(FactKind.PERSONAL, number)


def after(count: Count, *turns: tuple[str, date]) -> Count:
    counts = {s(1): count}
    for outcome, day in turns:
        one = frozenset({s(1)})
        won = one if outcome == "win" else frozenset()
        counts = record_recall_day(counts, winners=won, losers=one if outcome == "miss" else frozenset(), day=day)
    return counts[s(1)]


def test_the_seventh_counted_day_makes_a_fact_dormant_if_it_may_be() -> None:
    assert is_dormant(DORMANT_AFTER, pinned=False, possible=True)
    assert not is_dormant(DORMANT_AFTER - 1, pinned=False, possible=True)
    assert not is_dormant(DORMANT_AFTER, pinned=True, possible=True)
    assert not is_dormant(DORMANT_AFTER, pinned=False, possible=False)


def test_three_win_and_the_fourth_does_not() -> None:
    assert pick_winners([(s(1), 0.6), (p(2), 0.9), (s(3), 0.7), (p(4), 0.8)]) == (p(2), p(4), s(3))


def test_exactly_the_threshold_wins() -> None:
    assert pick_winners([(s(1), 0.5), (s(2), math.nextafter(0.5, 0)), (s(3), math.nan)]) == (s(1),)


def test_equally_near_facts_win_in_the_order_of_their_ids_whatever_order_they_come_in() -> None:
    for scored in permutations([(s(2), 0.7), (s(1), 0.7), (p(9), 0.7), (p(8), 0.7)]):
        assert pick_winners(scored) == (p(8), p(9), s(1))


@given(st.dictionaries(IDS, st.floats(-1, 1)))
def test_nobody_who_lost_was_nearer_than_a_winner(scored: dict[FactId, float]) -> None:
    winners = pick_winners(scored.items())
    lost = [cosine for fact, cosine in scored.items() if fact not in winners and cosine >= 0.5]
    assert all(scored[winner] >= max(lost, default=0.5) for winner in winners)
    assert len(winners) == min(3, sum(cosine >= 0.5 for cosine in scored.values()))


@pytest.mark.parametrize(("decay_days", "quick"), [(0, False), (6, False), (7, True), (14, True), (15, False)])
def test_a_quick_return_is_one_within_a_week_of_falling_asleep(decay_days: int, quick: bool) -> None:
    assert is_quick_return(decay_days) is quick


def test_fifty_misses_of_a_day_count_once() -> None:
    assert after(Count(), *[("miss", TODAY)] * 50) == Count(1, TODAY)


def test_a_miss_before_and_one_after_midnight_count_twice() -> None:
    assert after(Count(), ("miss", TODAY), ("miss", TOMORROW)) == Count(2, TOMORROW)


@pytest.mark.parametrize("turns", [("miss", "win"), ("win", "miss")])
def test_reinforcement_wins_whichever_commit_is_first(turns: tuple[str, str]) -> None:
    assert after(Count(5), *[(turn, TODAY) for turn in turns]) == Count(0, TODAY)


def test_a_win_that_is_written_down_late_does_not_free_the_day_again() -> None:
    assert after(Count(), ("miss", TOMORROW), ("win", TODAY), ("miss", TOMORROW)) == Count(0, TOMORROW)


def test_a_miss_that_is_written_down_late_counts_nothing() -> None:
    assert after(Count(), ("miss", TOMORROW), ("miss", TODAY)) == Count(1, TOMORROW)


def test_who_was_not_scored_is_left_alone() -> None:
    assert after(Count(3, TODAY), ("absent", TOMORROW)) == Count(3, TODAY)


def test_what_is_pinned_never_ages_but_may_win() -> None:
    assert after(Count(2, pinned=True), ("miss", TODAY)) == Count(2, pinned=True)
    assert after(Count(2, pinned=True), ("win", TODAY)) == Count(0, TODAY, pinned=True)


def test_who_is_gone_is_no_error() -> None:
    assert record_recall_day({}, winners={s(1)}, losers={s(2)}, day=TODAY) == {}


@given(st.lists(st.tuples(st.sampled_from(["miss", "win", "absent"]), st.dates(TODAY, TODAY + timedelta(days=9)))))
def test_never_more_than_one_day_a_day_and_the_day_never_goes_back(turns: list[tuple[str, date]]) -> None:
    count = Count()
    for turn in turns:
        before, count = count, after(count, turn)
        assert count.decay_days <= before.decay_days + 1
        assert (count.last_counted_day or TODAY) >= (before.last_counted_day or TODAY)
    assert count.decay_days <= len({day for outcome, day in turns if outcome == "miss"})


def resident(number: int, decay_days: int, *, lineage: int = 10_000, pinned: bool = False, at: float = 0) -> Resident:
    return Resident(s(number), lineage, decay_days, pinned, at)


def test_the_longest_dormant_makes_room_then_the_oldest_then_the_lowest_id() -> None:
    everybody = [resident(4, 8, at=1), resident(3, 9, at=2), resident(2, 9, at=1), resident(1, 9, at=2)]
    assert pick_victim(everybody) == s(2)
    assert pick_victim(everybody, {s(2)}) == s(1)
    assert pick_victim(everybody, {s(2), s(1), s(3)}) == s(4)


def test_what_is_active_pinned_or_of_every_lineage_never_makes_room() -> None:
    assert pick_victim([resident(1, 6), resident(2, 99, pinned=True), resident(3, 99, lineage=0)]) is None


def test_a_full_scope_takes_a_fact_only_in_the_place_of_a_dormant_one() -> None:
    full = [resident(number, 0) for number in range(1, MAX_PER_SCOPE)] + [resident(MAX_PER_SCOPE, 7)]
    assert room_for_one(full[1:], possible=True) == Room(fits=True)
    assert room_for_one(full, possible=True) == Room(fits=True, victim=s(MAX_PER_SCOPE))
    assert room_for_one(full, possible=True, winners=[s(MAX_PER_SCOPE)]) == Room(fits=False)
    assert room_for_one(full, possible=False) == Room(fits=False)
