"""Forgetting all that came from somewhere: a source, a speaker, an audience. In batches, each of which is whole.

Killed in between, or done by two at once, it goes on where it is: what is left is looked for anew before each batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from perdure.ingest.distillation import ARCHIVE
from perdure.ingest.forgetting import LONGEST_S, Erased, Sight, doom, erase_together
from perdure.ingest.keys import stored_postings
from perdure.ingest.quotations import without_messages
from perdure.ingest.receipt import Preview
from perdure.resources import Resources
from perdure.rules.facets import facet_keys
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.erasing import going
from perdure.store.origins import (
    Origin,
    archives_with,
    count_of_audience,
    count_waiting,
    drop_of_audience,
    drop_waiting,
    find_all_from,
    find_from,
    named_in,
    sources_of,
    spellings,
    withdraw_witness,
)
from perdure.store.quotes import rewrite
from perdure.store.spaces import SpaceRow, lock_space
from perdure.store.tally import Tally
from perdure.store.traits import count_resting_on
from perdure.text import entity_key, fold, is_role
from perdure.types import CONCLUDED_TYPES, StoredMemory

BATCH: Final = 50
"""Memories erased in one transaction, without what goes with them: it holds the space's lock meanwhile."""
LOOKED_AT: Final = 500
"""Memories of a preview that are read at once."""
NAMED_IN: Final = 100

Progress = Callable[[int], None]


def from_source(source: str, audience: str | None, *, everywhere: bool = False) -> Origin:
    """All that came from a source, as `import:chats`, and what of it waits."""
    kinds = (source, "archive") if source == ARCHIVE else (source,)
    return Origin(facet_keys(source=source), source, kinds, audience=audience, everywhere=everywhere)


async def from_speakers(
    tx: SpaceTransaction, names: Sequence[str], audience: str | None, *, everywhere: bool = False
) -> Origin:
    """All that was said under one of these names, in whatever case they are written."""
    folded = {fold(name) for name in names}
    spelled = [name for name in await spellings(tx) if fold(name) in folded]
    facets = [key for name in sorted(folded) for key in facet_keys(speaker=name)]
    return Origin(tuple(facets), speakers=tuple(spelled), audience=audience, everywhere=everywhere)


def of_audience(audience: str) -> Origin:
    """All that was told to one audience."""
    return Origin(audience=audience, whole=True)


def names_of(user_id: str, name: str | None, aliases: Sequence[str]) -> tuple[str, ...]:
    """What somebody is called: roles, which many are called, only where they are the id itself."""
    called = [each for each in (name, *aliases) if each and not is_role(each)]
    return tuple(dict.fromkeys([user_id, *called]))


async def forget_from(
    resources: Resources, space: SpaceRow, origin: Origin, verb: str, progress: Progress | None = None
) -> Erased:
    """Erases all of this origin: first what waits, so that nothing comes after, then memories, then the rest.

    Args:
        verb: the kind of the entry in the audit log. progress: gets how many memories are erased, after each batch.
    """
    database = resources.database
    sight = Sight(origin.audience, origin.everywhere)

    async def stop(tx: SpaceTransaction) -> Tally:
        tally = await drop_waiting(tx, origin)
        for row in await archives_with(tx, origin):
            left = without_messages(row.table, row.payload, origin.speakers)
            await rewrite(tx, row, left, row.error)
            (tally.removed if left is None else tally.rewritten)[row.table] += 1
        await note(tx, verb, touched=tally.removed.total())
        return tally

    async def batch(tx: SpaceTransaction) -> Erased | None:
        await lock_space(tx)
        ids = await find_from(tx, origin, BATCH)
        return await erase_together(tx, space, ids, sight) if ids else None

    async def finish(tx: SpaceTransaction) -> Tally:
        tally = Tally()
        if origin.source is not None or origin.speakers:
            tally.removed["memory_evidence"] += await withdraw_witness(tx, origin)
        if origin.whole and origin.audience is not None:
            tally.add(await drop_of_audience(tx, origin.audience))
        return tally

    erased = Erased()
    _count(erased, await database.in_space(space.id, stop))
    while found := await database.in_space(space.id, batch, writer=True, timeout_s=LONGEST_S):
        erased.add(found)
        if progress is not None:
            progress(len(erased.ids))
    _count(erased, await database.in_space(space.id, finish))
    return erased


async def preview(tx: SpaceTransaction, space: SpaceRow, ids: Sequence[int], sight: Sight) -> Preview:
    """What would go with these memories, which are there, as far as the asker may be told."""
    seen: set[int] = set()
    concluded: set[int] = set()
    removed: Counter[str] = Counter()
    for at in range(0, len(ids), LOOKED_AT):
        wanted = [each for each in ids[at : at + LOOKED_AT] if each not in seen]
        doomed = await doom(tx, space, wanted)
        new = doomed.seen(sight) - seen
        removed += await going(tx, new, [stored_postings(row) for row in doomed.rows.values()])
        seen |= new
        concluded |= {each for each in new if each in doomed.rows and _is_concluded(doomed.rows[each].memory)}
    removed["traits"] += await count_resting_on(tx, sorted(seen))
    return Preview(tuple(sorted(seen)), tuple(sorted(concluded - set(ids))), dict(sorted((+removed).items())))


async def preview_from(tx: SpaceTransaction, space: SpaceRow, origin: Origin) -> Preview:
    """What `forget_from` would remove."""
    found = await preview(tx, space, await find_all_from(tx, origin), Sight(origin.audience, origin.everywhere))
    counts = Counter(found.removed) + Counter(await count_waiting(tx, origin))
    if origin.whole and origin.audience is not None:
        counts += Counter(await count_of_audience(tx, origin.audience))
    sources = tuple(await sources_of(tx, origin)) if origin.source is not None and not counts else ()
    return replace(found, removed=dict(sorted(counts.items())), sources=sources)


async def mentions(tx: SpaceTransaction, origin: Origin, names: Sequence[str], ids: Sequence[int]) -> tuple[int, ...]:
    """Memories in which others name somebody: besides `ids`, at most 100."""
    keys = sorted({entity_key(name) for name in names} - {""})
    found = await named_in(tx, origin, keys, NAMED_IN + len(ids))
    return tuple(each for each in found if each not in set(ids))[:NAMED_IN]


def _is_concluded(memory: StoredMemory) -> bool:
    return memory.memory_type in CONCLUDED_TYPES


def _count(erased: Erased, tally: Tally) -> None:
    erased.tally.add(tally)
    erased.touched |= tally.tables
