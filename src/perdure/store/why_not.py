"""Where one memory stands for a query, among all that the query may return: always over every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from perdure.store.database import SpaceTransaction
from perdure.store.ranking import RankedRow, RankQuery, prepare, rank_one
from perdure.store.ranking_statements import place_statement


@dataclass(frozen=True, slots=True)
class Place:
    """The ranked row of a memory, and its place among the `visible` rows, 1 being the first.

    `arms` are the places it has in what each arm of a large space looks for: nearness (dense), words (text), what it is
    worth whatever the query (prior). An arm that can't bring it is not named: no word of the query, for one.
    """

    row: RankedRow
    place: int
    visible: int
    arms: Mapping[str, int]


async def place_of(tx: SpaceTransaction, query: RankQuery, memory_id: int) -> Place | None:
    """The place of a memory by the formula; None if the query may not return it."""
    row = await rank_one(tx, query, memory_id)
    if row is None:
        return None
    ready = await prepare(tx, replace(query, exact=True))
    (counted,) = await tx.fetch_all(place_statement(ready.slots), {**ready.params, "sought": memory_id}, prepare=False)
    named = {"dense": query.vector is not None, "text": row.text_rank > 0, "prior": True}
    arms = {arm: counted[arm] for arm, brings in named.items() if brings}
    if row.entity_match:
        arms["entity"] = 1
    return Place(row, counted["place"], counted["visible"], arms)
