"""What one caller can do with single memories of a space: look, list, change, pin and bring back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Unpack

from perdure import door, ingest
from perdure.door import FilterArguments
from perdure.errors import InvalidInput
from perdure.ingest import Changes
from perdure.space_intake import SpaceIntake
from perdure.store.bygone import pruned
from perdure.store.database import SpaceTransaction
from perdure.store.history import read_history
from perdure.store.memories import list_ids, read_evidence, read_rows
from perdure.store.visibility import facets_of
from perdure.text import require_text
from perdure.types import Evidence, Id, MemoryType, PageEnd, StoredMemory

MAX_PAGE = 1000


class SpaceMemories(SpaceIntake):
    """A handle on one space, with the verbs that take memories by their ids or list them."""

    async def get(self, memory_id: int) -> StoredMemory:
        """One memory. Raises NotFound if it is not there for this audience."""
        wanted = door.require_id(memory_id)
        space = await self._require_space()

        async def read(tx: SpaceTransaction) -> StoredMemory:
            return (await ingest.require_row(tx, space, wanted, self.audience)).memory

        return await self._in(space, read)

    async def evidence(self, memory_id: int) -> tuple[Evidence, ...]:
        """Why a memory is known: the messages, mails or calls that it rests on."""
        wanted = door.require_id(memory_id)
        space = await self._require_space()

        async def read(tx: SpaceTransaction) -> tuple[Evidence, ...]:
            await ingest.require_row(tx, space, wanted, self.audience)
            return tuple(await read_evidence(tx, wanted))

        return await self._in(space, read)

    async def history(self, memory_id: int) -> tuple[Mapping[str, object], ...]:
        """What a memory was before each change, oldest first."""
        wanted = door.require_id(memory_id)
        space = await self._require_space()

        async def read(tx: SpaceTransaction) -> tuple[Mapping[str, object], ...]:
            await ingest.require_row(tx, space, wanted, self.audience)
            return tuple(await read_history(tx, wanted))

        return await self._in(space, read)

    async def list(
        self,
        *,
        limit: int = 50,
        before: StoredMemory | PageEnd | None = None,
        superseded: bool = False,
        **filters: Unpack[FilterArguments],
    ) -> tuple[StoredMemory, ...]:
        """Memories by source_date, newest first, 1..1000 a page; `before` is the last memory of the page before.

        What is added meanwhile moves no page: nothing is listed twice, and nothing that was there is missed.
        """
        most = door.require_number(limit, "limit", 1, MAX_PAGE)
        tombstones = door.require_flag(superseded, "superseded")
        if before is not None and not isinstance(before, StoredMemory | PageEnd):
            raise InvalidInput("before", before, "it has to be the last memory of the page before")
        space = await self._memory.find_space(self.name)
        wanted = door.require_filters(space.time_zone if space else "UTC", **filters)
        if space is None:
            return ()
        params = {
            "audience": self.audience,
            "superseded": tombstones,
            "memory_type": wanted.memory_type,
            "conversation_id": wanted.conversation_id,
            "since": wanted.since,
            "until": wanted.until,
            "before_date": before.source_date if before else None,
            "before_id": before.id if before else None,
            "facets": list(facets_of(wanted)),
            "limit": most,
        }
        row = space

        async def read(tx: SpaceTransaction) -> tuple[StoredMemory, ...]:
            ids = await list_ids(tx, params)
            rows = await read_rows(tx, row.name, ids)
            # What somebody else erased between the two statements is not there any more.
            return tuple(rows[memory_id].memory for memory_id in ids if memory_id in rows)

        return await self._in(space, read)

    async def pruned(
        self, *, memory_id: int | None = None, source: str | None = None, limit: int = MAX_PAGE
    ) -> tuple[Id, ...]:
        """Ids of memories that upkeep pruned, the lowest first: `search(as_of=…)` still tells of them.

        `forget` erases them like others.

        Args:
            memory_id: only this one, if it was pruned.
            source: only those that came from here.
            limit: 1..1000.
        """
        most = door.require_number(limit, "limit", 1, MAX_PAGE)
        space = await self._memory.find_space(self.name)
        wanted = None if memory_id is None else door.require_id(memory_id)
        origin = door.require_filters("UTC", source=source).source
        if space is None:
            return ()

        async def read(tx: SpaceTransaction) -> tuple[int, ...]:
            return tuple(await pruned(tx, self.audience, memory_id=wanted, source=origin, limit=most))

        return await self._in(space, read)

    async def update(
        self,
        memory_id: int,
        *,
        text: str | None = None,
        salience: float | None = None,
        memory_type: MemoryType | str | None = None,
        tags: Iterable[str] | str | None = None,
        entities: Iterable[str] | str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> StoredMemory:
        """Changes a memory; what is not given stays, what it was is kept in its history.

        Raises:
            NotFound: it is not there for this audience. InvalidInput: the new text does not fit into one memory.
        """
        wanted = door.require_id(memory_id)
        changes = Changes(
            text=None if text is None else require_text(text),
            salience=None if salience is None else door.require_salience(salience),
            memory_type=None if memory_type is None else door.require_own_type(memory_type),
            tags=None if tags is None else door.require_labels(tags, "tags"),
            entities=None if entities is None else door.require_labels(entities, "entities"),
            metadata=None if metadata is None else door.require_metadata(metadata),
        )
        space = await self._require_space()
        return await ingest.update_memory(
            self._resources, space, wanted, changes, audience=self.audience, changed_by="user"
        )

    async def pin(self, memory_id: int, *, pinned: bool = True) -> None:
        """A pinned memory never decays and is never pruned."""
        wanted = door.require_id(memory_id)
        keep = door.require_flag(pinned, "pinned")
        space = await self._require_space()
        await ingest.pin_memory(self._resources, space, wanted, self.audience, pinned=keep)

    async def restore(self, memory_id: int) -> StoredMemory:
        """Brings a superseded memory back to life; what had superseded it stays live, too.

        Raises:
            NotFound: it is not there for this audience. Conflict: another live memory holds the same text.
        """
        wanted = door.require_id(memory_id)
        space = await self._require_space()
        return await ingest.restore_memory(self._resources, space, wanted, self.audience)
