"""What a language model may answer: one schema per question, from which grammar, JSON schema and validation all come.

Every text and list is bounded, so that the longest answer is known beforehand and fits the tokens it is given. The
order of the fields is the order in which they are written: what was learned stands before its score, a reason before
its verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isnan
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_CONTROLS: Final = {code: None for code in [*range(0x20), *range(0x7F, 0xA0)] if chr(code) not in "\t\n\r"}
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?=$|[-_])")
_WITHOUT_BOUNDS: Final = frozenset({"title", "default", "minLength", "maxLength", "minItems", "maxItems", "pattern"})
_DROPPED: Final = frozenset({"title", "default"})


def _clean(value: object) -> object:
    """Without what no database or terminal wants, and without white space around it."""
    return value.translate(_CONTROLS).strip() if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _upper(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


def _number(value: object) -> object:
    """Refuses true and false, which pydantic would take for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("a number is needed")  # noqa: TRY004 - a TypeError would not become a ValidationError
    return value


def _clamped(value: object) -> object:
    """A number outside 0..1 is moved to the nearer end (spec: each score clamped)."""
    value = _number(value)
    return min(max(value, 0.0), 1.0) if isinstance(value, int | float) and not isnan(value) else value


def _language(value: object) -> object:
    """`en` of "EN", "en-US" or "en_GB"."""
    found = _LANGUAGE.match(value.strip().lower()) if isinstance(value, str) else None
    return found[0] if found else value


def _labels(most: int, longest: int) -> BeforeValidator:
    """Labels lose nothing that matters by being fewer: empty, repeated, overlong and surplus ones are left out."""

    def cut(value: object) -> object:
        if not isinstance(value, list):
            return value
        kept: dict[str, None] = {}
        for label in value:
            text = _clean(label)
            if not isinstance(text, str):
                return value
            if 0 < len(text) <= longest:
                kept.setdefault(text)
        return list(kept)[:most]

    return BeforeValidator(cut)


Salience = Annotated[int, Field(ge=1, le=10), BeforeValidator(_number)]
"""1–3 routine noise, 4–6 for a time or a project, 7–8 high value or identity, 9–10 critical or permanent."""

Score = Annotated[float, Field(ge=0, le=1), BeforeValidator(_clamped)]
SaidBy = Annotated[Literal["user", "assistant", "tool"], BeforeValidator(_lower)]
Language = Annotated[str, Field(pattern="^[a-z]{2,3}$"), BeforeValidator(_language)]
Category = Annotated[Literal["general", "fact", "preference", "event"], BeforeValidator(_lower)]
"""The kinds of memory that a conversation can become; the values are those of `MemoryType`."""

Line = Annotated[str, Field(min_length=1, max_length=200), BeforeValidator(_clean)]
Tag = Annotated[str, Field(min_length=1, max_length=40), BeforeValidator(_clean)]
ShortTag = Annotated[str, Field(min_length=1, max_length=24), BeforeValidator(_clean)]
Name = Annotated[str, Field(min_length=1, max_length=60), BeforeValidator(_clean)]
Names = Annotated[list[Name], Field(max_length=12), _labels(12, 60)]
FactTags = Annotated[list[ShortTag], Field(max_length=3), _labels(3, 24)]


