"""What a request's headers ask of the proxy: whose memory, and what to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perdure.errors import InvalidInput

SPACE: Final = "x-perdure-space"
AUDIENCE: Final = "x-perdure-audience"
SPEAKER: Final = "x-perdure-speaker"
CONVERSATION: Final = "x-perdure-conversation"
MEMORY: Final = "x-perdure-memory"
OPERATION: Final = "idempotency-key"


class Use(StrEnum):
    """What is done with memory in a request: all, recall without capture, or nothing."""

    ON = "on"
    READ = "read"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Asked:
    """The headers of a request that are meant for the proxy, and go no further."""

    use: Use
    space: str | None
    audience: str | None
    speaker: str | None
    conversation: str | None
    operation: str | None


def read_asked(headers: Mapping[str, str]) -> Asked:
    """Reads the headers; names are compared in small letters. Raises InvalidInput for an unknown use of memory."""
    written = headers.get(MEMORY, Use.ON).strip().lower()
    if written not in set(Use):
        raise InvalidInput("X-Perdure-Memory", written, "it has to be on, read (recall, capture nothing) or off")
    return Asked(
        use=Use(written),
        space=headers.get(SPACE) or None,
        audience=headers.get(AUDIENCE) or None,
        speaker=headers.get(SPEAKER) or None,
        conversation=headers.get(CONVERSATION) or None,
        operation=headers.get(OPERATION) or None,
    )
