"""Sessions in a space: the items of a framework's conversations, in order, as they came.

They are the host's own state, beside memories: nothing is concluded from them (`capture` is for that), and they don't
fade. A session belongs to the audience of the handle that wrote it, and no other handle sees it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from perdure import door
from perdure.errors import InvalidInput
from perdure.space_handle import SpaceHandle
from perdure.store import sessions as store
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction

MAX_ITEM_BYTES: Final = 16 * 1024 * 1024
"""An item may hold a picture."""
MAX_ITEMS: Final = 1_000_000
MAX_ADDED: Final = 10_000


class SpaceSessions(SpaceHandle):
    """A handle on the sessions of one space and audience. A session is there as soon as it has an item."""

    async def items(self, session_id: str, *, limit: int | None = None) -> list[Any]:
        """The items of a session, oldest first; with `limit` (0..1,000,000) the last ones only."""
        name = door.require_key(session_id, "session_id")
        most = None if limit is None else door.require_number(limit, "limit", 0, MAX_ITEMS)
        space = await self._memory.find_space(self.name)
        if space is None:
            return []

        async def read(tx: SpaceTransaction) -> list[Any]:
            return [json.loads(item) for item in await store.read_session(tx, self.audience, name, most)]

        return await self._in(space, read)

    async def add(self, session_id: str, items: Sequence[Mapping[str, object]]) -> None:
        """Adds items to the end of a session: all of them, or none.

        Args:
            session_id: 1..200 bytes. items: at most 10,000 objects of JSON, of 16 MiB at most.
        """
        name = door.require_key(session_id, "session_id")
        given = door.require_list(items, "items")
        if len(given) > MAX_ADDED:
            raise InvalidInput("items", len(given), f"at most {MAX_ADDED:,} are taken at once")
        written = [_written(item) for item in given]
        if not written:
            return

        async def write(tx: SpaceTransaction) -> None:
            await note(tx, "add_session_items", await store.add_items(tx, self.audience, name, written))

        await self._in(await self._memory.ensure_space(self.name), write)

    async def pop(self, session_id: str) -> Any | None:
        """Takes the last item out of a session and returns it; None where there is none."""
        name = door.require_key(session_id, "session_id")
        space = await self._memory.find_space(self.name)
        if space is None:
            return None

        async def write(tx: SpaceTransaction) -> Any | None:
            found = await store.pop_item(tx, self.audience, name)
            if found is None:
                return None
            await note(tx, "pop_session_item", [found[0]])
            return json.loads(found[1])

        return await self._in(space, write)

    async def clear(self, session_id: str) -> None:
        """Deletes a session with all its items, for good."""
        name = door.require_key(session_id, "session_id")
        space = await self._memory.find_space(self.name)
        if space is None:
            return

        async def write(tx: SpaceTransaction) -> None:
            await note(tx, "clear_session", await store.clear_session(tx, self.audience, name))

        await self._in(space, write)


def _written(item: object) -> str:
    """As JSON that holds ASCII alone, and so what no text of PostgreSQL can hold: a NUL, or half a surrogate pair."""
    if not isinstance(item, Mapping):
        raise InvalidInput("items", item, "each has to be an object with names as text")
    try:
        text = json.dumps(dict(item), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("items", item, "it has to be JSON without NaN or Infinity") from None
    if len(text) > MAX_ITEM_BYTES:
        raise InvalidInput("items", item, f"it has to be at most {MAX_ITEM_BYTES:,} bytes of JSON")
    return text
