"""Check and write as one step: exact duplicates are merged, everything else is stored."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.ingest.drafts import Draft, prepare
from perdure.ingest.work import Ready
from perdure.resources import Resources
from perdure.store.changes import merge_into
from perdure.store.database import SpaceTransaction
from perdure.store.memories import NewText, chunk_ids, find_duplicates, insert_texts, read_rows
from perdure.store.spaces import SpaceRow, lock_space, set_family
from perdure.types import Merged, Outcome, Stored


async def keep_all(resources: Resources, space: SpaceRow, drafts: Sequence[Draft], *, if_none: str) -> Ready:
    """Makes ready what is kept without a verdict; one embedding call for all of it. `if_none` is why there is none.

    Raises:
        EmbeddingUnavailable: an outage. EmbeddingFailed: an attempt.
    """
    if not drafts:
        return Ready.nothing(if_none)
    texts = await prepare(drafts, resources.embedder, resources.settings.max_chunk_bytes)

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        return await write_texts(tx, resources, space, texts)

    return Ready(write)


async def write_texts(
    tx: SpaceTransaction, resources: Resources, space: SpaceRow, texts: Sequence[NewText]
) -> list[Stored | Merged]:
    """Stores prepared texts in order, one outcome each. Writers of a space queue up here.

    Raises:
        FamilyMismatch: the space's memories belong to another embedding model.
    """
    state = await lock_space(tx)
    resources.require_family(space, state)
    if state.family_id is None:
        await set_family(tx, resources.family.id)
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
