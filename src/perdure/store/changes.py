"""Changing what is stored: history first, then the new state; erasing.py has what leaves nothing.

All of it needs the space's lock (`spaces.lock_space`). What touches salience settles the decay due first (`decay.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from psycopg.types.json import Jsonb

from perdure.errors import Conflict
from perdure.rules.audience import may_see
from perdure.rules.verdicts import TRUST_RANK
from perdure.store.database import SpaceTransaction
from perdure.store.decay import settling
from perdure.store.history import write_history
from perdure.store.memories import (
    MemoryRow,
    NewMemory,
    NewText,
    add_evidence,
    chunk_ids,
    chunk_sketches,
    delete_vectors,
    find_duplicates,
    insert_vectors,
    read_rows,
)
from perdure.store.postings import Postings, add_facets, delete_postings, insert_postings
from perdure.store.postings import add_entities as add_entity_postings
from perdure.store.sketches import entity_position, mask, signature
from perdure.store.spaces import count_up
from perdure.text import entity_key, fold
from perdure.types import Trust

CHANGE_MEMORY: Final = """
    UPDATE memories
    SET summary = %(summary)s, search_text = %(search_text)s, tags = %(tags)s, entities = %(entities)s,
        metadata = %(metadata)s, trust = %(trust)s
    WHERE space_id = %(space_id)s AND id = %(id)s
"""

CHANGE_STATE: Final = """
    UPDATE memory_state m
    SET salience = least(10, greatest(1, coalesce(%(salience)s::real, {settled}))), decayed_at = {decayed_at},
        usefulness_score = {settled_usefulness}, regressed_at = {regressed_at},
        memory_type = %(memory_type)s, pinned = %(pinned)s,
        term_count = %(term_count)s, signature = %(signature)s::bit(512), is_question = %(is_question)s
    WHERE m.space_id = %(space_id)s AND m.memory_id = %(id)s
"""

CHANGE_TEXT_STATE: Final = """
    UPDATE memory_state SET content_hash = %(content_hash)s, sketch = %(sketch)s::bit(256)
    WHERE space_id = %(space_id)s AND memory_id = %(id)s
"""

# The whole text is not there any more once one of its chunks says something else.
FORGET_WHOLE_TEXT: Final = """
    UPDATE memory_state SET content_hash = NULL
    WHERE space_id = %(space_id)s AND memory_id = %(root)s AND content_hash IS NOT NULL
"""

PIN: Final = """
    UPDATE memory_state m
    SET pinned = %(pinned)s, salience = {settled}, decayed_at = {decayed_at},
        usefulness_score = {settled_usefulness}, regressed_at = {regressed_at}
    WHERE m.space_id = %(space_id)s AND m.memory_id = ANY(%(ids)s)
"""

RAISE_SALIENCE: Final = """
    UPDATE memory_state m SET salience = least(10, %(salience)s::real), decayed_at = {decayed_at}
    WHERE m.space_id = %(space_id)s AND m.memory_id = %(id)s AND {settled} < least(10, %(salience)s::real)
"""

SET_TRUST: Final = """
    UPDATE memories SET trust = %(trust)s WHERE space_id = %(space_id)s AND id = %(id)s
"""

SET_TAGS: Final = """
    UPDATE memories SET tags = %(tags)s WHERE space_id = %(space_id)s AND id = %(id)s
"""

SET_RELATED: Final = """
    UPDATE memories SET related_ids = %(related_ids)s WHERE space_id = %(space_id)s AND id = %(id)s
"""

ADD_RELATED: Final = """
    WITH named AS MATERIALIZED (
        SELECT m.id, ARRAY(
            SELECT e FROM unnest(m.related_ids) AS e UNION SELECT e FROM unnest(%(others)s::bigint[]) AS e ORDER BY 1
        ) AS related_ids
        FROM memories m WHERE m.space_id = %(space_id)s AND m.id = ANY(%(ids)s)
    )
    UPDATE memories m SET related_ids = n.related_ids FROM named n WHERE m.space_id = %(space_id)s AND m.id = n.id
"""

SUPERSEDE: Final = """
    UPDATE memory_state SET superseded_by = %(new_id)s, superseded_at = %(at)s
    WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s) AND superseded_at IS NULL
    RETURNING memory_id
"""

RESTORE: Final = """
    UPDATE memory_state m
    SET superseded_by = NULL, superseded_at = NULL, salience = {settled}, decayed_at = {decayed_at}
    WHERE m.space_id = %(space_id)s AND m.memory_id = ANY(%(ids)s) AND m.superseded_at IS NOT NULL
    RETURNING m.memory_id
