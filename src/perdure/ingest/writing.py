"""Check and write as one step: exact duplicates are merged, everything else is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from perdure.ingest.drafts import Draft, prepare
from perdure.ingest.old_news import Told, old_news
from perdure.ingest.work import Ready
from perdure.resources import Resources
from perdure.store.changes import merge_into
from perdure.store.database import SpaceTransaction
from perdure.store.memories import NewText, chunk_ids, find_duplicates, insert_texts, read_rows
from perdure.store.spaces import SpaceRow, lock_space, set_family
from perdure.types import Merged, Nothing, Outcome, Stored


async def keep_all(
    resources: Resources, space: SpaceRow, drafts: Sequence[tuple[Draft, datetime | None]], *, if_none: str
) -> Ready:
    """Makes ready what is kept without a verdict; one embedding call for all of it.

    Args:
        drafts: each with when what it says was known; None is before anything else.
        if_none: why there is none.

    Raises:
        EmbeddingUnavailable: an outage. EmbeddingFailed: an attempt.
    """
    if not drafts:
        return Ready.nothing(if_none)
    texts = await prepare([draft for draft, _ in drafts], resources.embedder, resources.settings.max_chunk_bytes)
    told = [Told(draft, text, observed) for (draft, observed), text in zip(drafts, texts, strict=True)]

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        return await write_news(tx, resources, space, told)

    return Ready(write)


async def write_news(
    tx: SpaceTransaction, resources: Resources, space: SpaceRow, told: Sequence[Told], *, replaced: bool = True
) -> list[Stored | Merged | Nothing]:
    """As `write_texts`, but what was forgotten or replaced since it was said doesn't come back (`old_news`)."""
    await lock_space(tx)
    bygone = await old_news(tx, space, told, replaced=replaced)
    texts = [one.text for place, one in enumerate(told) if place not in bygone]
    written = iter(await write_texts(tx, resources, space, texts))
    return [Nothing(bygone[place]) if place in bygone else next(written) for place in range(len(told))]


async def begin_writing(tx: SpaceTransaction, resources: Resources, space: SpaceRow) -> None:
    """Locks a space for texts with vectors of the embedder's family; the first of them makes it the space's own.

    Raises:
        FamilyMismatch: the space's memories belong to another embedding model.
    """
    state = await lock_space(tx)
    resources.require_family(space, state)
    if state.family_id is None:
        await set_family(tx, resources.family.id)


async def write_texts(
    tx: SpaceTransaction, resources: Resources, space: SpaceRow, texts: Sequence[NewText]
) -> list[Stored | Merged]:
    """Stores prepared texts in order, one outcome each. Writers of a space queue up here.

    Raises:
        FamilyMismatch: the space's memories belong to another embedding model.
    """
    await begin_writing(tx, resources, space)
    known = await find_duplicates(tx, [text.key for text in texts])
    fresh: dict[tuple[str | None, bytes], NewText] = {}
    for text in texts:
        if text.key not in known:
            fresh.setdefault(text.key, text)
    new_ids = await insert_texts(tx, list(fresh.values()), resources.family.id)
    stored = dict(zip(fresh, new_ids, strict=True))

    outcomes: list[Stored | Merged] = []
    for text in texts:
        if fresh.get(text.key) is text:
            outcomes.append(Stored(stored[text.key]))
            continue
        memory_id = known[text.key] if text.key in known else stored[text.key][0]
        rows = await read_rows(tx, space.name, await chunk_ids(tx, [memory_id]))
        await merge_into(tx, [rows[each] for each in sorted(rows)], text)
        outcomes.append(Merged(memory_id))
    return outcomes
