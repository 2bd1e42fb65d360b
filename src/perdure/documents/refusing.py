"""Why a file can't be read."""

from __future__ import annotations

from typing import Final

NO_TEXT: Final = "there is no text in it"


class Refused(Exception):
    """A file that can't be read, with the reason as the end of a sentence."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit
