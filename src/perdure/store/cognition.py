"""What a space has been thought about, and what came of it: news since the last run, runs, and marks of use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from perdure.store.database import SpaceTransaction
from perdure.store.told import telling
from perdure.types import Id

Layer = Literal["reflection", "episodes", "consolidation", "transition"]
Status = Literal["done", "nothing", "failed"]

READ_STATE: Final = """
    SELECT c.last_run_at, c.seen, c.reflected, c.consolidated FROM cognition_state c WHERE c.space_id = %(space_id)s
"""

# What runs write themselves is no news. Somebody spoke last when the newest exchange or memory came in.
READ_NEWS: Final = """
    SELECT n.new, n.newest, n.shift, n.first_at, greatest(n.last_at, q.last_at) AS last_at
    FROM (
        SELECT count(*) FILTER (WHERE t.told) AS new, coalesce(max(t.memory_id), 0) AS newest,
            coalesce(bool_or(t.memory_type = 'transition' AND t.memory_id > %(consolidated)s), false) AS shift,
            min(t.created_at) FILTER (WHERE t.told) AS first_at, max(t.created_at) FILTER (WHERE t.told) AS last_at
        FROM (
            SELECT m.memory_id, m.memory_type, m.created_at,
                {told} AND {told_by_somebody} AS told
            FROM memory_state m
            JOIN memories w ON w.space_id = %(space_id)s AND w.id = m.memory_id
            WHERE m.space_id = %(space_id)s AND m.memory_id > %(seen)s AND m.superseded_at IS NULL
        ) t
    ) n,
    (SELECT max(p.enqueued_at) AS last_at FROM pending_triage p WHERE p.space_id = %(space_id)s) q
"""

FINISH: Final = """
    UPDATE cognition_state
    SET last_run_at = coalesce(%(at)s::timestamptz, last_run_at), seen = greatest(seen, %(seen)s),
        consolidated = greatest(consolidated, %(consolidated)s)
    WHERE space_id = %(space_id)s
"""

AGAIN: Final = ""
"""The mark of what a layer has to look at once more: a conclusion from it went with something that was forgotten."""

MARK_AGAIN: Final = """
    INSERT INTO cognition_marks (space_id, layer, memory_id, mark, run_id)
    SELECT %(space_id)s, %(layer)s, m.id, %(again)s, 0
    FROM memories m WHERE m.space_id = %(space_id)s AND m.id = ANY(%(ids)s)
    ON CONFLICT (space_id, layer, memory_id) DO UPDATE SET mark = excluded.mark
"""

UNMARK: Final = """
    DELETE FROM cognition_marks
    WHERE space_id = %(space_id)s AND layer = %(layer)s AND memory_id = ANY(%(ids)s)
"""

LOOKED_AGAIN: Final = """
    DELETE FROM cognition_marks WHERE space_id = %(space_id)s AND layer = %(layer)s AND mark = %(again)s
"""

SET_REFLECTED: Final = """
    UPDATE cognition_state SET reflected = greatest(reflected, %(reflected)s) WHERE space_id = %(space_id)s
"""

INSERT_RUN: Final = """
    INSERT INTO cognition_runs (space_id, layer, trigger, audience, began_at, ended_at, status, told, made_by, read_ids)
    VALUES (%(space_id)s, %(layer)s, %(trigger)s, %(audience)s, %(began_at)s, %(now)s, %(status)s, %(told)s,
            %(made_by)s, %(read_ids)s)
    RETURNING id
"""

SET_WROTE: Final = """
    UPDATE cognition_runs SET wrote_ids = %(wrote_ids)s, superseded_ids = %(superseded_ids)s
    WHERE space_id = %(space_id)s AND id = %(id)s
"""

LIST_RUNS: Final = """
    SELECT r.id, r.layer, r.trigger, r.began_at, r.ended_at, r.status, r.told, r.made_by, r.read_ids, r.wrote_ids,
        r.superseded_ids, r.undone_at
    FROM cognition_runs r
    WHERE r.space_id = %(space_id)s AND (%(id)s::bigint IS NULL OR r.id = %(id)s)
      AND (%(before)s::bigint IS NULL OR r.id < %(before)s)
      AND (%(audience)s::text IS NULL OR r.audience IS NULL OR r.audience = %(audience)s)
    ORDER BY r.id DESC LIMIT %(limit)s
"""

SET_UNDONE: Final = """
    UPDATE cognition_runs SET undone_at = %(now)s
    WHERE space_id = %(space_id)s AND id = %(id)s AND undone_at IS NULL
"""

READ_MARKS: Final = """
    SELECT k.memory_id, k.mark FROM cognition_marks k
    WHERE k.space_id = %(space_id)s AND k.layer = %(layer)s AND k.memory_id = ANY(%(ids)s)
"""

SET_MARKS: Final = """
    INSERT INTO cognition_marks (space_id, layer, memory_id, mark, run_id)
    SELECT %(space_id)s, %(layer)s, t.memory_id, t.mark, %(run_id)s
    FROM unnest(%(ids)s::bigint[], %(marks)s::text[]) AS t (memory_id, mark)
    JOIN memories m ON m.space_id = %(space_id)s AND m.id = t.memory_id
    ON CONFLICT (space_id, layer, memory_id) DO UPDATE SET mark = excluded.mark, run_id = excluded.run_id
