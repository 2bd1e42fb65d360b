"""Traits of the user: one value per category and key, with the memories it rests on; former values stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction
from perdure.types import Id

LIST_TRAITS: Final = """
    SELECT t.id, t.category, t.key, t.value, t.evidence_ids, t.run_id, t.began_at, t.ended_at
    FROM traits t
    WHERE t.space_id = %(space_id)s AND (%(former)s OR t.ended_at IS NULL)
    ORDER BY t.category, t.folded_key, t.id
"""

END_TRAIT: Final = """
    UPDATE traits SET ended_at = %(now)s, ended_by = %(run_id)s
    WHERE space_id = %(space_id)s AND category = %(category)s AND folded_key = %(folded_key)s AND ended_at IS NULL
"""

INSERT_TRAIT: Final = """
    INSERT INTO traits (space_id, category, key, folded_key, value, evidence_ids, run_id, began_at)
    VALUES (%(space_id)s, %(category)s, %(key)s, %(folded_key)s, %(value)s, %(evidence_ids)s, %(run_id)s, %(now)s)
"""

END_OF_RUN: Final = """
    UPDATE traits SET ended_at = %(now)s, ended_by = NULL
    WHERE space_id = %(space_id)s AND run_id = %(run_id)s AND ended_at IS NULL
"""

# A trait that somebody has set anew since stays as it is now; what the run set and ended itself was never in force.
REVIVE_OF_RUN: Final = """
    UPDATE traits t SET ended_at = NULL, ended_by = NULL
    WHERE t.space_id = %(space_id)s AND t.ended_by = %(run_id)s AND t.run_id <> %(run_id)s
      AND NOT EXISTS (
          SELECT 1 FROM traits o
          WHERE o.space_id = %(space_id)s AND o.category = t.category AND o.folded_key = t.folded_key
            AND o.ended_at IS NULL)
"""

CHANGED_BY: Final = """
    SELECT max(r.id) AS id
    FROM traits t
    JOIN cognition_runs r ON r.space_id = %(space_id)s AND r.id = t.ended_by AND r.undone_at IS NULL
    WHERE t.space_id = %(space_id)s AND t.run_id = %(run_id)s AND t.ended_by <> %(run_id)s
"""

# What a value says may be the words of any memory that it rests on, former values too.
DROP_RESTING_ON: Final = """
    DELETE FROM traits
    WHERE space_id = %(space_id)s AND evidence_ids && %(ids)s::bigint[]
    RETURNING evidence_ids, ended_at
"""

COUNT_RESTING_ON: Final = """
    SELECT count(*) AS n FROM traits WHERE space_id = %(space_id)s AND evidence_ids && %(ids)s::bigint[]
"""


@dataclass(frozen=True, slots=True)
class TraitRow:
    """A trait of one of the six categories; `ended_at` is None for as long as it holds."""

    id: Id
    category: str
    key: str
    value: str
    evidence_ids: tuple[Id, ...]
    run_id: Id
    began_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewTrait:
    """A trait to set; `folded_key` is its key spelled so that the same is equal."""

    category: str
    key: str
    folded_key: str
    value: str
    evidence_ids: tuple[int, ...]


async def list_traits(tx: SpaceTransaction, *, former: bool = False) -> list[TraitRow]:
    """The traits that hold, by category and key; with `former` those that held, too."""
    rows = await tx.fetch_all(LIST_TRAITS, {"former": former})
    return [TraitRow(**{**row, "evidence_ids": tuple(row["evidence_ids"])}) for row in rows]


async def set_trait(tx: SpaceTransaction, trait: NewTrait, run_id: int) -> None:
    """Sets one trait; what it was before stays as a former value. Needs the space's lock."""
    await end_trait(tx, trait.category, trait.folded_key, run_id)
    await tx.execute(
        INSERT_TRAIT,
        {
            "category": trait.category,
            "key": trait.key,
            "folded_key": trait.folded_key,
            "value": trait.value,
            "evidence_ids": list(trait.evidence_ids),
            "run_id": run_id,
        },
    )


async def end_trait(tx: SpaceTransaction, category: str, folded_key: str, run_id: int) -> bool:
    """Ends one trait; False if there is none. Needs the space's lock."""
    return await tx.execute(END_TRAIT, {"category": category, "folded_key": folded_key, "run_id": run_id}) > 0


async def changed_by(tx: SpaceTransaction, run_id: int) -> int | None:
    """The last run that changed or ended a trait which this one set, and still stands; None for none."""
    row = await tx.fetch_one(CHANGED_BY, {"run_id": run_id})
    assert row is not None
    return int(row["id"]) if row["id"] is not None else None


async def undo_traits(tx: SpaceTransaction, run_id: int) -> int:
    """Takes back what a run did to traits; returns how many rows changed. Needs the space's lock."""
    return await tx.execute(END_OF_RUN, {"run_id": run_id}) + await tx.execute(REVIVE_OF_RUN, {"run_id": run_id})


async def drop_resting_on(tx: SpaceTransaction, ids: Sequence[int]) -> tuple[int, set[int]]:
    """Drops traits that rest on one of these memories, former values too.

    Returns how many, and what else those that held rested on.
    """
    rows = await tx.fetch_all(DROP_RESTING_ON, {"ids": list(ids)})
    held = [row["evidence_ids"] for row in rows if row["ended_at"] is None]
    return len(rows), set().union(*held) - set(ids)


async def count_resting_on(tx: SpaceTransaction, ids: Sequence[int]) -> int:
    """How many traits, former values included, rest on one of these memories."""
    row = await tx.fetch_one(COUNT_RESTING_ON, {"ids": list(ids)})
    assert row is not None
    return int(row["n"])
