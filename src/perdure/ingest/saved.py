"""The check after a save: what a person or a tool asked to save is there at once, and judged later.

It may make a tombstone of an older memory; it never takes back what was saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perdure.ingest.contradiction import Judge, Subject, named_in, side_of, speakers
from perdure.ingest.naming import ask_later, entities_or_later, keys_to_share
from perdure.ingest.truth import carry_out
from perdure.ingest.work import Ready
from perdure.llm import Ledger
from perdure.resources import Resources
from perdure.rules.verdicts import plan_for_saved
from perdure.store.changes import add_entities
from perdure.store.database import SpaceTransaction
from perdure.store.evidence import last_observed
from perdure.store.memories import MemoryRow, read_rows, read_vectors, siblings
from perdure.store.queue import QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.types import Nothing, Outcome

NOTHING_OUTDATED: Final = "nothing that it outdates"


async def check_stored(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Judges a stored text (`payload.ids`, all its chunks) against what is near it; entities are found if it has none.

    Nearness goes by the vectors that it was stored with.

    Raises:
        ModelUnavailable: an outage. ModelFailed: an attempt.
    """
    ids: list[int] = work.payload["ids"]

    async def live(tx: SpaceTransaction) -> list[MemoryRow]:
        rows = await read_rows(tx, space.name, await siblings(tx, ids))
        return [rows[each] for each in sorted(rows) if rows[each].memory.superseded_at is None]

    async def read(tx: SpaceTransaction) -> tuple[list[MemoryRow], dict[int, np.ndarray]]:
        rows = await live(tx)
        return rows, await read_vectors(tx, resources.family.id, [row.memory.id for row in rows])

    rows, vectors = await resources.database.in_space(space.id, read)
    if not rows or not resources.models.can("contradiction"):
        return Ready.nothing(NOTHING_OUTDATED)
    first = rows[0].memory
    text = "\n".join(row.memory.summary for row in rows)
    named, failed = (None, False) if first.entities else await entities_or_later(resources, text, ledger)
    entities = first.entities or (named.entities if named else None)
    subject = Subject(
        text=text,
        trust=first.trust,
        speaker=first.speaker,
        audience=first.audience,
        observed=min(first.source_date, first.created_at),
        vectors=tuple(vectors[each] for each in sorted(vectors)),
        entity_keys=keys_to_share(text, entities),
    )
    judge = Judge(resources, space, ledger, subject, excluding=tuple(row.memory.id for row in rows))
    await judge.judge()

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        now = await live(tx)
        if [row.memory.summary for row in now] != [row.memory.summary for row in rows]:
            # Changed, outdated or erased meanwhile: there is nothing to be said about it any more.
            return [Nothing(NOTHING_OUTDATED)]
        judged = {one.candidate.id: one for one in await judge.judged(tx)}
        heard = (await last_observed(tx, [now[0].memory.id])).get(first.id)
        names = named_in(text, speakers([one.candidate.side for one in judged.values()]))
        side = replace(side_of(first.chunk_of or first.id, now[0], heard), names=names)
        found = plan_for_saved(side, [(one.candidate.side, one.verdict) for one in judged.values()])
        for row in now:
            await add_entities(tx, row, entities or (), "contradiction", made_by=named.made_by if named else None)
        if failed:
            await ask_later(tx, work, "entities", [row.memory.id for row in now])
        return await carry_out(tx, space, found, side.id, judged, by=first.source) or [Nothing(NOTHING_OUTDATED)]

    return Ready(write, judge.judge)
