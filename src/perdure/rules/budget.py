"""What background work may ask of language models in one space and day."""

from __future__ import annotations


def budget_spent(*, calls: int, tokens: int, most_calls: int | None, most_tokens: int | None) -> str | None:
    """Why no model may be asked any more today (UTC), or None. A limit of None is no limit."""
    for spent, most, what in ((calls, most_calls, "calls"), (tokens, most_tokens, "tokens")):
        if most is not None and spent >= most:
            return f"today's budget of {most:,} background {what} is used up; the rest waits for midnight UTC"
    return None
