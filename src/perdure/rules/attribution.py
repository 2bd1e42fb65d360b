"""Who vouches for what a triage made of an exchange; and what the names of tools tell.

A model says who said it, but the model has read tool text, which may have told it what to say. So its word counts as
the user's only where the words bear it out: something of it stands in what the user said, nothing of it is known from
the tools alone, and of the answer to a question or a request no more of it stands in the reply alone.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

MEMORY_TOOLS: Final = frozenset(
    {
        "search_memory",
        "save_memory",
        "update_memory",
        "forget_memory",
        "consolidate_memory",
        "consult_deep_thinker",
        "create_long_term_memory",
        "update_long_term_memory",
    }
)
"""The assistant's own tools (stream-memory.md, section 8): what they answer is nothing new."""

_WRITING_WORDS: Final = """
    add archive cancel create delete edit forget insert make notify pay post publish put remove rename reply save send
    set submit turn update upload write
"""
_WRITING: Final = frozenset(_WRITING_WORDS.split())
"""First words of names of tools that do something rather than look something up."""


def is_memory_tool(name: str) -> bool:
    """Whether a tool is the assistant's own memory, however a host spells it (`searchMemory`, `memory.search_memory`).

    >>> is_memory_tool("search_memory"), is_memory_tool("mcp__perdure__saveMemory"), is_memory_tool("web_search")
    (True, True, False)
    """
    spelled = "_".join(_words(name))
    return any(spelled == tool or spelled.endswith(f"_{tool}") for tool in MEMORY_TOOLS)


def is_read_tool(name: str) -> bool:
    """Whether what a tool answers grounds an exchange: it looked something up that wasn't the assistant's memory.

    >>> is_read_tool("get_weather"), is_read_tool("send_email"), is_read_tool("search_memory"), is_read_tool("")
    (True, False, False, True)
    """
    words = _words(name)
    return not is_memory_tool(name) and not (words and words[0] in _WRITING)


def vouched_by(
    said_by: str,
    summary: AbstractSet[str],
    *,
    user: AbstractSet[str],
    assistant: AbstractSet[str],
    tools: AbstractSet[str],
    outside: bool,
    asked: bool = False,
) -> str:
    """The trust of a summary: `user`, `assistant`, `tool` or `external`.

    Args:
        said_by: whom the model names: user, assistant or tool.
        summary: the distinctive terms of the summary: no function words, not the speaker's name, no roles.
        user, assistant, tools: the terms of what each of them said; `tools` includes what was recalled, by a memory
            tool too.
        outside: whether text that strangers may have written was in the exchange; then nothing but the user's own
            word is trusted more than `external`, and the user has to have said most of it: strangers may write in
            another language, in which no term of theirs is found again.
        asked: the user asked a question, or for something to be read or looked up: what the reply tells more of is
            the reply's own.
    """
    own = summary & user
    replied = (summary & assistant) - user
    borne_out = 2 * len(own) > len(summary) if outside else bool(own)
    answered = asked and len(replied) > len(own)
    if said_by == "user" and borne_out and not answered and not (summary & tools) - user:
        return "user"
    if not tools and said_by == "user" and not summary & assistant:
        # Nobody else can have said it: the model put the user's words into its own, or into another language.
        return "user"
    if outside:
        return "external"
    if said_by == "tool" or (summary & tools) - user - assistant:
        return "tool"
    return "assistant"


def _words(name: str) -> list[str]:
    """The words of a name in snake_case, camelCase or dotted."""
    spaced = "".join(f" {letter}" if letter.isupper() else letter for letter in name)
    plain = "".join(letter if letter.isalnum() else " " for letter in spaced)
    return plain.casefold().split()
