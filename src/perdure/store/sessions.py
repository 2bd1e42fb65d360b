"""What an agent framework keeps of its sessions: their items, in the order in which they came, as they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.store.database import SpaceTransaction

READ_SESSION: Final = """
    SELECT t.id, t.item FROM (
        SELECT s.id, s.created_at, s.item FROM session_items s
        WHERE s.space_id = %(space_id)s AND s.audience = %(audience)s AND s.session_id = %(session_id)s
        ORDER BY s.created_at DESC, s.id DESC LIMIT %(limit)s
    ) t
    ORDER BY t.created_at, t.id
"""

ADD_ITEMS: Final = """
    INSERT INTO session_items (space_id, audience, session_id, item, created_at)
    SELECT %(space_id)s, %(audience)s, %(session_id)s, t.item, %(now)s
    FROM unnest(%(items)s::text[]) WITH ORDINALITY AS t (item, place)
    ORDER BY t.place
    RETURNING id
"""

# Two who take the last one at once get one each.
POP_ITEM: Final = """
    WITH last AS MATERIALIZED (
        SELECT s.id FROM session_items s
        WHERE s.space_id = %(space_id)s AND s.audience = %(audience)s AND s.session_id = %(session_id)s
        ORDER BY s.created_at DESC, s.id DESC LIMIT 1
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM session_items s USING last
    WHERE s.space_id = %(space_id)s AND s.id = last.id
    RETURNING s.id, s.item
"""

CLEAR_SESSION: Final = """
    DELETE FROM session_items
    WHERE space_id = %(space_id)s AND audience = %(audience)s AND session_id = %(session_id)s
    RETURNING id
"""


async def read_session(tx: SpaceTransaction, audience: str | None, session_id: str, limit: int | None) -> list[str]:
    """The last items of a session, or all of them, oldest first: each a text of JSON."""
    params = {"audience": audience or "", "session_id": session_id, "limit": limit}
    return [row["item"] for row in await tx.fetch_all(READ_SESSION, params)]


async def add_items(tx: SpaceTransaction, audience: str | None, session_id: str, items: Sequence[str]) -> list[int]:
    """Adds items, each a text of JSON, to the end of a session; returns their ids."""
    params = {"audience": audience or "", "session_id": session_id, "items": list(items)}
    return [row["id"] for row in await tx.fetch_all(ADD_ITEMS, params)]


async def pop_item(tx: SpaceTransaction, audience: str | None, session_id: str) -> tuple[int, str] | None:
    """Takes the last item out of a session: its id and its text of JSON."""
    row = await tx.fetch_one(POP_ITEM, {"audience": audience or "", "session_id": session_id})
    return None if row is None else (row["id"], row["item"])


async def clear_session(tx: SpaceTransaction, audience: str | None, session_id: str) -> list[int]:
    """Deletes all items of a session; returns their ids."""
    rows = await tx.fetch_all(CLEAR_SESSION, {"audience": audience or "", "session_id": session_id})
    return [row["id"] for row in rows]
