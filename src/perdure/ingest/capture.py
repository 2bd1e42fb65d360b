"""Capture: the raw exchange is committed in one small transaction, and that is all a turn waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from perdure.door import require_flag, require_list, require_name, without_secrets
from perdure.errors import InvalidInput
from perdure.ingest.operations import enqueue_operation, operation_fingerprint
from perdure.ingest.words import NOT_TO_REMEMBER, keepable
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue
from perdure.text import MAX_TEXT_BYTES, asks_to_forget_this, has_letter_or_digit, require_text
from perdure.types import Nothing, Outcome, Trust

MAX_TOOLS = 64
MAX_EXCHANGE_BYTES = 2 * MAX_TEXT_BYTES
"""What user, assistant and tools say together; the first two fit at their longest."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered during the exchange.

    `trust`: `external` where strangers may have written what it answered, as in mail, on the web, in a calendar or a
    file, and wherever that isn't known; `tool` for what only the host's own systems say.
    """

    name: str
    content: str
    ok: bool = True
    trust: Trust = Trust.EXTERNAL


@dataclass(frozen=True, slots=True)
class Exchange:
    """One user message, the reply, and tool results; `recalled_ids` were in the prompt."""

    user: str
    assistant: str
    tools: tuple[ToolResult, ...]
    speaker: str | None
    audience: str | None
    conversation_id: str
    occurred_at: datetime | None
    recalled_ids: tuple[int, ...] = ()

    def asked(self) -> dict[str, object]:
        """What makes a repeated call the same: all that was said, but not what a recall, which may differ, brought."""
        return {
            "user": self.user,
            "assistant": self.assistant,
            "tools": [_said_by(tool) for tool in self.tools],
            "speaker": self.speaker,
            "audience": self.audience,
            "conversation_id": self.conversation_id,
            "occurred_at": self.occurred_at,
            "recalled_ids": (),
        }

    def payload(self) -> dict[str, object]:
        return {
            "user": self.user,
            "assistant": self.assistant,
            "tools": [_said_by(tool) | {"trust": tool.trust} for tool in self.tools],
            "recalled_ids": list(self.recalled_ids),
        }


def read_exchange(
    *,
    user: str | None,
    assistant: str | None,
    tools: Sequence[ToolResult | Mapping[str, object]] | None,
    speaker: str | None,
    audience: str | None,
    conversation_id: str | None,
    occurred_at: datetime | None,
    recalled_ids: tuple[int, ...],
) -> Exchange | Nothing:
    """The exchange as it will be queued, or why there is nothing to queue.

    What an earlier recall put into the prompt is cut out, so that it is never captured again as new, and secrets are
    masked. A user who asks that this is not remembered is heard.

    Raises:
        InvalidInput: a text is no text or too long, or the exchange as a whole is.
    """
    said = _side(user, "user")
    replied = _side(assistant, "assistant")
    results = _tools(tools, len(said.encode()) + len(replied.encode()))
    if not has_letter_or_digit(said) and not has_letter_or_digit(replied):
        return Nothing("no letter or digit in the exchange")
    if said and not has_letter_or_digit(said):
        return Nothing("no letter or digit in what the user said")
    if asks_to_forget_this(said):
        return Nothing(NOT_TO_REMEMBER)
    return Exchange(said, replied, results, speaker, audience, conversation_id or "", occurred_at, recalled_ids)


async def enqueue_exchange(
    tx: SpaceTransaction, exchange: Exchange, operation_id: str, *, for_model: bool = False
) -> Outcome:
    """Commits the exchange under its operation id; a replay changes nothing and returns the first outcome.

    Raises:
        Conflict: the operation id was used before for something else.
    """
    return await enqueue_operation(
        tx,
        Queue.TRIAGE,
        "conversation",
        exchange.payload(),
        operation_id=operation_id,
        fingerprint=operation_fingerprint("capture", exchange.asked()),
        conversation_id=exchange.conversation_id,
        audience=exchange.audience,
        speaker=exchange.speaker,
        occurred_at=exchange.occurred_at or tx.now,
        for_model=for_model,
    )


def _said_by(tool: ToolResult) -> dict[str, object]:
    return {"name": tool.name, "content": tool.content, "ok": tool.ok}


def _side(text: Any, field: str) -> str:
    if text is None or (isinstance(text, str) and not text.strip()):
        return ""
    return keepable(require_text(text, field))


def _tools(given: object, size: int) -> tuple[ToolResult, ...]:
    """The tool results; refused where they make the exchange too long. `size` is that of the rest."""
    tools = require_list(given, "tools")
    if len(tools) > MAX_TOOLS:
        raise InvalidInput("tools", tools, f"it has {len(tools):,} results, at most {MAX_TOOLS} are taken")
    results = []
    for number, tool in enumerate(tools):
        result = _tool(tool, f"tools[{number}]")
        size += len(result.content.encode())
        if size > MAX_EXCHANGE_BYTES:
            limit = f"with it the exchange has {size:,} bytes of UTF-8, at most {MAX_EXCHANGE_BYTES:,} are taken"
            raise InvalidInput(f"tools[{number}].content", result.content, limit)
        results.append(result)
    return tuple(results)


def _tool(tool: object, field: str) -> ToolResult:
    if isinstance(tool, Mapping):
        name, content, ok = tool.get("name"), tool.get("content"), tool.get("ok", True)
        trust = tool.get("trust", Trust.EXTERNAL)
    elif isinstance(tool, ToolResult):
        name, content, ok, trust = tool.name, tool.content, tool.ok, tool.trust
    else:
        raise InvalidInput(field, tool, "it has to be a ToolResult or an object with `name`, `content` and `ok`")
    if trust not in (Trust.TOOL, Trust.EXTERNAL):
        raise InvalidInput(f"{field}.trust", trust, "it has to be `external`, or `tool` for what only your systems say")
    return ToolResult(
        "" if name in (None, "") else without_secrets(require_name(name, f"{field}.name")),
        _side(content, f"{field}.content"),
        require_flag(ok, f"{field}.ok"),
        Trust(trust),
    )
