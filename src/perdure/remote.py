"""What is the same for every HTTP server that a setting names: its address, its key, and how it refuses."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import SplitResult, urlsplit

from perdure.clock import wall_clock
from perdure.errors import ConfigurationError

SHOWN_CHARS: Final = 160
"""Of what a server says about a refusal."""

_QUOTED_CHARS: Final = 20


def address_parts(url: str) -> SplitResult | None:
    """The parts of an http or https address; None for what is none."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # a port that is no number or too large, brackets without an address in them
        return None
    return parts if usable else None


def may_hold_secrets(parts: SplitResult) -> bool:
    """Whether an address holds a user, a password or a query, and so must not stand in errors."""
    return bool(parts.username or parts.password or parts.query)


def usable_key(key: str | None, variable: str) -> str | None:
    """The key without white space around it, None for an empty one. Raises ConfigurationError, not showing it."""
    key = key.strip() if key else None
    if key and not (key.isascii() and key.isprintable()):
        raise ConfigurationError(f"{variable} holds characters that no key has.")
    return key


def bearer(key: str | None) -> dict[str, str]:
    """The header that carries a key, if there is one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def retry_after_s(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, given as seconds or as a date; None if it is neither."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass  # then it is a date
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - wall_clock()).total_seconds())


def quotes(message: str, texts: Iterable[str]) -> bool:
    """Whether a server's message repeats the beginning or end of a text that it was sent: errors carry no memories."""
    return any(text[-_QUOTED_CHARS:] in message or text[:_QUOTED_CHARS] in message for text in texts if text)