"""

SET_REASON: Final = """
    UPDATE memories SET superseded_reason = %(reason)s WHERE space_id = %(space_id)s AND id = ANY(%(ids)s)
"""

READ_HASHES: Final = """
    SELECT memory_id, audience, content_hash
    FROM memory_state
    WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s) AND content_hash IS NOT NULL
"""

# The gain of 0..1 closes that share of what is missing to 10, from whatever the salience is by now.
APPLY_QUALITY: Final = """
    UPDATE memory_state m
    SET salience = least(10, {settled} + %(gain)s::double precision * (1 - {settled} / 10)), decayed_at = {decayed_at},
        confidence = %(confidence)s::real, quality_at = %(now)s
    WHERE m.space_id = %(space_id)s AND m.memory_id = ANY(%(ids)s) AND m.quality_at IS NULL
"""

LOWER_SALIENCE: Final = """
    UPDATE memory_state m SET salience = greatest(1, %(salience)s::real), decayed_at = {decayed_at}
    WHERE m.space_id = %(space_id)s AND m.memory_id = ANY(%(ids)s) AND {settled} > greatest(1, %(salience)s::real)
    RETURNING m.memory_id
"""

SET_MARK: Final = """
    UPDATE memories SET marks = marks || jsonb_build_object(%(site)s::text, %(made_by)s::text)
    WHERE space_id = %(space_id)s AND id = ANY(%(ids)s)
"""

SET_MADE_BY: Final = """
    UPDATE memories SET made_by = %(made_by)s WHERE space_id = %(space_id)s AND id = ANY(%(ids)s)
"""

SET_ENTITIES: Final = """
    UPDATE memories SET entities = %(entities)s WHERE space_id = %(space_id)s AND id = %(id)s
"""

ADD_TO_SIGNATURE: Final = """
    UPDATE memory_state SET signature = signature | %(mask)s::bit(512)
    WHERE space_id = %(space_id)s AND memory_id = %(id)s
"""

SET_CONFLICTS: Final = """
    UPDATE memories SET conflicts_with = %(conflicts_with)s::bigint[] WHERE space_id = %(space_id)s AND id = %(id)s
"""


async def change(tx: SpaceTransaction, before: MemoryRow, after: NewMemory, keys: tuple[Postings, Postings]) -> None:
    """Replaces text and state of one memory; `keys` are its postings before and after. Needs the space's lock.

    Where the words are new, `change_text` has to follow.
    """
    memory_id = before.memory.id
    await delete_postings(tx, [keys[0]])
    await tx.execute(
        CHANGE_MEMORY,
        {
            "id": memory_id,
            "summary": after.summary,
            "search_text": after.search_text,
            "tags": list(after.tags),
            "entities": list(after.entities),
            "metadata": Jsonb(dict(after.metadata)),
            "trust": after.trust,
        },
    )
    await tx.execute(
        settling(CHANGE_STATE),
        {
            "id": memory_id,
            "salience": None if after.salience == before.memory.salience else after.salience,
            "memory_type": after.memory_type,
            "pinned": after.pinned,
            "term_count": after.length,
            "signature": signature(after.terms, after.entity_keys),
            "is_question": after.is_question,
        },
    )
    await insert_postings(tx, [keys[1]])


async def change_text(
    tx: SpaceTransaction, memory_id: int, after: NewMemory, family_id: int, *, root: int | None
) -> None:
    """Replaces vector, sketch and hash of a memory whose words changed; `root` is the first chunk of its text."""
    state = {"id": memory_id, "content_hash": after.content_hash, "sketch": chunk_sketches([after])[0]}
    await tx.execute(CHANGE_TEXT_STATE, state)
    if root is not None:
        await tx.execute(FORGET_WHOLE_TEXT, {"root": root})
    await delete_vectors(tx, [memory_id])
    await insert_vectors(tx, family_id, [(memory_id, after.vector)])


async def pin(tx: SpaceTransaction, rows: Sequence[MemoryRow], changed_by: str, *, pinned: bool) -> None:
    """Pins or unpins memories, with a row of history for each one that wasn't so already."""
    changing = [row for row in rows if row.memory.pinned is not pinned]
    for row in changing:
        await write_history(tx, row, "pin" if pinned else "unpin", changed_by)
    await tx.execute(settling(PIN), {"ids": [row.memory.id for row in changing], "pinned": pinned})


