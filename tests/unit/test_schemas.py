"""Schemas: bounded, strict about what matters, lenient about what costs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from perdure.llm import schemas
from perdure.llm.call_sites import CALL_SITES
from perdure.llm.schemas import answer_form, json_schema
from perdure.types import MemoryType

MODELS = sorted({site.schema for site in CALL_SITES.values() if site.schema}, key=lambda model: model.__name__)
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
VERDICT: dict[str, Any] = {
    "language": "en",
    "summary": "Ada moved to Lisbon.",
    "category": "fact",
    "tags": ["home"],
    "said_by": "user",
    "salience": 8,
    "save": True,
    "paradigm_shift": False,
}


def verdict(**other: Any) -> schemas.TriageVerdict:
    return schemas.TriageVerdict.model_validate_json(json.dumps({**VERDICT, **other}))


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    for child in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from nodes(child)


@every_model
def test_every_text_list_and_number_has_bounds(model: type[BaseModel]) -> None:
    for node in nodes(json_schema(model)):
        match node.get("type"):
            case "string":
                assert "enum" in node or "maxLength" in node or "pattern" in node
            case "array":
                assert "maxItems" in node
            case "integer" | "number":
                assert {"minimum", "maximum"} <= set(node)


@every_model
def test_objects_require_every_key_and_allow_no_other_as_strict_mode_wants(model: type[BaseModel]) -> None:
    objects = [node for node in nodes(json_schema(model)) if node.get("type") == "object"]

    assert objects
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


@every_model
def test_there_are_no_references_and_no_lengths_where_they_would_be_refused(model: type[BaseModel]) -> None:
    bare = json_schema(model, bounds=False)
    refused = {"$ref", "$defs", "minLength", "maxLength", "minItems", "maxItems", "title", "default"}

    assert not any(refused & set(node) for node in nodes(bare))
    assert bare["required"] == json_schema(model)["required"]


@every_model
def test_the_form_that_a_model_is_shown_names_every_key(model: type[BaseModel]) -> None:
    form = answer_form(model)

    keys = [name for node in nodes(json_schema(model)) for name in node.get("properties", {})]
    assert all(f'"{key}": ' in form for key in keys)
    assert "\n" not in form


def test_an_answer_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValidationError):
        verdict().salience = 10  # type: ignore[misc]


@pytest.mark.parametrize("salience", [0, 11, -3, 70, 7.5, True, None, "high"])
def test_a_salience_outside_the_rubric_is_an_error_and_never_guessed(salience: Any) -> None:
    with pytest.raises(ValidationError):
        verdict(salience=salience)


@pytest.mark.parametrize("missing", sorted(VERDICT))
def test_a_verdict_with_a_key_missing_is_an_error(missing: str) -> None:
    rest = {key: value for key, value in VERDICT.items() if key != missing}

    with pytest.raises(ValidationError):
        schemas.TriageVerdict.model_validate_json(json.dumps(rest))


def test_a_key_that_nobody_asked_for_does_no_harm() -> None:
    assert verdict(thoughts="hm") == verdict()


@pytest.mark.parametrize("summary", ["", "   ", "\n\t", "\x00\x07"])
def test_a_summary_of_nothing_is_an_error(summary: str) -> None:
    with pytest.raises(ValidationError):
        verdict(summary=summary)


def test_control_characters_and_white_space_around_are_taken_away() -> None:
    assert verdict(summary=" Ada\x00 moved\x1b[31m\nto Lisbon \x85").summary == "Ada moved[31m\nto Lisbon"


def test_a_lone_surrogate_is_an_error_before_it_reaches_the_database() -> None:
    with pytest.raises(ValidationError):
        schemas.TriageVerdict.model_validate_json(json.dumps({**VERDICT, "summary": "a \ud800"}))


def test_labels_are_cut_to_what_fits_without_an_error() -> None:
    assert verdict(tags=["a", " a ", "", "x" * 41, "b", "c", "d", "e", "f", "g"]).tags == list("abcdef")


def test_a_summary_that_is_too_long_is_an_error_as_cutting_it_would_lose_facts() -> None:
    with pytest.raises(ValidationError):
        verdict(summary="x" * 1001)


@pytest.mark.parametrize(("given", "kept"), [("EN", "en"), ("de-AT", "de"), ("zh_Hant", "zh"), ("yue", "yue")])
def test_languages_are_known_by_their_code(given: str, kept: str) -> None:
    assert verdict(language=given).language == kept


@pytest.mark.parametrize("language", ["", "English", "e", "12"])
def test_what_is_no_code_of_a_language_is_an_error(language: str) -> None:
    with pytest.raises(ValidationError):
        verdict(language=language)


def test_words_out_of_a_list_are_taken_in_any_case() -> None:
    answer = verdict(category=" Fact", said_by="USER")

    assert (answer.category, answer.said_by) == ("fact", "user")
    assert schemas.ContradictionVerdict(reason="x", verdict="updates").verdict == "UPDATES"  # type: ignore[arg-type]


def test_categories_are_types_of_memories() -> None:
    categories = json_schema(schemas.TriageVerdict)["properties"]["category"]["enum"]

    assert {MemoryType(category) for category in categories} == {
        MemoryType.GENERAL,
        MemoryType.FACT,
        MemoryType.PREFERENCE,
        MemoryType.EVENT,
    }


@pytest.mark.parametrize(("given", "kept"), [(9.9, 1.0), (-0.2, 0.0), (0.4, 0.4), (1, 1.0), (1e400, 1.0)])
def test_scores_are_clamped_to_one(given: float, kept: float) -> None:
    answer = {"specificity": given, "uniqueness": 0.5, "entities": [], "confidence": 0.5}

    assert schemas.QualityScore.model_validate(answer).specificity == kept


@pytest.mark.parametrize("score", [float("nan"), True, "most", None])
def test_what_is_no_number_is_no_score(score: Any) -> None:
    with pytest.raises(ValidationError):
        schemas.QualityScore.model_validate(
            {"specificity": score, "uniqueness": 0.5, "entities": [], "confidence": 0.5}
        )


@pytest.mark.parametrize("word", ["MAYBE", "", "CONTRADICTS not", "COMPATIBLE or UPDATES"])
def test_a_verdict_that_is_none_of_the_four_is_an_error(word: str) -> None:
    with pytest.raises(ValidationError):
        schemas.ContradictionVerdict.model_validate({"reason": "x", "verdict": word})


def test_a_reason_is_written_before_its_verdict_and_a_summary_before_its_score() -> None:
    assert list(schemas.ContradictionVerdict.model_fields) == ["reason", "verdict"]
    order = list(schemas.TriageVerdict.model_fields)
    assert order.index("summary") < order.index("salience") < order.index("save")
