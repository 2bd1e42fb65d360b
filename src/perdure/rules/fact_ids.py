"""Ids of facts as a model sees and writes them: S24 is a server's, P24 a person's, and the two can't be mixed up."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_NUMBER: Final = 2**63 - 1
"""The highest number of a fact: what the database counts to."""

_SHOWN_CHARS: Final = 40
_FORMS: Final = re.compile(
    r"[\s(\[<{`'\"#*]*+(?:(?:memory|fact)\s*+)?(?:id\s*+[:=#.]?\s*+)?[\[<`'\"#]?(?:(?P<kind>[sp])\s*+[:#-]?\s*+)?"
    r"(?P<number>\d+)[\s)\]>}`'\"*.,:;]*+",
    re.IGNORECASE,
)


class FactKind(StrEnum):
    """Whose a fact is."""

    SERVER = "server"
    PERSONAL = "personal"


@dataclass(frozen=True, order=True, slots=True)
class FactId:
    """The id of one fact: its kind, and its number among the facts of that kind, 1..2^63-1."""

    kind: FactKind
    number: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= MAX_NUMBER:
            raise ValueError(f"the number of a memory is 1 to {MAX_NUMBER}, not {_shown(str(self.number))}")

    def __str__(self) -> str:
        return f"{self.kind.value[0].upper()}{self.number}"


def parse(written: str | int, kind: FactKind | None = None) -> FactId:
    """The id that a model or a person wrote: "S24", "ID:S24", "[id: p3]", or a bare number of the given `kind`.

    A letter that is written wins over `kind`, which only says whose a bare number is.

    Raises:
        ValueError: what is written is no id, or a bare number and no kind given; the message says what to write.

    >>> str(parse("ID:S24")), str(parse(24, FactKind.PERSONAL))
    ('S24', 'P24')
    """
    found = _FORMS.fullmatch(unicodedata.normalize("NFKC", str(written)))
    if found is None:
        raise ValueError(f"{_shown(str(written))} is no id of a memory: write it as it is shown, such as S24 or P24")
    # Longer than any number there is: refused before it is read, since reading it takes quadratic time.
    digits = found["number"].lstrip("0")[: len(str(MAX_NUMBER)) + 1]
    whose = {"s": FactKind.SERVER, "p": FactKind.PERSONAL, "": kind}[(found["kind"] or "").lower()]
    if whose is None:
        raise ValueError(
            f"{_shown(str(written))} doesn't say whose memory it is: write S24 of a server, P24 of a person"
        )
    return FactId(whose, int(digits or "0"))


def _shown(written: str) -> str:
    return repr(written if len(written) <= _SHOWN_CHARS else f"{written[:_SHOWN_CHARS]}…")
