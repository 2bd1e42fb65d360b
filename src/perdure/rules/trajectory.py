"""What a prefetch searches for: where the conversation has been going, and what was just said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

EARLIER_MESSAGES: Final = 3
"""How many user messages before the current one count (the mission's number)."""

EARLIER_CHARS: Final = 200
"""How much of each of them counts, in code points (the mission's number)."""


def trajectory(history: Iterable[tuple[str, str]], current: str, *, cut: Callable[[str, int], str]) -> str:
    """The last 3 user messages, each cut to 200 characters, and the current one whole, one per line.

    Args:
        history: (role, text) of the messages before, oldest first. Only the role "user" counts: replies and tool
            results are not what the user is after. Where the host's history already ends with the current message, it
            is not doubled.
        current: the message that is to be answered.
        cut: shortens a text to a number of characters without splitting one, such as `text.truncate_chars`.
    """
    said = [text.strip() for role, text in history if role == "user" and text.strip()]
    now = current.strip()
    if said and said[-1] == now:
        del said[-1]
    return "\n".join([*(cut(text, EARLIER_CHARS) for text in said[-EARLIER_MESSAGES:]), now])
