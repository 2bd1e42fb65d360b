"""Words as they may be kept: without what an earlier recall had put between them, and without secrets."""

from __future__ import annotations

from typing import Final

from perdure.errors import InvalidInput
from perdure.rules.fencing import strip_fenced
from perdure.text import mask

NOT_TO_REMEMBER: Final = "the user asked not to remember this"
"""Why words are not kept that `text.asks_to_forget_this` is true of."""


def keepable(text: str) -> str:
    """What may be kept of a text that has come through the door; empty where all of it had been recalled."""
    return mask(strip_fenced(text)).text


def own_words(text: str) -> str:
    """As `keepable`, of a text of which something has to be left.

    Raises:
        InvalidInput: all of it had been recalled.
    """
    words = keepable(text)
    if not words.strip():
        raise InvalidInput("text", text, "it holds nothing but memories that were recalled, which are in already")
    return words
