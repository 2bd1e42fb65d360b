"""Revisions of one event or mail: a changed one takes the place of what the earlier left, a cancelled one closes it.

No verdict is needed: evidence says which memories the earlier revisions left. What somebody more trusted said stays,
even where an event was merged into it: an invitation can't take back the user's own word. And what another event says
in the same words stays for that one.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.ingest.domains import source_key
from perdure.rules.verdicts import TRUST_RANK
from perdure.store.changes import supersede
from perdure.store.database import SpaceTransaction
from perdure.store.evidence import also_told, memories_from, withdraw
from perdure.store.memories import MemoryRow, read_rows
from perdure.store.queue import QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.types import Superseded, Trust

REVISED = "a newer revision of it"
CANCELLED = "the event was cancelled"


async def earlier_revisions(tx: SpaceTransaction, space: SpaceRow, work: QueuedWork) -> list[MemoryRow]:
    """The first chunks of live memories that earlier revisions left; none where nothing is ever revised.

    Only of its own audience: the same event in somebody else's calendar is theirs. Only of its own sender: whoever
    knows the id of a mail can send another one under it. What `work` is judged in place of is no earlier revision, but
    this very one as it was said.
    """
    if not work.payload.get("series"):
        return []
    left = await memories_from(tx, work.kind, source_key(work.payload), work.audience)
    rows = await read_rows(tx, space.name, left)
    same = set(work.payload.get("replaces") or ())
    stranger = TRUST_RANK[Trust.EXTERNAL]
    return [
        row
        for each, row in sorted(rows.items())
        if each not in same
        and TRUST_RANK[row.memory.trust] <= stranger
        and (work.kind != "email" or row.memory.speaker == work.speaker)
    ]


async def outdate(
    tx: SpaceTransaction, rows: Sequence[MemoryRow], new_id: int | None, work: QueuedWork
) -> list[Superseded]:
    """Makes tombstones of what earlier revisions left; None as `new_id` closes it."""
    olds = [row for row in rows if row.memory.id != new_id]
    if not olds:
        return []
    key = source_key(work.payload)
    shared = await also_told(tx, work.kind, key, [row.memory.id for row in olds])
    await withdraw(tx, work.kind, key, sorted(shared))
    olds = [row for row in olds if row.memory.id not in shared]
    reason = CANCELLED if new_id is None else REVISED
    await supersede(tx, olds, new_id, reason=reason, changed_by=work.kind, at=tx.now)
    return [] if new_id is None else [Superseded(old=row.memory.id, new=new_id) for row in olds]
