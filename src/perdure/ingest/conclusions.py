"""What forgetting does to conclusions that rest on several memories: what is forgotten leaves them, the rest stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from perdure.ingest.drafts import chunk_of, draft_of
from perdure.ingest.keys import stored_postings
from perdure.rules.identity import as_data, card, from_data, without
from perdure.store.changes import change, restore
from perdure.store.database import SpaceTransaction
from perdure.store.erasing import erase, forget_former_words
from perdure.store.evidence import forget_made_of
from perdure.store.memories import MemoryRow, delete_vectors, read_rows
from perdure.store.spaces import SpaceRow
from perdure.store.thoughts import replaced_by
from perdure.store.traits import forget_evidence
from perdure.types import MemoryType

PROFILE: Final = "profile"
"""Where in the metadata of a version of the identity card its lines stand, each with its evidence."""
MERGED: Final = "merged with others that say the same"
"""Why consolidation puts one memory in the place of several."""


def is_card(row: MemoryRow) -> bool:
    """Whether this is a version of the identity card, which rests on many memories and outlives each of them."""
    return row.memory.memory_type is MemoryType.IDENTITY


async def bring_back(tx: SpaceTransaction, space: SpaceRow, gone: Sequence[int]) -> None:
    """Brings back what was merged into memories that are about to go and isn't forgotten itself."""
    merged = await read_rows(tx, space.name, await replaced_by(tx, gone, MERGED))
    await restore(tx, [row for each, row in merged.items() if each not in set(gone)], "forget")


async def take_out_of(tx: SpaceTransaction, cards: Iterable[MemoryRow], gone: Sequence[int]) -> list[int]:
    """Takes the lines that rested on nothing else out of the card, its former versions and the traits.

    Returns the ids of versions of which nothing was left.
    """
    baseless: list[MemoryRow] = []
    for row in cards:
        data = row.memory.metadata.get(PROFILE)
        left = without(from_data(data), frozenset(gone)) if isinstance(data, Mapping) else None
        text = card(left) if left is not None else ""
        if left is None or not text:
            baseless.append(row)
            continue
        metadata = {**row.memory.metadata, PROFILE: as_data(left)}
        draft = replace(draft_of(row.memory), text=text, metadata=metadata)
        after = replace(chunk_of(draft, text, None, whole=False, last=True), content_hash=None)
        await change(tx, row, after, (stored_postings(row), after.postings(row.memory.id)))
        # Nothing is embedded within a transaction: until the next version the card is found by its type alone.
        await delete_vectors(tx, [row.memory.id])
        await forget_former_words(tx, [row.memory.id])
        await forget_made_of(tx, row.memory.id, gone)
    if baseless:
        await erase(tx, baseless, [stored_postings(row) for row in baseless], [])
    await forget_evidence(tx, gone)
    return [row.memory.id for row in baseless]
