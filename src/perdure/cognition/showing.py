"""How memories are shown to a model that draws conclusions: numbered, dated, with who said it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.llm.conclusions import MOST_SHOWN
from perdure.rules.tokens import estimated_tokens
from perdure.text import truncate_chars
from perdure.types import StoredMemory

CHARS: Final = 600
"""Characters of one memory that are shown."""


def line(memory: StoredMemory) -> str:
    """One memory, on one line."""
    who = memory.speaker or str(memory.trust)
    words = " ".join(truncate_chars(memory.summary, CHARS).split())
    return f"{memory.source_date.date().isoformat()}, {who}: {words}"


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
