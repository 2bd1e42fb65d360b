"""What a text costs in a prompt: rather too much than too little, in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.tokens import estimated_tokens, sampled_tokens


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("rent", 1, 2),
        ("The landlord raises the rent in January", 7, 16),
        ("Rindfleischetikettierungsüberwachungsaufgabe", 9, 20),
        ("房东一月份涨房租", 6, 10),
        ("家賃は一月に上がります", 7, 13),
        ("집주인이 1월에 집세를 올린다", 9, 16),
        ("เจ้าของบ้านขึ้นค่าเช่าในเดือนมกราคม", 10, 24),
        ("Хозяин поднимает аренду в январе", 8, 18),
        ("2026-03-01T12:00:00Z", 8, 24),
        ("👍👍👍", 3, 8),
        ("- milk\n- eggs\n- bread\n", 8, 14),
    ],
)
def test_each_script_has_its_own_measure(text: str, least: int, most: int) -> None:
    assert least <= estimated_tokens(text) <= most


@given(st.text(), st.text())
def test_more_text_never_costs_less(text: str, more: str) -> None:
    assert estimated_tokens(text) <= estimated_tokens(text + more)


@given(st.text(), st.text())
def test_two_texts_cost_together_no_more_than_each_by_itself(one: str, other: str) -> None:
    assert estimated_tokens(one + other) <= estimated_tokens(one) + estimated_tokens(other)


@given(st.text(min_size=1))
def test_no_text_costs_more_than_its_characters(text: str) -> None:
    assert estimated_tokens(text) <= len(text)


def test_samples_count_a_token_for_every_four_characters_begun() -> None:
    assert [sampled_tokens(characters) for characters in (0, 1, 4, 5, 1000)] == [0, 1, 1, 2, 250]