"""


@dataclass(frozen=True, slots=True)
class ThoughtState:
    """How far a space has been thought about: ids of the last memories that a run, and two of its layers, saw."""

    last_run_at: datetime | None = None
    seen: int = 0
    reflected: int = 0
    consolidated: int = 0


@dataclass(frozen=True, slots=True)
class News:
    """What no run has seen: how many memories, the last of them, and when the first came in; when anybody last spoke.

    `newest` is 0, and the times are None, where there are none. `shift`: an upheaval is among it.
    """

    new: int
    newest: int
    shift: bool
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Run:
    """What a layer did at one time. `told` holds no word of a memory; `wrote_ids` may be gone or superseded by now."""

    id: Id
    layer: Layer
    trigger: str
    began_at: datetime
    ended_at: datetime
    status: Status
    told: str
    made_by: str | None
    read_ids: tuple[Id, ...]
    wrote_ids: tuple[Id, ...]
    superseded_ids: tuple[Id, ...]
    undone_at: datetime | None


async def read_thought_state(tx: SpaceTransaction) -> ThoughtState:
    row = await tx.fetch_one(READ_STATE)
    return ThoughtState(**row) if row else ThoughtState()


async def read_news(tx: SpaceTransaction, state: ThoughtState) -> News:
    """What came in after the last run."""
    row = await tx.fetch_one(telling(READ_NEWS), {"seen": state.seen, "consolidated": state.consolidated})
    assert row is not None
    return News(**row)


async def finish_run(tx: SpaceTransaction, *, at: datetime | None, seen: int, consolidated: int) -> None:
    """Says when a whole run began, and which memories it and consolidation saw; none of it ever goes back."""
    await tx.execute(FINISH, {"at": at, "seen": seen, "consolidated": consolidated})


async def set_reflected(tx: SpaceTransaction, newest: int) -> None:
    """Says which memory was the last that a reflection saw; in the transaction that writes what it came to."""
    await tx.execute(SET_REFLECTED, {"reflected": newest})
    await tx.execute(LOOKED_AGAIN, {"layer": "reflection", "again": AGAIN})


async def look_again(tx: SpaceTransaction, layer: Layer, ids: Sequence[int]) -> None:
    """Has a layer look at these memories in its next run, whatever they weigh and however old they are."""
    if ids:
        await tx.execute(MARK_AGAIN, {"layer": layer, "ids": list(ids), "again": AGAIN})


async def unmark(tx: SpaceTransaction, layer: Layer, ids: Sequence[int]) -> None:
    """Has a layer know nothing of having used these memories."""
    await tx.execute(UNMARK, {"layer": layer, "ids": list(ids)})


async def record_run(
    tx: SpaceTransaction,
    layer: Layer,
    trigger: str,
    *,
    began_at: datetime,
    status: Status,
    told: str,
    made_by: str | None = None,
    read_ids: Sequence[int] = (),
    audience: str | None = None,
) -> int:
    """Keeps what a layer did; returns the id of the run. `audience` is that of what it was made of."""
    row = await tx.fetch_one(
        INSERT_RUN,
        {
            "layer": layer,
            "trigger": trigger,
            "began_at": began_at,
            "status": status,
            "told": told,
            "made_by": made_by,
            "read_ids": list(read_ids),
            "audience": audience,
        },
    )
    assert row is not None
    return int(row["id"])


async def set_wrote(
    tx: SpaceTransaction, run_id: int, wrote_ids: Sequence[int], superseded_ids: Sequence[int] = ()
) -> None:
    """Keeps which memories a run wrote, and in whose place."""
    params = {"id": run_id, "wrote_ids": list(wrote_ids), "superseded_ids": list(superseded_ids)}
    await tx.execute(SET_WROTE, params)


async def list_runs(
    tx: SpaceTransaction, limit: int, audience: str | None, run_id: int | None = None, *, before: int | None = None
) -> list[Run]:
    """The last runs, newest first; with `run_id` that one, with `before` those with a lower id.

    An audience sees its own and those of the whole space; whoever holds the whole space (None), an operator, all.
    """
    rows = await tx.fetch_all(LIST_RUNS, {"id": run_id, "before": before, "limit": limit, "audience": audience})
    arrays = ("read_ids", "wrote_ids", "superseded_ids")
    return [Run(**{**row, **{name: tuple(row[name]) for name in arrays}}) for row in rows]


async def set_undone(tx: SpaceTransaction, run_id: int) -> bool:
    """Marks a run as undone; False if it was already."""
    return await tx.execute(SET_UNDONE, {"id": run_id}) > 0


async def read_marks(tx: SpaceTransaction, layer: Layer, ids: Sequence[int]) -> dict[int, str]:
    """At which content a layer has used these memories; of those that it has used."""
    rows = await tx.fetch_all(READ_MARKS, {"layer": layer, "ids": list(ids)})
    return {row["memory_id"]: row["mark"] for row in rows}


async def set_marks(tx: SpaceTransaction, layer: Layer, marks: Mapping[int, str], run_id: int) -> None:
    """Keeps at which content a layer has used memories; those that are gone by now are left out."""
    await tx.execute(SET_MARKS, {"layer": layer, "ids": list(marks), "marks": list(marks.values()), "run_id": run_id})
