"""One schema, one grammar: what the grammar admits is accepted, and what is accepted could have been written."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from perdure.llm import schemas
from perdure.llm.call_sites import CALL_SITES, CallSite, Mode
from perdure.llm.grammar import gbnf
from tests.doubles.gbnf import draw, longest, parse, pattern

SITES = [site for site in CALL_SITES.values() if site.schema is not None]
MODELS = sorted({site.schema for site in SITES if site.schema}, key=lambda model: model.__name__)
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def written(answer: BaseModel) -> str:
    return json.dumps(answer.model_dump(), ensure_ascii=False, separators=(",", ":"))


@every_model
def test_whatever_the_grammar_admits_parses_and_validates(model: type[BaseModel]) -> None:
    root = parse(gbnf(model))

    for seed in range(150):
        sentence = draw(root, random.Random(seed), ends=seed % 3 == 0)
        model.model_validate_json(sentence)


@every_model
def test_what_was_accepted_is_itself_a_sentence_of_the_grammar(model: type[BaseModel]) -> None:
    sentences, root = pattern(gbnf(model)), parse(gbnf(model))

    for seed in range(20):
        answer = model.model_validate_json(draw(root, random.Random(seed)))
        assert sentences.fullmatch(written(answer))


@every_model
def test_every_key_is_written_in_the_order_of_the_schema_and_none_is_left_out(model: type[BaseModel]) -> None:
    sentence = draw(parse(gbnf(model)), random.Random(1))

    assert list(json.loads(sentence)) == list(model.model_fields)


@pytest.mark.parametrize(
    "site", [site for site in SITES if site.mode is Mode.COMPLETE_WITH_GRAMMAR], ids=lambda site: site.name
)
def test_the_longest_answer_of_a_grammar_fits_the_tokens_of_its_call_site(site: CallSite) -> None:
    """One token a character is the worst for what is written in ASCII; a place for any character counts two, as an
    escaped sign does and a Chinese one in the poorest vocabularies."""
    assert site.schema is not None
    assert longest(parse(gbnf(site.schema))) <= site.max_tokens


def test_a_text_may_hold_any_script_quotes_and_line_ends_but_no_control_character() -> None:
    sentences = pattern(gbnf(schemas.ContradictionVerdict))

    def admitted(reason: str) -> bool:
        text = json.dumps({"reason": reason, "verdict": "UPDATES"}, ensure_ascii=False, separators=(",", ":"))
        return sentences.fullmatch(text) is not None

    assert all(
        map(admitted, ["sie zog um", "她搬到了里斯本", "она «сказала»", 'a "quote" and a \\', "two\nlines", "🙂", "𠀀"])
    )
    assert not any(
        map(admitted, ["", " begins with a space", "　ideographic space", "\u200binvisible", "a\x00b", "a\x85"])
    )
    assert not any(map(admitted, ["x" * 201, "lone \ud800 surrogate"]))


def test_numbers_stay_within_their_range() -> None:
    ranks, scores = pattern(gbnf(schemas.Ranking)), pattern(gbnf(schemas.QualityScore))

    def score(number: str) -> str:
        return f'{{"specificity":{number},"uniqueness":0,"entities":[],"confidence":1}}'

    assert ranks.fullmatch('{"numbers":[1,10,99]}')
    assert not any(ranks.fullmatch(f'{{"numbers":[{number}]}}') for number in ("0", "100", "01", "1.0", "-1"))
    assert all(scores.fullmatch(score(number)) for number in ("0", "0.5", "0.25", "1", "1.0"))
    assert not any(scores.fullmatch(score(number)) for number in ("1.1", "2", "-0.1", "0.123", "9.9", ".5"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_no_accepted_text_is_empty_or_holds_a_control_character(text: str) -> None:
    sentence = json.dumps({"reason": text, "verdict": "UPDATES"}, ensure_ascii=False, separators=(",", ":"))
    if pattern(gbnf(schemas.ContradictionVerdict)).fullmatch(sentence):
        reason = schemas.ContradictionVerdict.model_validate_json(sentence).reason
        assert reason
        assert not any(ord(sign) < 0x20 and sign != "\n" for sign in reason)
