"""What the operator of an installation does with it: keys, and the log of who changed what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from perdure import door, ingest
from perdure.acting import Scope
from perdure.errors import InvalidInput, NotFound
from perdure.ingest import Receipt
from perdure.resources import Resources
from perdure.store.audit import AuditEntry, read_admin_entries, read_entries
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.keys import ApiKey, create_key, list_keys, revoke_key, rotate_key
from perdure.store.spaces import SpaceRow
from perdure.store.vacuum import clean_up

MAX_KEY_NAME_BYTES: Final = 100
MAX_SPACES: Final = 1000
LONGEST_GRACE: Final = timedelta(days=90)
GRACE: Final = timedelta(days=1)
"""How long the secret before a rotation holds: long enough to bring the new one to where it is used."""
MAX_ENTRIES: Final = 10_000


class MemoryAdmin(ABC):
    """The verbs of an opened memory that concern no single space."""

    @property
    @abstractmethod
    def resources(self) -> Resources: ...

    @abstractmethod
    async def find_space(self, name: str) -> SpaceRow | None: ...

    @abstractmethod
    def require_unbound(self) -> None:
        """Raises SpaceRefused for a memory that reaches some spaces only."""

    @abstractmethod
    def let_go(self, space_id: int) -> None:
        """Remembers a space no longer."""

    async def forget_space(self, name: str, *, progress: Callable[[int], None] | None = None) -> Receipt:
        """Erases a space: all that is in it, for every audience, and its name. Irreversible.

        From the first moment on nobody finds it, and who writes under its name begins a new one. Interrupted, call it
        with any name: what is left of spaces that were begun with goes, too, uncounted.

        Args:
            progress: gets how many rows are gone, after each batch.

        Returns:
            What went; nothing, where there is no such space.
        """
        wanted = door.require_key(name, "space")
        space = await self.find_space(wanted)
        erased = await ingest.forget_space(self.resources, space, progress)
        if space is not None:
            self.let_go(space.id)
        return replace(erased.receipt(), remains=await clean_up(self.resources.database, erased.touched))

    async def create_key(
        self,
        name: str,
        *,
        scopes: Iterable[str] | str = (Scope.READ, Scope.WRITE),
        spaces: Iterable[str] | str | None = None,
        expires_at: datetime | str | None = None,
    ) -> tuple[ApiKey, str]:
        """Makes a key for the doors of `perdure serve`.

        Args:
            name: 1..100 bytes; no other key that isn't revoked has it.
            scopes: of `read`, `write` and `admin`; admin implies write, and write implies read.
            spaces: names of the spaces that it reaches, at most 1,000; they need not be there yet. None is all.
            expires_at: when it ends by itself; None is never.

        Returns:
            The key, and its token: the only time that it is told.

        Raises:
            InvalidInput. Conflict: another key has the name.
        """
        self.require_unbound()
        called = door.require_key(name, "name", MAX_KEY_NAME_BYTES)
        granted = _require_scopes(scopes)
        reach = None if spaces is None else require_spaces(spaces)
        end = door.optional_time(expires_at, "expires_at")

        async def write(tx: Transaction) -> tuple[ApiKey, str]:
            if end is not None and end <= tx.now:
                raise InvalidInput("expires_at", expires_at, "it has to lie ahead")
            return await create_key(tx, called, granted, spaces=reach, expires_at=end)

        return await self.resources.database.across(write)

    async def keys(self) -> tuple[ApiKey, ...]:
        """All keys without their secrets, revoked ones included, oldest first."""
        self.require_unbound()
        return tuple(await self.resources.database.across(list_keys))

    async def rotate_key(self, name: str, *, grace: timedelta = GRACE) -> tuple[ApiKey, str]:
        """Gives a key a new secret; the one before holds for `grace` more (0 to 90 days).

        Args:
            name: of the key, or its prefix.

        Returns:
            The key, and its new token.

        Raises:
            NotFound: there is no such key, or it is revoked.
        """
        self.require_unbound()
        called = door.require_key(name, "name", MAX_KEY_NAME_BYTES)
        if not timedelta(0) <= grace <= LONGEST_GRACE:
            raise InvalidInput("grace", str(grace), f"between 0 and {LONGEST_GRACE.days} days are taken")

        async def write(tx: Transaction) -> tuple[ApiKey, str]:
            return await rotate_key(tx, called, grace)

        return await self.resources.database.across(write)

    async def revoke_key(self, name: str) -> ApiKey:
        """Ends a key for good; servers notice within 5 seconds.

        Raises:
            NotFound: there is no such key, or it is revoked already.
        """
        self.require_unbound()
        called = door.require_key(name, "name", MAX_KEY_NAME_BYTES)

        async def write(tx: Transaction) -> ApiKey:
            return await revoke_key(tx, called)

        return await self.resources.database.across(write)

    async def audit(
        self,
        space: str | None = None,
        *,
        since: datetime | str | None = None,
        kind: str | None = None,
        limit: int = 100,
    ) -> tuple[AuditEntry, ...]:
        """Who changed what, newest first: kinds, counts and ids, never words.

        Args:
            space: the space whose changes are asked for; None is what belongs to no space, as keys.
            since: nothing from before. kind: only this verb, as `save` or `forget`. limit: 1..10000.

        Raises:
            InvalidInput. NotFound: there is no such space.
        """
        start = door.optional_time(since, "since")
        verb = door.optional_key(kind, "kind")
        most = door.require_number(limit, "limit", 1, MAX_ENTRIES)
        if space is None:
            self.require_unbound()

            async def read_admin(tx: Transaction) -> tuple[AuditEntry, ...]:
                return tuple(await read_admin_entries(tx, since=start, kind=verb, limit=most))

            return await self.resources.database.across(read_admin)
        found = await self.find_space(door.require_key(space, "space"))
        if found is None:
            raise NotFound(f"There is no space {space!r}.", hint="A space is made by the first save or capture.")

        async def read(tx: SpaceTransaction) -> tuple[AuditEntry, ...]:
            return tuple(await read_entries(tx, since=start, kind=verb, limit=most))

        return await self.resources.database.in_space(found.id, read)


def _require_scopes(value: Iterable[str] | str) -> tuple[Scope, ...]:
    given = [value] if isinstance(value, str) else door.require_list(list(value), "scopes")
    chosen = {door.require_choice(scope, "scopes", Scope) for scope in given}
    if not chosen:
        raise InvalidInput("scopes", value, f"at least one of {', '.join(Scope)} has to be named")
    return tuple(scope for scope in Scope if scope in chosen)


def require_spaces(value: Iterable[str] | str) -> tuple[str, ...]:
    """Names of 1 to 1,000 spaces, each once."""
    given = [value] if isinstance(value, str) else list(value)
    if not 1 <= len(given) <= MAX_SPACES:
        raise InvalidInput("spaces", len(given), f"1 to {MAX_SPACES:,} names are taken; leave it out for every space")
    return tuple(dict.fromkeys(door.require_key(name, "spaces") for name in given))
