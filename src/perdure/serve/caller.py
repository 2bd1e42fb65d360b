"""Who asks: what a caller may do, and in which spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fastapi import Request

from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.space import Space
from perdure.wire import Scope

_ABOVE: Final = {Scope.READ: tuple(Scope), Scope.WRITE: (Scope.WRITE, Scope.ADMIN), Scope.ADMIN: (Scope.ADMIN,)}
"""Scopes that include one."""


class Unauthenticated(PerdureError):
    """There is no key, or none that counts (HTTP 401)."""

    code = "unauthenticated"


class Forbidden(PerdureError):
    """The key doesn't reach so far (HTTP 403)."""

    code = "forbidden"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        name: of the key, for the audit log; "loopback" where none is needed.
        key_id: of the key; None where none is needed.
        scopes: what it may do. spaces: where; None is everywhere.
    """

    name: str = "loopback"
    key_id: str | None = None
    scopes: frozenset[Scope] = frozenset(Scope)
    spaces: frozenset[str] | None = None

    def require(self, scope: Scope) -> None:
        """Raises Forbidden unless the caller has this scope."""
        if self.scopes.isdisjoint(_ABOVE[scope]):
            raise Forbidden(
                f"This key may not {scope}.", hint=f"One with the scope {scope} may: `perdure keys create`."
            )

    def require_space(self, name: str) -> None:
        """Raises Forbidden unless the caller may use this space; whether there is one, nobody is told."""
        if self.spaces is not None and name not in self.spaces:
            raise Forbidden("This key may not use this space.", hint="`perdure keys list` says which it may use.")

    def require_everywhere(self) -> None:
        """Raises Forbidden for a key that is limited to spaces."""
        if self.spaces is not None:
            raise Forbidden("This key is limited to spaces.", hint="What concerns all of them needs one that isn't.")


def caller_of(request: Request) -> Caller:
    """Who asks, as authentication has found out. Raises Unauthenticated."""
    caller = request.scope.get("perdure.caller")
    if not isinstance(caller, Caller):
        raise Unauthenticated("This request needs a key.", hint="Send it as `Authorization: Bearer KEY`.")
    return caller


def memory_of(request: Request) -> Memory:
    """The memory that the server has opened."""
    memory: Memory = request.app.state.memory
    return memory


def space_for(request: Request, name: str, scope: Scope, audience: str | None = None) -> Space:
    """A handle on a space for whoever asks. Raises Unauthenticated, Forbidden, InvalidInput."""
    caller = caller_of(request)
    caller.require(scope)
    caller.require_space(name)
    return memory_of(request).space(name, audience=audience)
