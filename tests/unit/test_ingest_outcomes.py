"""Outcomes survive being stored with their operation id."""

from __future__ import annotations

import json

import pytest

from perdure.ingest.outcomes import outcome_from_data, outcome_to_data
from perdure.types import Failed, Merged, Nothing, Outcome, Pending, Stored, Superseded

OUTCOMES = [Stored((1, 2)), Merged(3), Superseded(old=4, new=5), Nothing("empty"), Pending(6), Failed("third attempt")]


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.status)
def test_a_repeated_operation_returns_the_first_outcome_unchanged(outcome: Outcome) -> None:
    assert outcome_from_data(json.loads(json.dumps(outcome_to_data(outcome)))) == outcome


def test_data_of_another_origin_is_no_outcome() -> None:
    with pytest.raises(KeyError):
        outcome_from_data({"status": "perhaps"})
