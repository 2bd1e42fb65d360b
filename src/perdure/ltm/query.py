"""The query of a turn: the latest message, embedded once for facts and documents together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import numpy as np
import regex

from perdure.text import NO_SPACES, truncate_chars

QUERY_CHARS: Final = 1000
"""Characters of the message that are looked up (mission)."""
FEWEST: Final = 3
"""Letters and digits without which a message asks for nothing; one is enough in scripts without spaces."""

_TELLING: Final = regex.compile(r"[\p{L}\p{N}]")
_UNSPACED: Final = regex.compile(rf"(?V1){NO_SPACES}")

EmbedQuery = Callable[[], Awaitable[np.ndarray]]
"""Starts the one request of a turn, or waits for the one that somebody started; the vector is of unit length.

Raises EmbeddingUnavailable, EmbeddingFailed.
"""


def query_of(message: str) -> str | None:
    """What a message is looked up by; None where it says too little, as a sticker does or an "ok".

    >>> query_of("  ok "), query_of("吃？"), query_of(" Where? ")
    (None, '吃？', 'Where?')
    """
    query = truncate_chars(message.strip(), QUERY_CHARS)
    enough = len(_TELLING.findall(query)) >= FEWEST or _UNSPACED.search(query)
    return query if enough else None
