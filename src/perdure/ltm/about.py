"""Whom a fact is about, as a person writes it: the user, a server, or one of many people."""

from __future__ import annotations

from typing import Final

from perdure import door
from perdure.errors import InvalidInput
from perdure.fact_types import FactKind

USER: Final = "user"
"""The one user of a space, as `about` and as their id."""
SERVER: Final = "server:"
PERSON: Final = "person:"


def read_about(about: object) -> tuple[FactKind, str]:
    """Whose fact it is: "user", "server:<id>" or "person:<id>". Raises InvalidInput."""
    if about == USER:
        return FactKind.PERSONAL, USER
    for prefix, kind in ((SERVER, FactKind.SERVER), (PERSON, FactKind.PERSONAL)):
        if isinstance(about, str) and about.startswith(prefix):
            return kind, door.require_key(about.removeprefix(prefix), "about")
    raise InvalidInput("about", about, f"it has to be {USER!r}, '{SERVER}<id>' or '{PERSON}<id>'")


def spoken_about(kind: FactKind, owner: str) -> str:
    """The same the other way round, as `read_about` reads it."""
    if kind is FactKind.SERVER:
        return f"{SERVER}{owner}"
    return USER if owner == USER else f"{PERSON}{owner}"
