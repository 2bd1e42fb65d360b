"""The arguments of the two tools, as a model writes them: each is what it has to be, or the call is refused.

Keys that nobody knows are left alone; models add them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NoReturn

from perdure.fact_types import FactStatus
from perdure.ltm.refusing import refuse

SERVER_WIDE: Final = "server_wide"
TARGET_USER: Final = "target_user"

MOST_CHARS: Final = 100
"""An id that long is none, and isn't looked at."""

Scope = Literal["server_wide", "target_user"]


@dataclass(frozen=True, slots=True)
class CreateArguments:
    """What `create_long_term_memory` was called with; `target_user` is None where it is missing or blank."""

    content: str
    scope: Scope
    target_user: str | None


@dataclass(frozen=True, slots=True)
class UpdateArguments:
    """What `update_long_term_memory` was called with; a blank content deletes."""

    memory_id: str | int
    content: str
    target_user: str | None


def read_create(arguments: object) -> CreateArguments:
    """Raises Refused: an argument is missing or none of what it may be."""
    given = _object(arguments)
    content = _text(given, "memory_content")
    scope = _text(given, "memory_scope")
    if scope not in {SERVER_WIDE, TARGET_USER}:
        _refuse(f"memory_scope has to be {SERVER_WIDE!r} or {TARGET_USER!r}")
    return CreateArguments(content, TARGET_USER if scope == TARGET_USER else SERVER_WIDE, _target(given))


def read_update(arguments: object) -> UpdateArguments:
    """Raises Refused: an argument is missing or none of what it may be."""
    given = _object(arguments)
    written = given.get("memory_id")
    if isinstance(written, float) and written.is_integer():
        written = int(written)  # some providers write every number with a point
    if isinstance(written, bool) or not isinstance(written, str | int) or _long(written):
        _refuse("memory_id has to be an id as it is shown, such as 'S24' or 'P24'")
    return UpdateArguments(written, _text(given, "memory_content"), _target(given))


def _long(written: str | int) -> bool:
    """Whether it has more digits or signs than any id."""
    return len(written) > MOST_CHARS if isinstance(written, str) else written.bit_length() > MOST_CHARS


def _object(arguments: object) -> Mapping[str, object]:
    if not isinstance(arguments, Mapping):
        _refuse("the arguments have to be an object")
    return arguments


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        _refuse(f"{name} is missing" if value is None else f"{name} has to be text")
    return value


def _target(given: Mapping[str, object]) -> str | None:
    value = given.get("target_user")
    if value is not None and not isinstance(value, str):
        _refuse("target_user has to be text, the name of somebody in this conversation")
    return value if value and value.strip() else None


def _refuse(what: str) -> NoReturn:
    refuse(FactStatus.INVALID_ARGUMENTS, f"Nothing was saved: {what}. Call the tool again with that put right.")
