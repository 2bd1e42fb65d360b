"""LoCoMo's evidence, repaired only where it can mean one thing."""

from __future__ import annotations

import pytest

from perdure.connect.evaluation_sets import dialogue_ids

TURNS = {"D1:3", "D8:6", "D9:17", "D11:26", "D30:5"}


@pytest.mark.parametrize(
    ("evidence", "turns"),
    [
        (["D1:3"], ("D1:3",)),
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D9:17 D8:6,D1:3"], ("D9:17", "D8:6", "D1:3")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D1:3", "D", "D1:3"], ("D1:3",)),
        (["D99:1"], ()),
        ([], ()),
        (None, ()),
        ([17, {}], ()),
        ("D1:3", ("D1:3",)),
    ],
)
def test_evidence_names_known_turns_each_once_in_order(evidence: object, turns: tuple[str, ...]) -> None:
    assert dialogue_ids(evidence, TURNS) == turns
