"""Erasure, which leaves nothing: no word of a memory, and no pointer to it. Needs the space's lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from perdure.store.changes import SET_CONFLICTS, SET_RELATED
from perdure.store.database import SpaceTransaction
from perdure.store.evidence import made_of
from perdure.store.memories import MemoryRow, read_rows
from perdure.store.postings import Postings, delete_postings
from perdure.store.tally import Tally

# Erasure. What points at the erased rows is cleared first: no foreign key sets anything to null by itself. What an
# erased row had superseded stays a tombstone (superseded_at), or an outdated value would come back to life.
CLEAR_SUPERSEDED_BY: Final = """
    UPDATE memory_state SET superseded_by = NULL
    WHERE space_id = %(space_id)s AND superseded_by = ANY(%(ids)s)
"""

FIND_CONFLICTS: Final = """
    SELECT id, conflicts_with FROM memories WHERE space_id = %(space_id)s AND conflicts_with <> '{}'
"""

# A reason is in a model's words, and may quote either of the two memories it speaks of.
FORGET_REASONS: Final = """
    UPDATE memories m SET superseded_reason = %(erased)s
    FROM memory_state s
    WHERE m.space_id = %(space_id)s AND s.space_id = %(space_id)s AND s.memory_id = m.id
      AND s.superseded_by = ANY(%(ids)s)
"""

FORGET_PAST_REASONS: Final = """
    UPDATE memory_history
    SET reason = CASE WHEN reason = '' THEN '' ELSE %(erased)s END,
        state = CASE WHEN state ->> 'superseded_reason' IS NULL THEN state
                ELSE jsonb_set(state, '{superseded_reason}', to_jsonb(%(erased)s::text)) END
    WHERE space_id = %(space_id)s AND about = ANY(%(ids)s)
"""

# What else was made of the same message shows the beginning of it.
FORGET_EXCERPTS: Final = """
    UPDATE memory_evidence o SET excerpt = ''
    FROM (
        SELECT DISTINCT e.kind, e.external_id FROM memory_evidence e
        WHERE e.space_id = %(space_id)s AND e.memory_id = ANY(%(ids)s) AND e.external_id IS NOT NULL
          AND e.kind <> 'memory'
    ) s
    WHERE o.space_id = %(space_id)s AND o.external_id = s.external_id AND o.kind = s.kind
      AND o.memory_id <> ALL(%(ids)s) AND o.excerpt <> ''
"""

# Lists of ids: what a run read, wrote and replaced, and what came to mind for a task.
FORGET_RUNS: Final = """
    UPDATE cognition_runs
    SET read_ids = ARRAY(SELECT e FROM unnest(read_ids) WITH ORDINALITY AS t (e, place)
                         WHERE e <> ALL (%(ids)s::bigint[]) ORDER BY place),
        wrote_ids = ARRAY(SELECT e FROM unnest(wrote_ids) WITH ORDINALITY AS t (e, place)
                          WHERE e <> ALL (%(ids)s::bigint[]) ORDER BY place),
        superseded_ids = ARRAY(SELECT e FROM unnest(superseded_ids) WITH ORDINALITY AS t (e, place)
                               WHERE e <> ALL (%(ids)s::bigint[]) ORDER BY place)
    WHERE space_id = %(space_id)s
      AND (read_ids && %(ids)s::bigint[] OR wrote_ids && %(ids)s::bigint[] OR superseded_ids && %(ids)s::bigint[])
"""

FORGET_RECALLED: Final = """
    UPDATE current_tasks
    SET memory_ids = ARRAY(SELECT e FROM unnest(memory_ids) WITH ORDINALITY AS t (e, place)
                           WHERE e <> ALL (%(ids)s::bigint[]) ORDER BY place)
    WHERE space_id = %(space_id)s AND memory_ids && %(ids)s::bigint[]
"""

# What goes with its memories by itself.
COUNT_GOING: Final = """
    SELECT
        (SELECT count(*) FROM memories m WHERE m.space_id = %(space_id)s AND m.id = ANY(%(ids)s::bigint[])) AS memories,
        (SELECT count(*) FROM memory_state s
         WHERE s.space_id = %(space_id)s AND s.memory_id = ANY(%(ids)s::bigint[])) AS memory_state,
        (SELECT count(*) FROM families f
         JOIN memory_vectors v ON v.space_id = %(space_id)s AND v.family_id = f.id
         WHERE v.memory_id = ANY(%(ids)s::bigint[])) AS memory_vectors,
        (SELECT count(*) FROM memory_evidence e
         WHERE e.space_id = %(space_id)s AND e.memory_id = ANY(%(ids)s::bigint[])) AS memory_evidence,
        (SELECT count(*) FROM memory_history h
         WHERE h.space_id = %(space_id)s AND h.memory_id = ANY(%(ids)s::bigint[])) AS memory_history,
        (SELECT count(*) FROM cognition_marks k
         WHERE k.space_id = %(space_id)s AND k.memory_id = ANY(%(ids)s::bigint[])) AS cognition_marks
