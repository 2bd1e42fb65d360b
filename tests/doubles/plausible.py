"""What a well-meaning model might answer to each prompt, made of nothing but the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from perdure.llm.call_sites import CALL_SITES
from tests.doubles.gbnf import draw, parse

Data = Callable[[str], str]


def plausible(site: str, data: Data, body: Mapping[str, Any]) -> dict[str, Any] | str:
    """JSON for call sites that ask for it, prose for the others.

    Args:
        site: the call site; "" for a prompt that is not ours, which gets something of the shape it asks for.
        data: reads one field of the prompt.
        body: the request.
    """
    if site in _ANSWERS:
        return _ANSWERS[site](data)
    if site:
        assert CALL_SITES[site].schema is None, f"no plausible answer for {site}"
        return f"What was known before is to be read in the light of this: {data('event')[:200]}"
    if "grammar" in body:
        return draw(parse(body["grammar"]), Random(0))
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        least = _least(wanted["json_schema"]["schema"])
        assert isinstance(least, dict)
        return least
    return {} if wanted.get("type") == "json_object" else "Understood."


def _triage(data: Data) -> dict[str, Any]:
    summary = (data("user") or data("item") or data("assistant"))[:1000]
    return {
        "language": "en",
        "summary": summary,
        "category": "fact",
        "tags": [],
        "said_by": "user" if data("user") else "tool",
        "salience": 6,
        "save": True,
        "paradigm_shift": False,
    }


def _distillation(data: Data) -> dict[str, Any]:
    lines = [line.strip()[:200] for line in data("messages").splitlines() if line.strip()]
    return {"facts": [{"text": line, "salience": 6, "tags": [], "said_by": "user"} for line in lines[:8]]}


def _bootstrap(data: Data) -> dict[str, Any]:
    profile = dict.fromkeys(("name", "pronouns", "location", "occupation"), "")
    facts = [{"text": data("text")[:400], "category": "fact", "tags": []}]
    return {**profile, "important_people": [], "recurring_topics": [], "traits": [], "facts": facts}


def _consolidation(_: Data) -> dict[str, Any]:
    return {"profile_updates": [], "trait_updates": [], "merges": []}


def _episode(data: Data) -> dict[str, Any]:
    return {"summary": f"That day: {data('memories')}"[:1000], "tags": []}


def _reflection(_: Data) -> dict[str, Any]:
    return {key: [] for key in ("patterns", "evolving_interests", "connections", "predictions")}


_ANSWERS: dict[str, Callable[[Data], dict[str, Any]]] = {
    "triage": _triage,
    "distillation": _distillation,
    "bootstrap": _bootstrap,
    "consolidation": _consolidation,
    "episode": _episode,
    "reflection": _reflection,
    "quality": lambda _: {"specificity": 0.5, "uniqueness": 0.5, "entities": [], "confidence": 0.9},
    "entities": lambda _: {"entities": []},
    "contradiction": lambda _: {"reason": "They are about different things.", "verdict": "COMPATIBLE"},
    "usefulness": lambda _: {"verdict": "YES"},
    "rewrite": lambda _: {"queries": []},
    "rerank": lambda _: {"numbers": [1]},
}


def _least(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            return {name: _least(field) for name, field in schema["properties"].items()}
        case "array":
            return []
        case "string":
            return "en" if "ISO" in schema.get("description", "") else "text"
        case "boolean":
            return False
    return schema.get("minimum", 0)
