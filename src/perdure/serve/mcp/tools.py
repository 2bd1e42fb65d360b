"""The tools as a model is shown them: eight, in few words, each saying when to call it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mcp_types import Tool, ToolAnnotations

from perdure.acting import Scope
from perdure.ltm import TOOLS
from perdure.types import HIDDEN_TYPES, MemoryType

MOST_FOUND: Final = 50
_TYPES: Final = [str(kind) for kind in MemoryType if kind not in HIDDEN_TYPES]
_ID: Final = {"type": ["string", "integer"], "description": "As shown, such as 42."}
_TAGS: Final = {"type": ["array", "null"], "items": {"type": "string"}}
_SALIENCE: Final = {"type": ["number", "null"], "description": "1 (trifle) to 10 (must never be lost); 5 if not given."}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _optional(description: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "description": description}


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool and what a caller needs for it."""

    tool: Tool
    scope: Scope


def _tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    required: tuple[str, ...] = (),
    *,
    scope: Scope = Scope.WRITE,
    destructive: bool = False,
    idempotent: bool = False,
    output: dict[str, Any] | None = None,
) -> Offered:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    annotations = ToolAnnotations(
        read_only_hint=scope is Scope.READ,
        destructive_hint=destructive,
        idempotent_hint=idempotent or scope is Scope.READ,
        open_world_hint=False,
    )
    tool = Tool(name=name, description=description, input_schema=schema, output_schema=output, annotations=annotations)
    return Offered(tool, scope)


_FOUND: Final = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "text": {"type": "string"}, "date": {"type": "string"}},
            },
        },
        "degraded": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["memories", "degraded"],
}

_CREATE, _UPDATE = TOOLS

OFFERED: Final = (
    _tool(
        "search_memory",
        "Look up what is remembered of the user and of earlier conversations. Call it before answering whatever may "
        "depend on their past, people, plans or preferences, and when they refer to something you can't see.",
        {
            "query": _text("What to look for, in the words of the question."),
            "tags": {**_TAGS, "description": "All of them."},
            "memory_type": {"type": ["string", "null"], "enum": [*_TYPES, "identity", "reflection", None]},
            "start_date": _optional("First day, YYYY-MM-DD."),
            "end_date": _optional("Last day."),
            "limit": {"type": ["integer", "null"], "description": f"1 to {MOST_FOUND}; 10 if not given."},
        },
        ("query",),
        scope=Scope.READ,
        output=_FOUND,
    ),
    _tool(
        "save_memory",
        "Remember something for good: what the user asks you to remember, or tells that will matter in other "
        "conversations. One fact, understandable by itself, with names instead of pronouns and dates instead of "
        '"tomorrow".',
        {
            "text": _text("What to remember."),
            "salience": _SALIENCE,
            "tags": _TAGS,
            "memory_type": {"type": ["string", "null"], "enum": [*_TYPES, None]},
            "date": _optional("When it happened, if that isn't now."),
        },
        ("text",),
        idempotent=True,
    ),
    _tool(
        "update_memory",
        "Correct a memory that search_memory has shown. What you leave out stays as it is; what it said before is "
        "kept in its history.",
        {
            "memory_id": _ID,
            "text": _optional("The whole new text."),
            "salience": _SALIENCE,
            "tags": {**_TAGS, "description": "Take the place of those it has."},
        },
        ("memory_id",),
        idempotent=True,
    ),
    _tool(
        "forget_memory",
        "Erase memories for good, with all that was made of them alone, when the user asks for that. Call it without "
        "confirm first, tell the user what would go, and call it again with confirm once they agree.",
        {
            "memory_ids": {"type": "array", "items": {"type": ["string", "integer"]}},
            "confirm": {"type": ["boolean", "null"], "description": "true erases; else you only see what would go."},
        },
        ("memory_ids",),
        destructive=True,
        idempotent=True,
    ),
    _tool(
        _CREATE.name,
        _CREATE.description,
        dict(_CREATE.parameters["properties"]),  # type: ignore[call-overload]
        tuple(_CREATE.parameters["required"]),  # type: ignore[arg-type]
    ),
    _tool(
        _UPDATE.name,
        _UPDATE.description,
        dict(_UPDATE.parameters["properties"]),  # type: ignore[call-overload]
        tuple(_UPDATE.parameters["required"]),  # type: ignore[arg-type]
        destructive=True,
        idempotent=True,
    ),
    _tool(
        "consolidate_memory",
        "Bring the summary of who the user is up to date with the most important new memories. It happens by itself in "
        "quiet hours; call it only when the user asks for it.",
        {},
        idempotent=True,
    ),
    _tool(
        "consult_deep_thinker",
        "Put a hard question to a stronger, slower model that can search the memory by itself. For questions that need "
        "many memories weighed against each other; it takes up to minutes.",
        {"question": _text("The question, with all it needs to be understood.")},
        ("question",),
        scope=Scope.READ,
    ),
)
"""In the order in which a model is shown them."""

BY_NAME: Final = {offered.tool.name: offered for offered in OFFERED}