class Answer(BaseModel):
    """Base of all: frozen; keys that were not asked for are ignored, missing ones are an error."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TriageVerdict(Answer):
    """What an exchange, a mail or an event is worth (spec 2: triage verdict)."""

    language: Language = Field(description="ISO 639 code of the language of the material")
    summary: Annotated[str, Field(min_length=1, max_length=1000), BeforeValidator(_clean)] = Field(
        description="what was learned, in that language"
    )
    category: Category
    tags: Annotated[list[Tag], Field(max_length=6), _labels(6, 40)] = Field(description="topics, in that language")
    said_by: SaidBy = Field(description="whose words the summary rests on")
    salience: Salience
    save: bool
    paradigm_shift: bool


class QualityScore(Answer):
    """How good a memory is as a memory; each number is clamped to 0..1 (spec 2: quality scoring)."""

    specificity: Score
    uniqueness: Score
    entities: Names
    confidence: Score


class ExtractedEntities(Answer):
    """Whom and what a text names."""

    entities: Names


class ContradictionVerdict(Answer):
    """What a new memory does to an old one (spec 2: the four verdicts)."""

    reason: Line
    verdict: Annotated[Literal["DUPLICATE", "UPDATES", "CONTRADICTS", "COMPATIBLE"], BeforeValidator(_upper)]


class DistilledFact(Answer):
    """One lasting fact out of an archived conversation."""

    text: Line = Field(description="one fact, understandable by itself")
    salience: Salience
    tags: FactTags
    said_by: SaidBy


class DistilledFacts(Answer):
    """All that is worth keeping of an archived conversation, often nothing (spec 2, route 4)."""

    facts: list[DistilledFact] = Field(max_length=8)


class Usefulness(Answer):
    """Whether one memory helped the reply (spec 4)."""

    verdict: Annotated[Literal["YES", "NO"], BeforeValidator(_upper)]


class Rewrites(Answer):
    """Other ways to ask (spec 3.2: at most 3)."""

    queries: list[Annotated[str, Field(min_length=1, max_length=120), BeforeValidator(_clean)]] = Field(max_length=3)


class Ranking(Answer):
    """Numbers of the candidates that answer the query, best first."""

    numbers: list[Annotated[int, Field(ge=1, le=99), BeforeValidator(_number)]] = Field(max_length=20)


class ProfileFact(Answer):
    """One thing that a text about the user says."""

    text: Annotated[str, Field(min_length=1, max_length=400), BeforeValidator(_clean)]
    category: Category
    tags: FactTags


class Trait(Answer):
    """One trait of the user; the categories are those of consolidation (spec 6)."""

    category: Annotated[
        Literal["interest", "hobby", "goal", "worldview", "style", "preference"], BeforeValidator(_lower)
    ]
    key: Name
    value: Line


class Person(Answer):
    """Somebody who matters to the user."""

    name: Name
    relation: Name


class BootstrapProfile(Answer):
    """Who the user is, out of a text about them; "" where the text doesn't say (spec 6: profile and traits)."""

    name: Annotated[str, Field(max_length=100), BeforeValidator(_clean)]
    pronouns: Annotated[str, Field(max_length=40), BeforeValidator(_clean)]
    location: Annotated[str, Field(max_length=100), BeforeValidator(_clean)]
    occupation: Annotated[str, Field(max_length=100), BeforeValidator(_clean)]
    important_people: list[Person] = Field(max_length=15)
    recurring_topics: Annotated[list[Name], Field(max_length=15), _labels(15, 60)]
    traits: list[Trait] = Field(max_length=24)
    facts: list[ProfileFact] = Field(max_length=40)


def json_schema(model: type[BaseModel], *, bounds: bool = True) -> dict[str, Any]:
    """The JSON schema of an answer, without references, every key required and no other allowed.

    Args:
        model: one of this module's.
        bounds: with the lengths of texts and lists; without them (the description names them) it is what OpenAI's
            strict mode takes.
    """
    raw = model.model_json_schema()
    plain = _plain(raw, raw.get("$defs", {}), _DROPPED if bounds else _WITHOUT_BOUNDS)
    assert isinstance(plain, dict)
    return plain


def answer_form(model: type[BaseModel]) -> str:
    """The JSON a model has to write, as a line for its prompt; made of the same schema."""
    return _form(json_schema(model))


def _plain(node: Any, definitions: Mapping[str, Any], dropped: frozenset[str]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions, dropped) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rpartition("/")[2]], definitions, dropped)
    if "properties" in node:
        properties = {name: _plain(field, definitions, dropped) for name, field in node["properties"].items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    return {key: _plain(value, definitions, dropped) for key, value in node.items() if key not in dropped}


def _form(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return " | ".join(f'"{value}"' for value in node["enum"])
    match node["type"]:
        case "object":
            return "{" + ", ".join(f'"{name}": {_form(field)}' for name, field in node["properties"].items()) + "}"
        case "array":
            return f"[at most {node['maxItems']} of {_form(node['items'])}]"
        case "boolean":
            return "true | false"
        case "string":
            limit = f", at most {node['maxLength']} characters" if "maxLength" in node else ""
            return f'"{node.get("description", "text")}{limit}"'
        case kind:
            whole = "whole number" if kind == "integer" else "number"
            return f"{whole} {node['minimum']:g} to {node['maximum']:g}"
