"""How memories are shown to a model that draws conclusions: numbered, dated, with who said it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.llm.conclusions import MOST_SHOWN
from perdure.rules.tokens import estimated_tokens
from perdure.text import truncate_chars
from perdure.types import StoredMemory, Trust

CHARS: Final = 600
"""Characters of one memory that are shown."""


def line(memory: StoredMemory) -> str:
    """One memory, on one line: whatever it or its speaker is called, it can't look like two."""
    who = memory.speaker or str(memory.trust)
    if memory.speaker and memory.trust is not Trust.USER:
        who = f"{who} ({memory.trust})"
    said = f"{memory.source_date.date().isoformat()}, {who}: {truncate_chars(memory.summary, CHARS)}"
    return " ".join(said.split())


def numbered(memories: Sequence[StoredMemory]) -> str:
    """Memories under the numbers by which an answer cites them."""
    return "\n".join(f"[{number}] {line(memory)}" for number, memory in enumerate(memories, 1))


def shown(memories: Sequence[StoredMemory], tokens: int) -> list[StoredMemory]:
    """The first of these memories that fit into so many tokens; one at least, and no more than can be numbered."""
    kept: list[StoredMemory] = []
    for memory in memories[:MOST_SHOWN]:
        tokens -= estimated_tokens(line(memory))
        if kept and tokens < 0:
            break
        kept.append(memory)
    return kept
