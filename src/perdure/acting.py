"""Who acts, through which door, and what they may do: what the audit log says of a change.

A door names itself once, around what it does for somebody; everything that is called within it finds it here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_NAME: Final = 200
"""Characters of an actor's name that are kept."""


class Door(StrEnum):
    """Ways in; `worker` is the heartbeat, which acts for nobody."""

    LIBRARY = "library"
    CLI = "cli"
    REST = "rest"
    MCP = "mcp"
    PROXY = "proxy"
    WORKER = "worker"


class Scope(StrEnum):
    """What a caller through a network may do: read, write (and read), or administer (and both)."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody: the name of a key, of a login, or of a host's own choosing, and the door they came through."""

    name: str = "library"
    door: Door = Door.LIBRARY

    def __post_init__(self) -> None:
        # Names come from logins and clients; the database takes no NUL, and nobody needs a page of one.
        object.__setattr__(self, "name", self.name.replace("\0", "")[:MAX_NAME] or self.door.value)


_ACTOR: ContextVar[Actor | None] = ContextVar("perdure_actor", default=None)
_NOBODY: Final = Actor()


def current_actor() -> Actor:
    """Who acts here; whoever uses the library and says nothing is `library`."""
    return _ACTOR.get() or _NOBODY


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """What is done within is done by this actor; the innermost one counts."""
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)
