"""What kinds of secrets there are, and what is found of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import regex

API_KEY: Final = "api key"
TOKEN: Final = "token"  # noqa: S105 - the name of a kind
PASSWORD: Final = "password"  # noqa: S105 - the name of a kind
PRIVATE_KEY: Final = "private key"
CARD_NUMBER: Final = "card number"
CODE: Final = "code"
RECOVERY_PHRASE: Final = "recovery phrase"
ACCOUNT_NUMBER: Final = "account number"
ID_NUMBER: Final = "id number"

HIDDEN: Final = "\ufffc"
"""What stands for each sign of a mask while a text is gone through that was masked before."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where in a text a secret stands, and of what kind it is."""

    start: int
    end: int
    kind: str


def found_value(match: regex.Match[str], kind: str) -> Found:
    """What a pattern calls `value`."""
    return Found(match.start("value"), match.end("value"), kind)
