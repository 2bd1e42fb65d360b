"""Typed ids: what a model writes for an id is understood, and a server's fact is never taken for a person's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.fact_ids import MAX_NUMBER, FactId, FactKind, parse

S24 = FactId(FactKind.SERVER, 24)
P3 = FactId(FactKind.PERSONAL, 3)


@pytest.mark.parametrize(
    "written",
    [
        "S24", "s24", "ID:S24", "id:s24", "ID: S24", "Id S24", "[ID:S24]", "(S24)", "`S24`", '"S24"', "#S24", "ID=S24",
        "ID:#S24", "S-24", "S:24", "S 24", "S024", " S24. ", "memory S24", "memory ID:S24", "fact #S24", "<ID:S24>",
        "**ID:S24**", "ＩＤ：Ｓ２４", "id.S24",
    ],
)  # fmt: skip
def test_an_id_is_read_as_models_write_it(written: str) -> None:
    assert parse(written) == S24


def test_a_letter_wins_over_the_kind_of_bare_numbers() -> None:
    assert parse("[ID:P3]", FactKind.SERVER) == P3


@pytest.mark.parametrize("written", [24, "24", "ID:24", "#24", "[ID: 24]", "memory 24"])
def test_a_bare_number_needs_to_be_told_whose_it_is(written: str | int) -> None:
    assert parse(written, FactKind.SERVER) == S24
    with pytest.raises(ValueError, match="write S24 of a server, P24 of a person"):
        parse(written)


@pytest.mark.parametrize(
    "written", ["", "S", "ID:", "X24", "S24 P3", "S24,S25", "S2.5", "SS24", "twenty", "S24abc", "-24", -24, "S24\x00"]
)
def test_what_is_no_id_is_refused_with_an_example(written: str | int) -> None:
    with pytest.raises(ValueError, match="write it as it is shown, such as S24 or P24"):
        parse(written, FactKind.SERVER)


@pytest.mark.parametrize("written", ["S0", "S000", f"S{MAX_NUMBER + 1}", "S" + "9" * 100_000, 0])
def test_numbers_that_no_fact_has_are_refused(written: str | int) -> None:
    with pytest.raises(ValueError, match=f"is 1 to {MAX_NUMBER}, not"):
        parse(written, FactKind.SERVER)


def test_a_long_answer_is_quoted_briefly() -> None:
    with pytest.raises(ValueError, match="…") as refused:
        parse("no id " * 1_000)
    assert len(str(refused.value)) < 200


@given(st.builds(FactId, st.sampled_from(FactKind), st.integers(1, MAX_NUMBER)))
def test_every_id_comes_back_from_what_is_shown(fact: FactId) -> None:
    assert parse(str(fact)) == parse(f"ID:{fact}") == parse(fact.number, fact.kind) == fact
