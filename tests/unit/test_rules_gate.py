"""The gate: a turn that says nothing gets nothing, and a memory needs one good reason."""

from __future__ import annotations

import pytest

from perdure.rules.gate import Candidate, is_rare, passes

NOISE = 0.2


def test_a_turn_that_says_nothing_opens_the_gate_for_nothing() -> None:
    assert not passes(Candidate(0.9, rare_word=True, entity=True), says_something=False, noise=NOISE)


@pytest.mark.parametrize(
    ("candidate", "injected"),
    [
        (Candidate(0.21, rare_word=False, entity=False), True),
        (Candidate(0.2, rare_word=False, entity=False), False),
        (Candidate(0.0, rare_word=True, entity=False), True),
        (Candidate(0.0, rare_word=False, entity=True), True),
        (Candidate(-0.5, rare_word=False, entity=False), False),
    ],
)
def test_similarity_beyond_noise_a_rare_word_or_an_entity_is_a_reason(candidate: Candidate, injected: bool) -> None:
    assert passes(candidate, says_something=True, noise=NOISE) is injected


def test_a_word_is_rare_by_share_in_a_large_space_and_by_number_in_a_small_one() -> None:
    assert [is_rare(df, 10_000) for df in (0, 1, 200, 201)] == [False, True, True, False]
    assert [is_rare(df, 10) for df in (1, 3, 4)] == [True, True, False]
