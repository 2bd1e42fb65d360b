"""What fades unused goes, what was replaced goes after its grace, and what somebody needs stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.rules.pruning import Standing, why_pruned

FADED = Standing(salience=1.0, age_days=90.5, retrieval_count=0)
LIVELY = Standing(salience=8.0, age_days=8.0, retrieval_count=3)


def test_what_faded_and_was_never_retrieved_goes_after_ninety_days() -> None:
    assert why_pruned(FADED) == "faded"
    assert why_pruned(replace(FADED, age_days=90.0)) is None
    assert why_pruned(replace(FADED, salience=1.01)) is None


def test_what_was_retrieved_stays_unless_it_was_superseded() -> None:
    assert why_pruned(replace(FADED, retrieval_count=1)) is None
    assert why_pruned(replace(FADED, retrieval_count=1, superseded_days=1.0)) == "faded"


def test_what_was_superseded_goes_after_its_grace_whatever_it_was_worth() -> None:
    assert why_pruned(replace(LIVELY, superseded_days=7.0)) == "superseded"
    assert why_pruned(replace(LIVELY, superseded_days=6.99)) is None
    assert why_pruned(replace(LIVELY, superseded_days=2.0), grace_days=2) == "superseded"


@pytest.mark.parametrize("memory", [FADED, replace(LIVELY, superseded_days=400.0)])
def test_what_is_exempt_never_goes(memory: Standing) -> None:
    assert why_pruned(replace(memory, exempt=True)) is None
