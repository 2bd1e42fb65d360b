"""What a fact may say, and as what it is kept."""

from __future__ import annotations

from typing import Final

from perdure.errors import InvalidInput
from perdure.fact_types import FactStatus
from perdure.ingest import keepable
from perdure.ltm.refusing import refuse
from perdure.rules.placeholders import sanitise
from perdure.text import asks_to_forget_this, clean, fold, mask

MOST_CHARS: Final = 16 * 1024
"""A longer text is too long whatever it would be kept as, and isn't looked at: that would take its time."""


def is_blank(content: str) -> bool:
    """Whether there is nothing in it that anybody could see."""
    if len(content) > MOST_CHARS:
        return not content.strip()
    return not fold(clean(content)).strip()


def as_kept(content: str) -> str:
    """What is kept of a fact's text: without recalled memories, unknown placeholders, secrets and spaces around it."""
    if len(content) > MOST_CHARS:
        return content
    return mask(sanitise(keepable(clean(content)))).text.strip()


def require_wish_to_be_remembered(content: str, message: str | None) -> None:
    """Raises Refused where the person said, or the fact itself says, that this is not to be remembered."""
    if asks_to_forget_this(content) or (message is not None and asks_to_forget_this(message)):
        refuse(FactStatus.NOT_TO_REMEMBER, "Nothing was saved: the user asked not to remember this. Respect that.")


def require_length(content: str, limit: int) -> None:
    """Raises Refused for a text of more characters than this, as it would be kept."""
    if len(content) > limit:
        refuse(
            FactStatus.CONTENT_TOO_LONG,
            f"Nothing was saved: the memory has {len(content):,} characters of at most {limit:,}. "
            "Say it in fewer words, or as several memories.",
        )


def require_content(fact: str, limit: int) -> str:
    """What a person wants to keep, as it is kept. Raises InvalidInput: nothing is left of it, or it is too long."""
    content = as_kept(fact)
    if is_blank(content):
        raise InvalidInput("fact", fact, "it holds nothing but memories that were recalled, which are in already")
    if len(content) > limit:
        raise InvalidInput("fact", fact, f"it has {len(content):,} characters, at most {limit:,} are taken")
    return content
