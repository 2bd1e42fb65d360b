"""What forgetting does to conclusions that rest on several memories: what is forgotten leaves them, the rest stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perdure.ingest.drafts import chunk_of, draft_of
from perdure.ingest.keys import stored_postings
from perdure.rules.identity import Profile, as_data, card, from_data, without
from perdure.store.changes import change, restore
from perdure.store.cognition import Layer, look_again, unmark
from perdure.store.database import SpaceTransaction
from perdure.store.erasing import erase, forget_former_words, going
from perdure.store.evidence import forget_made_of, rests_on
from perdure.store.memories import MemoryRow, delete_vectors, read_rows
from perdure.store.spaces import SpaceRow
from perdure.store.tally import Tally
from perdure.store.thoughts import replaced_by
from perdure.store.traits import drop_resting_on
from perdure.types import MemoryType

PROFILE: Final = "profile"
"""Where in the metadata of a version of the identity card its lines stand, each with its evidence."""
RETOLD: Final[Mapping[MemoryType, Layer]] = {MemoryType.EPISODE: "episodes", MemoryType.REFLECTION: "reflection"}
"""What is concluded from several memories at once, and which layer does it again with those that are left."""
MERGED: Final = "merged with others that say the same"
"""Why consolidation puts one memory in the place of several."""


def is_card(row: MemoryRow) -> bool:
    """Whether this is a version of the identity card, which rests on many memories and outlives each of them."""
    return row.memory.memory_type is MemoryType.IDENTITY


async def bring_back(tx: SpaceTransaction, space: SpaceRow, gone: Sequence[int]) -> None:
    """Brings back what was merged into memories that are about to go and isn't forgotten itself."""
    merged = await read_rows(tx, space.name, await replaced_by(tx, gone, MERGED))
    await restore(tx, [row for each, row in merged.items() if each not in set(gone)], "forget")


@dataclass(frozen=True, slots=True)
class TakenOut:
    """What was taken out of the card and the traits.

    `baseless` are versions of the card of which nothing was left, `again` memories that bore out what was taken out,
    are still there, and are looked at once more.
    """

    tally: Tally
    baseless: tuple[int, ...]
    again: frozenset[int]


async def take_out_of(tx: SpaceTransaction, cards: Iterable[MemoryRow], gone: Sequence[int]) -> TakenOut:
    """Takes what rests on a forgotten memory out of the card, its former versions and the traits.

    A line goes even where other memories bear it out: which of its words came from where nobody can tell. The next
    consolidation concludes it anew from what is left.
    """
    tally, forgotten = Tally(), frozenset(gone)
    baseless: list[MemoryRow] = []
    again: set[int] = set()
    for row in cards:
        data = row.memory.metadata.get(PROFILE)
        profile = from_data(data) if isinstance(data, Mapping) else Profile()
        left = without(profile, forgotten)
        if row.memory.superseded_at is None:
            again |= profile.evidence - left.evidence
        if card(left):
            await _rewrite_card(tx, row, left, gone)
            tally.rewritten["memories"] += 1
        else:
            baseless.append(row)
    if baseless:
        keys = [stored_postings(row) for row in baseless]
        tally.removed.update(await going(tx, [row.memory.id for row in baseless], keys))
        tally.add(await erase(tx, baseless, keys, []))
    dropped, others = await drop_resting_on(tx, gone)
    tally.removed["traits"] += dropped
    again = (again | others) - forgotten
    await look_again(tx, "consolidation", sorted(again))
    return TakenOut(tally, tuple(row.memory.id for row in baseless), frozenset(again))


async def _rewrite_card(tx: SpaceTransaction, row: MemoryRow, left: Profile, gone: Sequence[int]) -> None:
    metadata = {**row.memory.metadata, PROFILE: as_data(left)}
    draft = replace(draft_of(row.memory), text=card(left), metadata=metadata)
    after = replace(chunk_of(draft, card(left), None, whole=False, last=True), content_hash=None)
    await change(tx, row, after, (stored_postings(row), after.postings(row.memory.id)))
    # Nothing is embedded within a transaction: until the next version the card is found by its type alone.
    await delete_vectors(tx, [row.memory.id])
    await forget_former_words(tx, [row.memory.id])
    await forget_made_of(tx, row.memory.id, gone)


async def rebuild(
    tx: SpaceTransaction, rows: Iterable[MemoryRow], asked: Collection[int], gone: Sequence[int]
) -> frozenset[int]:
    """Flags what is left of episodes and reflections that are about to go with one of their members.

    What was asked for by itself (`asked`) isn't told again. Returns the memories that are looked at once more.
    """
    again: set[int] = set()
    for row in rows:
        memory = row.memory
        layer = RETOLD.get(MemoryType(memory.memory_type))
        if layer is None or memory.superseded_at is not None or {memory.id, memory.chunk_of} & set(asked):
            continue
        left = {each for ids in (await rests_on(tx, [memory.id])).values() for each in ids} - set(gone)
        if layer == "episodes":
            await unmark(tx, layer, sorted(left))
        else:
            await look_again(tx, layer, sorted(left))
        again |= left
    return frozenset(again)
