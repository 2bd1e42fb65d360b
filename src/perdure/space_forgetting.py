"""Forgetting on purpose: memories, a source, a person, an audience, a space. Irreversible; each with a preview."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from perdure import door, ingest, ltm
from perdure.errors import InvalidInput
from perdure.ingest import Erased, Preview, Receipt, Sight
from perdure.space_memories import SpaceMemories
from perdure.store.database import SpaceTransaction
from perdure.store.origins import Origin
from perdure.store.people import read_people, shared_names
from perdure.store.spaces import SpaceRow
from perdure.store.vacuum import clean_up
from perdure.types import Id

READ_S = 600.0
"""Seconds that a preview of much may take."""
MAX_PREVIEWED = 10_000


class SpaceForgetting(SpaceMemories):
    """A handle on one space, with the verbs that erase."""

    async def forget(self, *memory_ids: int) -> Receipt:
        """Erases memories with their sibling chunks, words, vectors, evidence and history. Cannot be undone.

        Conclusions that rest on one of them go, too; what is left of what they rested on is looked at again.

        Raises:
            NotFound: one of them is not there for this audience; then none is erased.
        """
        wanted = _ids(memory_ids)
        space = await self._require_space()
        return await self._receipt(await ingest.forget_memories(self._resources, space, wanted, self.audience))

    async def forget_source(
        self, source: str, *, everywhere: bool = False, progress: Callable[[int], None] | None = None
    ) -> Receipt:
        """Erases all that came from a source, and what of it waits. What came from it comes in once, and not again.

        Interrupted, call it again: it goes on where it stopped.

        Args:
            source: as memories name it: `import:chats`, `conversation`, `user`.
            everywhere: of all audiences; else of this handle's exactly. Only for a handle without an audience.
            progress: gets how many memories are erased so far.

        Returns:
            What went; nothing, where nothing came from there.
        """
        wanted, every = door.require_key(source, "source"), self._everywhere(everywhere)
        space = await self._memory.find_space(self.name)
        if space is None:
            return Receipt(())
        origin = ingest.from_source(wanted, self.audience, everywhere=every)
        return await self._receipt(await ingest.forget_from(self._resources, space, origin, "forget_source", progress))

    async def forget_person(
        self, user_id: str, *, everywhere: bool = False, progress: Callable[[int], None] | None = None
    ) -> Receipt:
        """Erases what a person said, all facts about them, and what is set about them. Irreversible.

        What they said is known by its speaker: their id, their name and their aliases (`set_person`), but for names
        that somebody else bears, too. What others said of them stays, and so do documents and facts of others that
        came from them, without saying so: `preview_forget` names the memories. Interrupted, call it again.

        Args:
            user_id: the host's own id; of somebody about whom nothing is set, the name of a speaker.
            everywhere: memories of all audiences; else of this handle's exactly. Only for a handle without an audience.
            progress: gets how many memories are erased so far.
        """
        user, every = door.require_key(user_id, "user_id"), self._everywhere(everywhere)
        space = await self._memory.find_space(self.name)
        if space is None:
            return Receipt(())
        origin, _, _ = await self._in(space, lambda tx: self._speaker(tx, user, everywhere=every))
        erased = await ingest.forget_from(self._resources, space, origin, "forget_person", progress)
        # Last, since it is by these that the rest is known: who repeats it after a crash finds them still.
        facts, changed = await ltm.forget_person(self._resources, space, user)
        erased.tally.add(changed)
        erased.touched |= changed.tables
        return replace(await self._receipt(erased), facts=facts)

    async def forget_everything(self, *, progress: Callable[[int], None] | None = None) -> Receipt:
        """Erases the space, as `Memory.forget_space` does; of a handle with an audience all that was told to it.

        The latter are its memories, documents, tasks and what waits; facts, people and personas belong to no audience.
        """
        if self.audience is None:
            return await self._memory.forget_space(self.name, progress=progress)
        space = await self._memory.find_space(self.name)
        if space is None:
            return Receipt(())
        origin = ingest.of_audience(self.audience)
        return await self._receipt(
            await ingest.forget_from(self._resources, space, origin, "forget_everything", progress)
        )

    async def preview_forget(
        self,
        *,
        ids: Iterable[int] = (),
        source: str | None = None,
        user_id: str | None = None,
        everything: bool = False,
        everywhere: bool = False,
    ) -> Preview:
        """What would go, by ids, source, person or everything: one of them. Changes nothing.

        Raises:
            InvalidInput: none of them is given, or several. NotFound: one of the ids is not there for this audience.
        """
        wanted = [door.require_id(each) for each in ids]
        whole, every = door.require_flag(everything, "everything"), self._everywhere(everywhere)
        if bool(wanted) + (source is not None) + (user_id is not None) + whole != 1:
            raise InvalidInput("ids", wanted, "either ids, a source, a user_id or everything has to be named")
        door.require_number(len(wanted), "ids", 0, MAX_PREVIEWED)
        came = None if source is None else door.require_key(source, "source")
        user = None if user_id is None else door.require_key(user_id, "user_id")
        space = await self._memory.find_space(self.name)
        if space is None:
            return Preview()
        row = space

        async def read(tx: SpaceTransaction) -> Preview:
            if wanted:
                await ingest.require(tx, row, wanted, self.audience)
                return await ingest.preview(tx, row, wanted, Sight(self.audience))
            if came is not None:
                return await ingest.preview_from(tx, row, ingest.from_source(came, self.audience, everywhere=every))
            if user is not None:
                return await self._preview_person(tx, row, user, everywhere=every)
            if self.audience is None:
                return await ingest.preview_space(tx)
            return await ingest.preview_from(tx, row, ingest.of_audience(self.audience))

        return await self._resources.database.in_space(space.id, read, snapshot=True, timeout_s=READ_S)

    async def _preview_person(self, tx: SpaceTransaction, space: SpaceRow, user: str, *, everywhere: bool) -> Preview:
        origin, names, shared = await self._speaker(tx, user, everywhere=everywhere)
        found = await ingest.preview_from(tx, space, origin)
        named = await ingest.mentions(tx, origin, names, found.ids)
        return replace(found, facts=await ltm.facts_of_person(tx, user), names=names, shared=shared, named_in=named)

    async def _speaker(
        self, tx: SpaceTransaction, user: str, *, everywhere: bool
    ) -> tuple[Origin, tuple[str, ...], tuple[str, ...]]:
        """What a person said; the names by which that is known, and those that others bear, too."""
        person = (await read_people(tx, [user]))[user]
        called = ingest.names_of(user, person.name, person.aliases)
        shared = await shared_names(tx, user, called)
        names = tuple(name for name in called if name not in shared)
        return await ingest.from_speakers(tx, names, self.audience, everywhere=everywhere), names, shared

    def _everywhere(self, everywhere: bool) -> bool:
        if door.require_flag(everywhere, "everywhere") and self.audience is not None:
            raise InvalidInput("everywhere", everywhere, "a handle with an audience reaches that one alone")
        return everywhere

    async def _receipt(self, erased: Erased) -> Receipt:
        remains = await clean_up(self._resources.database, erased.touched)
        return replace(erased.receipt(), remains=remains)


def _ids(memory_ids: tuple[int, ...]) -> list[Id]:
    if not memory_ids:
        raise InvalidInput("ids", memory_ids, "at least one memory has to be named")
    return [door.require_id(memory_id) for memory_id in memory_ids]
