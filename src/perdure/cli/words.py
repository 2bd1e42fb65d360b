"""Counts in words."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 message`, `2 messages`, `1,200 memories`.

    >>> counted(1, "message"), counted(0, "message"), counted(1200, "memory", "memories")
    ('1 message', '0 messages', '1,200 memories')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
