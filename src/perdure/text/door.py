"""The door: what a text must be before anything else looks at it."""

from __future__ import annotations

from typing import Final

import regex

from perdure.errors import InvalidInput

MAX_TEXT_BYTES: Final = 256 * 1024
"""The longest text accepted in one call, in bytes of UTF-8: some 40,000 words. Longer ones are documents or files."""

_LINE_ENDS: Final = regex.compile(r"\r\n?")
_NOT_TEXT: Final = regex.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
EMOJI: Final = regex.compile(r"[0-9#*]\uFE0F?\u20E3|\p{Emoji_Presentation}|\p{Emoji}\uFE0F")
"""What is drawn as a picture, even where Unicode calls it a letter or a digit (a keycap, a circled character)."""
_LETTER_OR_DIGIT: Final = regex.compile(r"[\p{L}\p{N}]")


def clean(text: object, field: str = "text") -> str:
    """`text` as it may be stored: line ends as newlines, no NUL, no lone surrogate, no control but newline and tab.

    Two halves of a surrogate pair, as careless JSON readers leave them, become the character that they mean. What
    cannot be text is dropped, never an error.

    Raises:
        InvalidInput: `text` is not a `str`.
    """
    if not isinstance(text, str):
        raise InvalidInput(field, text, f"it has to be text, not {type(text).__name__}")
    text = _LINE_ENDS.sub("\n", text)
    if not _NOT_TEXT.search(text):
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return _NOT_TEXT.sub("", text)


def require_text(text: object, field: str = "text", max_bytes: int = MAX_TEXT_BYTES) -> str:
    """`clean(text)`, refused when nothing visible is left or when it is too long.

    Args:
        text: what the caller handed in.
        field: the name that the error shows.
        max_bytes: the most bytes of UTF-8 that are accepted.

    Raises:
        InvalidInput: not a `str`, empty, only white space, or longer than `max_bytes`.
    """
    cleaned = clean(text, field)
    if not cleaned.strip():
        raise InvalidInput(field, text, "it must not be empty")
    size = len(cleaned.encode())
    if size > max_bytes:
        raise InvalidInput(field, text, f"it has {size:,} bytes of UTF-8, at most {max_bytes:,} are taken at once")
    return cleaned


def has_letter_or_digit(text: str) -> bool:
    """Whether `text` says anything: a letter or digit of any script, emoji not counted."""
    if text.isascii():
        return any(map(str.isalnum, text))
    return _LETTER_OR_DIGIT.search(EMOJI.sub(" ", text)) is not None
