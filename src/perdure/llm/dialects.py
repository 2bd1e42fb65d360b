"""What OpenAI-compatible servers differ in: how to tell them apart, and how each is asked for what we need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel

from perdure.llm.grammar import gbnf
from perdure.llm.schemas import json_schema

TEMPERATURE: Final = 0.1
THINKING_TEMPERATURE: Final = 0.6
"""Reasoning models repeat themselves without end when they always take the likeliest token."""
EFFORTS: Final = ("none", "minimal", "low")
"""Ways to say `don't think` to OpenAI's models; each knows some of them."""
ROOM_FOR_THOUGHT: Final = 4096
"""Tokens added where thinking could only be made short: it counts towards the limit."""

_OPENAI_HOST: Final = "api.openai.com"
_OK: Final = 200
_PASSING: Final = frozenset({401, 403, 408, 429})
_SERVER_ERRORS: Final = 500


class Dialect(StrEnum):
    """`openai` is OpenAI itself and whatever shows no sign of being one of the others."""

    LLAMACPP = "llamacpp"
    VLLM = "vllm"
    OLLAMA = "ollama"
    OPENAI = "openai"


class Form(StrEnum):
    """How an answer is held to its schema, strictest first."""

    GRAMMAR = "grammar"
    SCHEMA = "json_schema"
    BARE_SCHEMA = "json_schema without lengths"
    OBJECT = "json_object"
    PLAIN = "plain"


FORMS: Final = tuple(Form)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a server showed of itself: `status` is that of its list of models.

    `certain`: it will not look different a moment later.
    """

    dialect: Dialect
    models: tuple[str, ...]
    certain: bool
    status: int


@dataclass(frozen=True, slots=True)
class Peek:
    """The answer to one GET: its status and, if it was JSON, the document."""

    status: int
    document: Any


@dataclass(frozen=True, slots=True)
class Learned:
    """What a server has refused so far, so that it is not asked again. Values are replaced, never changed."""

    refused: frozenset[str] = frozenset()
    effort: int = 0
    """Index into EFFORTS."""


def base_url(url: str) -> str:
    """`url` as the address under which `chat/completions` lies; a bare host gets the usual `/v1`."""
    url = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def server_root(base: str) -> str:
    """Where a server's own routes lie, beside `/v1`."""
    return base.removesuffix("/v1")


async def detect(base: str, get: Callable[[str], Awaitable[Peek]]) -> Sighting:
    """Tell a server by its real signs: who owns its models, and routes that only one kind of server has."""
    listed = await get(f"{base}/models")
    models, owners = _listed(listed.document)
    if urlsplit(base).hostname == _OPENAI_HOST:
        return Sighting(Dialect.OPENAI, models, certain=True, status=listed.status)
    for owner, dialect in (("llamacpp", Dialect.LLAMACPP), ("vllm", Dialect.VLLM)):
        if owner in owners:
            return Sighting(dialect, models, certain=True, status=listed.status)
    root = server_root(base)
    seen = [listed]
    for path, dialect, key in (
        ("/api/version", Dialect.OLLAMA, "version"),
        ("/props", Dialect.LLAMACPP, "default_generation_settings"),
        ("/version", Dialect.VLLM, "version"),
    ):
        peek = await get(root + path)
        seen.append(peek)
        if peek.status == _OK and isinstance(peek.document, dict) and key in peek.document:
            return Sighting(dialect, models, certain=True, status=listed.status)
    # A server that is still loading, or that wants another key, may show more later.
    passing = any(peek.status in _PASSING or peek.status >= _SERVER_ERRORS for peek in seen)
    return Sighting(Dialect.OPENAI, models, certain=not passing, status=listed.status)


def first_form(dialect: Dialect, base: str) -> Form:
    if dialect is Dialect.LLAMACPP:
        return Form.GRAMMAR
    return Form.BARE_SCHEMA if urlsplit(base).hostname == _OPENAI_HOST else Form.SCHEMA


def compose(
    dialect: Dialect,
    base: str,
    model: str | None,
    messages: Sequence[dict[str, str]],
    *,
    thinking: bool,
    stream: bool,
    max_tokens: int,
    schema: type[BaseModel] | None,
    form: Form,
    learned: Learned,
) -> dict[str, Any]:
    """The body of one request, without anything that this server has refused before."""
    effort = EFFORTS[learned.effort]
    body: dict[str, Any] = {
        "messages": list(messages),
        "temperature": THINKING_TEMPERATURE if thinking else TEMPERATURE,
        **_switch(dialect, thinking, effort),
        **_constraint(schema, form),
    }
    if model:
        body["model"] = model
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    for name in learned.refused & body.keys():
        del body[name]
    thinks_a_little = not thinking and body.get("reasoning_effort", "none") != "none"
    newer = urlsplit(base).hostname == _OPENAI_HOST
    first, second = ("max_completion_tokens", "max_tokens") if newer else ("max_tokens", "max_completion_tokens")
    limit = second if first in learned.refused else first
    return {**body, limit: max_tokens + (ROOM_FOR_THOUGHT if thinks_a_little else 0)}


def _switch(dialect: Dialect, thinking: bool, effort: str) -> dict[str, Any]:
    """Thinking on or off, in the server's own words."""
    match dialect:
        case Dialect.LLAMACPP:
            # `none` stops it from guessing where reasoning ends, which breaks grammars.
            return {
                "chat_template_kwargs": {"enable_thinking": thinking},
                "reasoning_format": "deepseek" if thinking else "none",
            }
        case Dialect.VLLM:
            return {"chat_template_kwargs": {"enable_thinking": thinking}}
        case Dialect.OLLAMA:
            return {} if thinking else {"think": False, "reasoning_effort": "none"}
        case Dialect.OPENAI:
            return {} if thinking else {"reasoning_effort": effort}


def _constraint(schema: type[BaseModel] | None, form: Form) -> dict[str, Any]:
    if schema is None or form is Form.PLAIN:
        return {}
    if form is Form.GRAMMAR:
        return {"grammar": gbnf(schema)}
    if form is Form.OBJECT:
        return {"response_format": {"type": "json_object"}}
    shape = json_schema(schema, bounds=form is Form.SCHEMA)
    named = {"name": schema.__name__, "strict": True, "schema": shape}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _listed(document: Any) -> tuple[tuple[str, ...], frozenset[str]]:
    items = document.get("data") if isinstance(document, dict) else None
    items = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    models = tuple(item["id"] for item in items if isinstance(item.get("id"), str))
    return models, frozenset(str(item.get("owned_by")) for item in items)
