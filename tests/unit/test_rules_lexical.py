"""BM25: rarity, saturation, length, and a share that fixed weights can be put on."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.lexical import Bm25, attainable, idf, rarities, reachable, score, term_weight

COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 50), max_size=4)


def test_a_worked_example() -> None:
    idfs = {"cat": idf(1, 10), "the": idf(9, 10), "absent": idf(0, 10)}
    assert idfs["cat"] == pytest.approx(math.log(1 + 9.5 / 1.5))
    found = score({"cat": 2, "the": 1}, idfs, length=12, average_length=8)
    longer = 1.2 * (0.25 + 0.75 * 1.5)
    expected = idfs["cat"] * 2 * 2.2 / (2 + longer) + idfs["the"] * 2.2 / (1 + longer)
    assert found == pytest.approx(expected)


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_rarer_is_worth_more_and_nothing_is_worth_less_than_nothing(df: int, n: int) -> None:
    assert idf(df, n) > 0
    assert idf(df, n) >= idf(df + 1, n)


@given(st.floats(0, 100), st.floats(1, 500), st.floats(1, 500))
def test_repetition_saturates_and_length_discounts(tf: float, length: float, average: float) -> None:
    weight = term_weight(tf, length, average)
    assert 0 <= weight <= 2.2
    assert weight <= term_weight(tf + 1, length, average)
    assert weight >= term_weight(tf, length + 1, average)
    assert term_weight(tf, length, average, Bm25(b=0.0)) == term_weight(tf, length + 9, average, Bm25(b=0.0))


def test_an_empty_space_has_no_average_to_compare_with() -> None:
    assert term_weight(1, 10, 0) == pytest.approx(1.0)


@given(COUNTS, COUNTS, st.integers(1, 100))
def test_the_attainable_share_lies_between_nothing_and_all(
    tfs: dict[str, int], dfs: dict[str, int], length: int
) -> None:
    idfs = {term: idf(df, 60) for term, df in dfs.items()}
    share = attainable(score(tfs, idfs, length, 10), idfs)
    assert 0 <= share <= 1
    assert (share > 0) == bool(set(tfs) & set(idfs))


def test_a_query_of_no_terms_attains_nothing() -> None:
    assert attainable(0.0, {}) == 0.0


DATES_TWICE = Bm25(dates=2.0)


def test_a_date_counts_as_often_as_the_profile_says_and_only_if_some_memory_has_it() -> None:
    found = rarities(["ferry", "@m5", "@m5d8"], {"ferry": 3, "@m5": 3}, 10, DATES_TWICE)
    assert found["@m5"] == pytest.approx(2 * found["ferry"])
    assert found["@m5d8"] == 0.0
    assert rarities(["ferry", "zebra"], {"ferry": 3}, 10)["zebra"] > rarities(["ferry"], {"ferry": 3}, 10)["ferry"]


def test_of_many_days_a_memory_can_have_one() -> None:
    week = {f"@m5d{day}": 2.0 + day for day in range(6, 13)}
    assert reachable({"ferry": 1.0, "@y2024": 0.5, "@y2023": 0.25, "@m5": 0.75, **week}) == pytest.approx(
        1.0 + 0.5 + 0.75 + 14.0
    )
    assert attainable(1.0, {"@m5d6": 1.0, "@m5d7": 1.0}, Bm25(k1=1.0)) == 0.5


def test_without_dates_everything_is_reachable_together() -> None:
    assert reachable({"ferry": 1.0, "noon": 2.0}) == 3.0
    assert reachable({}) == 0.0


def test_of_a_long_query_the_commoner_words_are_expected_ever_less() -> None:
    broad = Bm25(breadth=2.0)
    assert reachable({"a": 3.0, "b": 1.0, "c": 2.0}, broad) == pytest.approx(3.0 + 2.0 / 1.5 + 1.0 / 2.0)
    many = {f"w{number}": 1.0 for number in range(100)}
    few = dict(list(many.items())[:3])
    one_word = idf(1, 100) * term_weight(1, 10, 10, broad)
    assert attainable(one_word, many, broad) > 3 * attainable(one_word, many)
    assert attainable(one_word, few, broad) < 2 * attainable(one_word, few)
