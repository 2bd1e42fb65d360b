"""What was told in private is seen by those it was told to, and by nobody else."""

from __future__ import annotations

import pytest

from perdure.rules.audience import may_see


@pytest.mark.parametrize(
    ("audience", "told_to", "seen"),
    [
        (None, None, True),
        ("couple", None, True),
        ("couple", "couple", True),
        ("family", "couple", False),
        (None, "couple", False),
    ],
)
def test_an_audience_sees_its_own_and_what_everybody_may_see(
    audience: str | None, told_to: str | None, seen: bool
) -> None:
    assert may_see(audience, told_to) is seen
