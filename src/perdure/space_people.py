"""Who speaks in a space, and where: personas with their lineages, what people want, what servers allow."""

from __future__ import annotations

from collections.abc import Iterable

from perdure import door, ltm
from perdure.fact_types import Person, Persona, Privacy
from perdure.space_memories import SpaceMemories
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.people import (
    list_people,
    list_personas,
    make_persona,
    read_people,
    set_person,
    set_personalised,
    set_server,
)

MAX_ALIASES = 32


class SpacePeople(SpaceMemories):
    """A handle on one space, with the verbs that say who is who and what they want."""

    async def persona(self, name: str) -> Persona:
        """The persona of this name, with the lineage that its facts belong to; made if it isn't there.

        Lineages begin at 10000, and a persona keeps its own in every server. Names are the same in any case.
        """
        shown = door.without_secrets(door.require_name(name, "name"))
        space = await self._memory.ensure_space(self.name)
        return await self._in(space, lambda tx: make_persona(tx, shown, ltm.name_key(shown)))

    async def personas(self) -> tuple[Persona, ...]:
        """All personas, by lineage."""
        space = await self._memory.find_space(self.name)
        return () if space is None else tuple(await self._in(space, list_personas))

    async def set_person(
        self,
        user_id: str,
        *,
        name: str | None = None,
        aliases: Iterable[str] | None = None,
        privacy: Privacy | str | None = None,
        consents: bool | None = None,
    ) -> Person:
        """Sets what is given about a person, and leaves the rest as it is.

        Args:
            user_id: the host's own id, 1..200 bytes. name, aliases: what they are called.
            privacy: minimal (an assistant may learn of them by itself), partial (only by hand), full (nothing).
            consents: whether an assistant may learn of them by itself at all.

        Returns:
            What is set now. One whom nobody has set anything about is minimal, and consents.
        """
        user = door.require_key(user_id, "user_id")
        called = door.optional_name(name, "name")
        others = None if aliases is None else _names(aliases)
        level = None if privacy is None else door.require_choice(privacy, "privacy", Privacy)
        agreed = None if consents is None else door.require_flag(consents, "consents")

        async def write(tx: SpaceTransaction) -> Person:
            await set_person(tx, user, name=called, aliases=others, privacy=level, consents=agreed)
            await note(tx, "set_person", touched=1)
            return (await read_people(tx, [user]))[user]

        return await self._in(await self._memory.ensure_space(self.name), write)

    async def set_personalised(self, user_id: str, server_id: str, *, personalised: bool) -> Person:
        """Whether what is known of a person is used in this server; it is where nobody has said anything."""
        user = door.require_key(user_id, "user_id")
        server = door.require_key(server_id, "server_id")
        used = door.require_flag(personalised, "personalised")

        async def write(tx: SpaceTransaction) -> Person:
            await set_personalised(tx, server, user, personalised=used)
            await note(tx, "set_personalised", touched=1)
            return (await read_people(tx, [user]))[user]

        return await self._in(await self._memory.ensure_space(self.name), write)

    async def person(self, user_id: str) -> Person:
        """What is set about a person; of somebody unknown, what counts for everybody."""
        user = door.require_key(user_id, "user_id")
        space = await self._memory.find_space(self.name)
        if space is None:
            return Person(user)
        return (await self._in(space, lambda tx: read_people(tx, [user])))[user]

    async def people(self) -> tuple[Person, ...]:
        """Everybody about whom something is set, by id."""
        space = await self._memory.find_space(self.name)
        return () if space is None else tuple(await self._in(space, list_people))

    async def set_server(self, server_id: str, *, self_teaching_enabled: bool) -> None:
        """Whether an assistant may teach itself in this server; it may where nobody has said anything."""
        server = door.require_key(server_id, "server_id")
        enabled = door.require_flag(self_teaching_enabled, "self_teaching_enabled")

        async def write(tx: SpaceTransaction) -> None:
            await set_server(tx, server, enabled=enabled)
            await note(tx, "set_server", touched=1)

        await self._in(await self._memory.ensure_space(self.name), write)


def _names(aliases: object) -> list[str]:
    names = door.require_list(list(aliases) if isinstance(aliases, set | frozenset) else aliases, "aliases")
    checked = [door.without_secrets(door.require_name(name, "aliases")) for name in names]
    door.require_number(len(checked), "aliases", 0, MAX_ALIASES)
    return list(dict.fromkeys(checked))
