"""What a server's refusal says about the request: which parameter to leave out, and what to tell the person."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from perdure.llm.dialects import EFFORTS, FORMS, Form, Learned
from perdure.remote import SHOWN_CHARS, quotes

_READ_CHARS: Final = 4000
_DROPPABLE: Final = (
    "chat_template_kwargs",
    "reasoning_format",
    "reasoning_effort",
    "think",
    "temperature",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
)
_CONSTRAINTS: Final = re.compile(
    r"response_?format|json_?schema|json_?object|grammar|schema|structured|guided|constrain", re.IGNORECASE
)
_LENGTHS: Final = re.compile(r"\b(?:min|max)(?:Length|Items)\b|\bpattern\b|\b(?:minimum|maximum)\b|keyword")
_UNWANTED: Final = re.compile(
    r"support|recogni|unknown|permitted|extra|unexpected|not allowed|instead|deprecated|invalid", re.IGNORECASE
)
_TOO_LONG: Final = re.compile(r"context|too (?:long|large|many)|maximum|exceed", re.IGNORECASE)
_NO_SUCH_MODEL: Final = re.compile(
    r"model.{0,160}?(?:not found|does not exist|not exist|is not available|no such)|(?:unknown|invalid|no such) model"
    r"|no model(?:s)? loaded|must provide a model",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with an error status. `message` is for people, `all` is all it says, for finding names in it."""

    status: int
    message: str
    all: str
    param: str = ""
    code: str = ""

    @property
    def no_such_model(self) -> bool:
        return self.code == "model_not_found" or bool(_NO_SUCH_MODEL.search(self.message))


def read_refusal(status: int, body: bytes) -> Refusal:
    """What servers put into an error, in the shapes that are about: OpenAI's, FastAPI's, a bare string."""
    text = body[: 8 * _READ_CHARS].decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return Refusal(status, "", text[:_READ_CHARS])
    error = document.get("error", document) if isinstance(document, dict) else document
    fields = error if isinstance(error, dict) else {}
    message = fields.get("message") or fields.get("detail") or error
    if not isinstance(message, str):
        message = json.dumps(_without_input(message), ensure_ascii=False)
    return Refusal(
        status,
        message[:_READ_CHARS],
        json.dumps(_without_input(document), ensure_ascii=False)[:_READ_CHARS],
        str(fields.get("param") or ""),
        str(fields.get("code") or ""),
    )


def learn(refusal: Refusal, body: Mapping[str, Any], learned: Learned) -> Learned:
    """`learned` with the parameters of `body` that the server doesn't want; the same if it names none."""
    named = [refusal.param] if refusal.param in body else []
    named = named or [name for name in _DROPPABLE if name in body and re.search(rf"\b{name}\b", refusal.all)]
    if not _UNWANTED.search(refusal.message):
        return learned
    for name in named:
        if name not in _DROPPABLE:
            continue
        # "does not support 'none'": another word for it may do.
        if name == "reasoning_effort" and "value" in refusal.all.lower() and learned.effort + 1 < len(EFFORTS):
            learned = replace(learned, effort=learned.effort + 1)
        elif name not in ("max_tokens", "max_completion_tokens") or not learned.refused & {
            "max_tokens",
            "max_completion_tokens",
        }:
            learned = replace(learned, refused=learned.refused | {name})
    return learned


def weaker_form(refusal: Refusal, form: Form, *, proven: bool) -> Form | None:
    """The form to try after a refusal, or None if the refusal was about something else.

    `proven`: this server has answered in this form before. A server that doesn't say what it disliked gets the next
    weaker form only while the form is unproven.
    """
    if form is Form.PLAIN:
        return None
    about_form = refusal.param == "response_format" or bool(_CONSTRAINTS.search(refusal.all))
    if not about_form and (proven or _TOO_LONG.search(refusal.all)):
        return None
    weaker = FORMS[FORMS.index(form) + 1]
    if weaker is Form.BARE_SCHEMA and not _LENGTHS.search(refusal.all):
        return Form.OBJECT
    return weaker


def shown_reason(refusal: Refusal, secrets: tuple[str, ...], texts: tuple[str, ...]) -> str:
    """What the server says, if it can be shown: a message that quotes a prompt is left out, a key is struck out."""
    message = refusal.message.strip()
    if quotes(message, texts) or not message or not message.isprintable():
        return ""
    for secret in secrets:
        message = message.replace(secret, "…")
    return f" ({message[:SHOWN_CHARS]})"


def _without_input(node: Any) -> Any:
    """FastAPI repeats what it was sent; that would name every parameter, and quote the prompt."""
    if isinstance(node, list):
        return [_without_input(item) for item in node]
    if isinstance(node, dict):
        return {key: _without_input(value) for key, value in node.items() if key not in ("input", "ctx", "body")}
    return node