async def merge_into(
    tx: SpaceTransaction, rows: Sequence[MemoryRow], text: NewText, *, made_by: str | None = None
) -> None:
    """The same arrived again: tags and evidence are united, salience and trust are the greater of both.

    `made_by` is the prompt and model whose verdict it was, where the words are others.

    `rows` are all chunks of the stored text; each one that changes gets a row of history. External text adds evidence
    to what somebody else said, and nothing more: no mail makes the user's words weigh more. What a mail said first is
    the user's word from the day that they say it, too.
    """
    first = text.chunks[0]
    tag_keys = [key for key in first.facets if key.startswith("tag:")]
    for row in rows:
        memory_id = row.memory.id
        raises = TRUST_RANK[first.trust] > TRUST_RANK[row.memory.trust]
        if raises:
            await tx.execute(SET_TRUST, {"id": memory_id, "trust": first.trust})
            # Of a tool the name was no key; of who says it now it is one.
            named = sorted(set(first.entity_keys) - {entity_key(entity) for entity in first.entities})
            await add_entity_postings(tx, memory_id, named)
        elif first.trust is Trust.EXTERNAL and row.memory.trust is not Trust.EXTERNAL:
            continue
        known = {fold(tag) for tag in row.memory.tags}
        added = [tag for tag in first.tags if fold(tag) not in known]
        if added:
            await tx.execute(SET_TAGS, {"id": memory_id, "tags": [*row.memory.tags, *added]})
            await add_facets(tx, memory_id, tag_keys)
        raised = await tx.execute(settling(RAISE_SALIENCE), {"id": memory_id, "salience": first.salience})
        if added or raised or raises:
            await write_history(tx, row, "merge", first.source, made_by=made_by)
    await add_evidence(tx, [(row.memory.id, item) for row in rows for item in first.borne_out])


async def supersede(
    tx: SpaceTransaction,
    olds: Sequence[MemoryRow],
    new_id: int | None,
    *,
    reason: str,
    changed_by: str,
    at: datetime,
    made_by: str | None = None,
) -> int:
    """Makes tombstones of live memories, with all chunks of their texts; what is one already stays as it is.

    Args:
        olds: any chunk of each text.
        new_id: the memory that says what is true instead; None closes them without a successor.
        reason: kept with the tombstone.
        changed_by: who decided, for the history.
        at: when they ceased to count.
        made_by: the prompt and model whose verdict it was, if one's.

    Returns:
        How many rows changed: 0 if nothing was live any more.
    """
    rows = await _whole_texts(tx, olds)
    if new_id in rows:
        raise ValueError(f"memory {new_id} can't supersede itself")
    successor = (await read_rows(tx, "", [new_id])).get(new_id) if new_id is not None else None
    if successor is not None and not all(sees(row, successor) for row in rows.values()):
        raise ValueError(f"memory {new_id} is for fewer people than what it would supersede")
    params = {"ids": sorted(rows), "new_id": new_id, "at": at}
    changed = sorted(row["memory_id"] for row in await tx.fetch_all(SUPERSEDE, params))
    await tx.execute(SET_REASON, {"ids": changed, "reason": reason})
    for memory_id in changed:
        await write_history(tx, rows[memory_id], "supersede", changed_by, reason, about=new_id, made_by=made_by)
    return len(changed)


async def restore(tx: SpaceTransaction, rows: Sequence[MemoryRow], changed_by: str) -> int:
    """Brings superseded texts back, all their chunks; what is live stays as it is. Returns how many rows changed.

    Raises:
        Conflict: another live memory holds the same text.
    """
    whole = await _whole_texts(tx, rows)
    dead = {memory_id for memory_id, row in whole.items() if row.memory.superseded_at is not None}
    hashes = await tx.fetch_all(READ_HASHES, {"ids": sorted(dead)})
    keys = {row["memory_id"]: (row["audience"], bytes(row["content_hash"])) for row in hashes}
    taken = await find_duplicates(tx, list(keys.values()))
    for memory_id, key in sorted(keys.items()):
        twin = taken.setdefault(key, memory_id)
        if twin != memory_id:
            raise Conflict(
                f"Memory {twin} holds the same text as {memory_id}.", hint=f"Use {twin}, or forget it first."
            )
    changed = sorted(row["memory_id"] for row in await tx.fetch_all(settling(RESTORE), {"ids": sorted(dead)}))
    await tx.execute(SET_REASON, {"ids": changed, "reason": None})
    await count_up(tx)
    for memory_id in changed:
        await write_history(tx, whole[memory_id], "restore", changed_by)
    return len(changed)


