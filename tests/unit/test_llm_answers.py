"""From text to a validated value, whatever stands around it; and what a model is told that got it wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.llm.answers import Unfit, read_answer, repair_request
from perdure.llm.schemas import ContradictionVerdict, ExtractedEntities, Usefulness

YES = '{"verdict": "YES"}'


@pytest.mark.parametrize(
    "text",
    [
        YES,
        f"  {YES}\n",
        '{ "verdict"\n:\n "YES" }',
        f"```json\n{YES}\n```",
        f"Sure! Here it is:\n```\n{YES}\n```\nAnything else?",
        f'First I thought {{"verdict": "NO"}} but {YES}',
        f'{YES} {{"note": "done"}}',
        f"{YES}}}",
        f"{{ {YES}",
    ],
)
def test_the_object_that_fits_is_found(text: str) -> None:
    assert read_answer(text, Usefulness).verdict == "YES"


def test_the_outermost_object_counts() -> None:
    text = 'It names: {"entities": ["{\\"entities\\": []}"]}'
    assert read_answer(text, ExtractedEntities).entities == ['{"entities": []}']


@pytest.mark.parametrize("text", ["", "YES", '{"verdict": "YES"', '{"verdict": "MAYBE"}', "[1]", "{" * 5000])
def test_what_does_not_fit_is_never_a_value(text: str) -> None:
    with pytest.raises(Unfit):
        read_answer(text, Usefulness)


def test_the_model_is_told_which_field_is_wrong_and_not_what_it_said() -> None:
    with pytest.raises(Unfit) as caught:
        read_answer('{"reason": "because", "verdict": "SAMEISH"}', ContradictionVerdict)
    told = repair_request(caught.value.complaint)
    assert "verdict" in told
    assert "COMPATIBLE" in told
    assert "SAMEISH" not in told


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_around_an_answer_is_survived(before: str, after: str) -> None:
    try:
        assert read_answer(before + YES + after, Usefulness).verdict in ("YES", "NO")
    except Unfit:
        assert "{" in before or '"' in before
