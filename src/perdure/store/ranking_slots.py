"""What the ranking statements of one query are made of, and how many rows they rank exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg import sql

from perdure.rules.ranking import RankingProfile
from perdure.store.families import StoredFamily
from perdure.store.ranking_sql import double
from perdure.store.visibility import Conditions

CHOSEN_ROWS: Final = 100
"""Rows that get the exact distance and the exact lexical score, where vectors lie out of line."""

CHOSEN_ROWS_INLINE: Final = 60
BEST_ROWS_INLINE: Final = 500
LONGEST_INLINE: Final = 960
"""Halfvecs up to this length lie within their row, where an exact distance costs a tenth."""


@dataclass(frozen=True, slots=True)
class Slots:
    """What the statements of one query are made of, besides its bound parameters: the key that they are kept under.

    `common_terms` and `common_entities` say how the bits of a signature are read that stand for keys with too many
    postings to go through: one by one, with a weight each (`bit_0`, `weight_0`, ...), or all at once by a mask
    (`common_mask` and `common_weight`, `entity_mask`).
    """

    family: StoredFamily
    profile: RankingProfile
    has_vector: bool
    has_terms: bool
    has_entities: bool
    limit: int
    dense_rows: int
    asked: Conditions
    rare_terms: bool = False
    rare_entities: bool = False
    common_terms: int = 0
    common_alike: bool = False
    common_entities: bool = False

    @property
    def vector(self) -> sql.Composed:
        """The query's vector, of the family's type: the typmod can't be a parameter."""
        return sql.SQL("%(vector)s::halfvec({})").format(sql.Literal(self.family.dimensions))

    @property
    def inline(self) -> bool:
        """Whether an exact distance costs little more than looking at the row."""
        return self.has_vector and self.family.dimensions <= LONGEST_INLINE

    @property
    def best_rows(self) -> int:
        """How many rows are left by estimate; where their exact distance is cheap, it narrows them down further."""
        return BEST_ROWS_INLINE if self.inline else self.chosen_rows

    @property
    def chosen_rows(self) -> int:
        """How many candidates are ranked exactly."""
        enough = CHOSEN_ROWS_INLINE if self.inline and self.profile.turns is None else CHOSEN_ROWS
        return max(enough, self.limit + 40)


def distance(slots: Slots) -> sql.Composed:
    """The exact cosine distance; a memory that has no vector in this family counts as unrelated."""
    if not slots.has_vector:
        return double(1.0)
    return sql.SQL("coalesce(v.embedding::halfvec({dimensions}) <=> {vector}, 1)").format(
        dimensions=sql.Literal(slots.family.dimensions), vector=slots.vector
    )