"""

DELETE_HISTORY: Final = """
    DELETE FROM memory_history WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

DELETE_MEMORIES: Final = """
    DELETE FROM memories WHERE space_id = %(space_id)s AND id = ANY(%(ids)s)
"""


# What is still to be done about the erased rows, and the exchanges that wait to be judged in their place.
FORGET_FOLLOWUPS: Final = """
    DELETE FROM pending_followups
    WHERE space_id = %(space_id)s AND payload -> 'ids' @> ANY(%(named)s::jsonb[])
"""

FORGET_REPLACING: Final = """
    DELETE FROM pending_triage
    WHERE space_id = %(space_id)s AND payload -> 'replaces' @> ANY(%(named)s::jsonb[])
"""

FORGET_FAILED: Final = """
    DELETE FROM failed_operations
    WHERE space_id = %(space_id)s
      AND (context -> 'payload' -> 'ids' @> ANY(%(named)s::jsonb[])
           OR context -> 'payload' -> 'replaces' @> ANY(%(named)s::jsonb[]))
"""


ERASED: Final = "what took its place was erased"
"""What is left of a reason that spoke of an erased memory."""


async def going(tx: SpaceTransaction, ids: Collection[int], postings: Sequence[Postings]) -> Counter[str]:
    """How many rows of each table hold these memories, what they were and what they are found by."""
    row = await tx.fetch_one(COUNT_GOING, {"ids": list(ids)})
    assert row is not None
    counts = Counter({name: int(n) for name, n in row.items()})
    for each in postings:
        if each.memory_id in ids:
            counts["memory_terms"] += len(set(each.terms))
            counts["memory_entities"] += len(each.entities)
            counts["memory_facets"] += len(each.facets)
    return +counts


async def erase(
    tx: SpaceTransaction, rows: Sequence[MemoryRow], postings: Sequence[Postings], purged: Sequence[int] = ()
) -> Tally:
    """Removes memories with everything that holds their words: postings, vectors, evidence, history. Irreversible.

    What others show of the same messages is blanked, and so are reasons that spoke of them. What waits in a queue to
    be done about them, or to replace them, goes with them; what quotes them is found by `quotes.py`. Needs the space's
    lock.

    Args:
        purged: memories that are only history by now, and go, too.

    Returns:
        What happened besides `going`.
    """
    ids = [row.memory.id for row in rows]
    tally = Tally()
    await delete_postings(tx, postings)
    for table, statement in (
        ("memories", FORGET_REASONS),
        ("memory_history", FORGET_PAST_REASONS),
        ("memory_evidence", FORGET_EXCERPTS),
        ("cognition_runs", FORGET_RUNS),
        ("current_tasks", FORGET_RECALLED),
    ):
        tally.rewritten[table] += await tx.execute(statement, {"ids": [*ids, *purged], "erased": ERASED})
    await clear_pointers(tx, rows)
    named = [str(memory_id) for memory_id in ids]
    for table, statement in (
        ("pending_followups", FORGET_FOLLOWUPS),
        ("pending_triage", FORGET_REPLACING),
        ("failed_operations", FORGET_FAILED),
    ):
        tally.removed[table] += await tx.execute(statement, {"named": named})
    await tx.execute(DELETE_HISTORY, {"ids": [*ids, *purged]})
    await tx.execute(DELETE_MEMORIES, {"ids": ids})
    return tally


async def forget_former_words(tx: SpaceTransaction, ids: Sequence[int]) -> None:
    """Removes what memories said before; what they say now stays."""
    await tx.execute(DELETE_HISTORY, {"ids": list(ids)})


async def clear_pointers(tx: SpaceTransaction, rows: Sequence[MemoryRow]) -> None:
    """Lets no other memory name these rows any more, so that they can go. Needs the space's lock."""
    ids = [row.memory.id for row in rows]
    await tx.execute(CLEAR_SUPERSEDED_BY, {"ids": ids})
    linked = {partner for row in rows for partner in row.memory.related_ids}
    # What fewer people may see names them, and isn't named by them.
    linked.update(await made_of(tx, ids))
    partners = sorted(linked - set(ids))
    for partner in (await read_rows(tx, "", partners)).values():
        kept = [related for related in partner.memory.related_ids if related not in ids]
        await tx.execute(SET_RELATED, {"id": partner.memory.id, "related_ids": kept})
    for flagged in await tx.fetch_all(FIND_CONFLICTS):
        kept = [other for other in flagged["conflicts_with"] if other not in ids]
        if len(kept) < len(flagged["conflicts_with"]):
            await tx.execute(SET_CONFLICTS, {"id": flagged["id"], "conflicts_with": kept})
