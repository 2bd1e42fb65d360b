"""The two tools as data, for whatever hands them to a model: MCP, a chat host, a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from perdure.ltm.arguments import SERVER_WIDE, TARGET_USER


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, what it is for, and its arguments as a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]

    def as_function(self) -> dict[str, object]:
        """As OpenAI's protocol names a tool; plain data, ready for JSON."""
        told = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": told}


_CONTENT: Final = (
    "One fact in one sentence, in the third person, that will still matter in other conversations. "
    "Write {user} and {bot} where their names would stand. At most 1000 characters; no addresses, no contact "
    "data, no passwords."
)
_TARGET: Final = "The name of the person it is about, as it is shown in this conversation; never an id."

CREATE: Final = Tool(
    "create_long_term_memory",
    "Remember a lasting fact or preference, for as long as it is useful. Call it without being asked when somebody "
    "tells something that will matter later, and always when they ask you to remember something. Don't call it for "
    "what stands in your memories already, for what is only true today, or for what you merely guess.",
    {
        "type": "object",
        "properties": {
            "memory_content": {"type": "string", "description": _CONTENT},
            "memory_scope": {
                "type": "string",
                "enum": [SERVER_WIDE, TARGET_USER],
                "description": "target_user: about one person. server_wide: about the whole server, seen by "
                "everybody in it.",
            },
            "target_user": {"type": "string", "description": f"{_TARGET} Needed for target_user."},
        },
        "required": ["memory_content", "memory_scope"],
    },
)

UPDATE: Final = Tool(
    "update_long_term_memory",
    "Correct one of your memories, or delete it, when it is no longer true or somebody asks for that. What you give "
    "takes the place of the whole memory.",
    {
        "type": "object",
        "properties": {
            "memory_id": {"type": "string", "description": "Its id as it is shown, such as S24 or P24."},
            "memory_content": {
                "type": "string",
                "description": f"The whole new text. Empty deletes the memory. {_CONTENT}",
            },
            "target_user": {"type": "string", "description": f"{_TARGET} Only for memories of a person."},
        },
        "required": ["memory_id", "memory_content"],
    },
)

TOOLS: Final = (CREATE, UPDATE)
"""Both, in the order in which a model is shown them."""