async def apply_quality(
    tx: SpaceTransaction,
    ids: Sequence[int],
    specificity: float,
    uniqueness: float,
    confidence: float,
    *,
    made_by: str | None = None,
) -> int:
    """Raises the salience that memories have by now, once per memory; returns how many were raised.

    `made_by`, the prompt and model that scored them, is kept with them.
    All three scores are 0..1. `salience += (specificity + uniqueness)/2 * (1 - salience/10)`: the mission's.
    """
    gain = (specificity + uniqueness) / 2
    raised = await tx.execute(settling(APPLY_QUALITY), {"ids": list(ids), "gain": gain, "confidence": confidence})
    if raised and made_by:
        await mark(tx, ids, "quality", made_by)
    return raised


async def mark(tx: SpaceTransaction, ids: Sequence[int], site: str, made_by: str) -> None:
    """Keeps which prompt and model scored or completed memories at a call site; the last one counts."""
    await tx.execute(SET_MARK, {"ids": list(ids), "site": site, "made_by": made_by})


async def lower_salience(
    tx: SpaceTransaction, rows: Sequence[MemoryRow], salience: float, *, made_by: str, changed_by: str
) -> int:
    """A later judgement found texts worth less: their salience falls to it, and never rises; all chunks of them.

    `made_by` is who judged them now. Returns how many rows fell.
    """
    whole = await _whole_texts(tx, rows)
    params = {"ids": sorted(whole), "salience": salience}
    fallen = sorted(row["memory_id"] for row in await tx.fetch_all(settling(LOWER_SALIENCE), params))
    await tx.execute(SET_MADE_BY, {"ids": sorted(whole), "made_by": made_by})
    for memory_id in fallen:
        await write_history(tx, whole[memory_id], "lower", changed_by)
    return len(fallen)


async def add_entities(
    tx: SpaceTransaction,
    row: MemoryRow,
    entities: Sequence[str],
    changed_by: str = "quality",
    *,
    made_by: str | None = None,
) -> None:
    """Unites a memory's entities with these; what it is found by follows. `row` was read in this transaction.

    `made_by`, the prompt and model that found them, is kept in the history and with the memory.
    """
    memory = row.memory
    known = {entity_key(entity) for entity in memory.entities}
    added: dict[str, str] = {}
    for entity in entities:
        key = entity_key(entity)
        if key and key not in known:
            added.setdefault(key, entity)
    if not added:
        return
    await write_history(tx, row, "entities", changed_by, made_by=made_by)
    if made_by:
        await mark(tx, [memory.id], "entities", made_by)
    await tx.execute(SET_ENTITIES, {"id": memory.id, "entities": [*memory.entities, *added.values()]})
    await tx.execute(ADD_TO_SIGNATURE, {"id": memory.id, "mask": mask(map(entity_position, added))})
    await add_entity_postings(tx, memory.id, list(added))


async def flag_conflict(tx: SpaceTransaction, memory_id: int, ids: Sequence[int]) -> None:
    """Keeps that these memories say otherwise than this one, which may not supersede them; those of fewer people not.

    Whoever sees a memory sees all that it names.
    """
    rows = await read_rows(tx, "", [memory_id, *ids])
    row = rows[memory_id]
    named = {other for other in ids if other in rows and sees(row, rows[other])}
    conflicts = sorted({*row.memory.conflicts_with, *named} - {memory_id})
    await tx.execute(SET_CONFLICTS, {"id": memory_id, "conflicts_with": conflicts})


async def relate(tx: SpaceTransaction, made: Sequence[int], of: Sequence[int]) -> None:
    """Links what was made of memories with them, in both directions, as far as whoever sees the one sees the other.

    What was made has them as evidence besides: by that it is found when one of them goes.
    """
    rows = await read_rows(tx, "", [*made, *of])
    for ids, others in ((made, of), (of, made)):
        by_audience: dict[str | None, list[MemoryRow]] = {}
        for row in (rows[each] for each in ids if each in rows):
            by_audience.setdefault(row.memory.audience, []).append(row)
        for alike in by_audience.values():
            seen = [other for other in others if other in rows and sees(alike[0], rows[other])]
            if seen:
                await tx.execute(ADD_RELATED, {"ids": [row.memory.id for row in alike], "others": seen})


def sees(one: MemoryRow, other: MemoryRow) -> bool:
    """Whether everybody who may see `one` may see `other`, too: only then may it be named there."""
    return may_see(one.memory.audience, other.memory.audience)


async def _whole_texts(tx: SpaceTransaction, rows: Sequence[MemoryRow]) -> dict[int, MemoryRow]:
    """All chunks of the texts that these rows belong to, as they are now."""
    roots = sorted({row.memory.chunk_of or row.memory.id for row in rows})
    space = rows[0].memory.space if rows else ""
    return await read_rows(tx, space, await chunk_ids(tx, roots))
