"""Words as they may be kept: without what an earlier recall had put between them, and without secrets."""

from __future__ import annotations

from perdure.errors import InvalidInput
from perdure.rules.fencing import strip_fenced
from perdure.text import mask


def own_words(text: str, field: str = "text") -> str:
    """A text that has come through the door, without recalled memories and with its secrets masked.

    Raises:
        InvalidInput: nothing of it is left, as all of it had been recalled.
    """
    words = strip_fenced(text)
    if not words.strip():
        raise InvalidInput(field, text, "it holds nothing but memories that were recalled, which are in already")
    return mask(words).text
