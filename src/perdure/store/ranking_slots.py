"""What the ranking statements of one query are made of, and how many rows they rank exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg import sql

from perdure.rules.ranking import RankingProfile, TextTerm
from perdure.store.families import StoredFamily
from perdure.store.ranking_sql import double, posting_score
from perdure.store.sketches import SIGNATURE_BITS
from perdure.store.visibility import Conditions

CHOSEN_ROWS: Final = 100
"""Rows that get the exact lexical score, and the exact distance where vectors lie out of line."""

CHOSEN_ROWS_INLINE: Final = 60
CHOSEN_IN_TURNS: Final = (30, 3)
"""The same where turns lend to each other, which looks at six more rows for each: so many, and as many for each row
that is needed. Measured for the overlap with the plain ORDER BY that it costs (docs/benchmarks.md)."""

WORTHY_INLINE: Final = 500
FOUND_INLINE: Final = 60
"""Rows that get their exact distance, and with BM25 their exact lexical score, before the candidates are chosen."""

LONGEST_INLINE: Final = 960
"""Halfvecs up to this length lie within their row, where an exact distance costs a tenth."""


# The mission's lexical score, for the rows that have a posting: every other row's is 0.
TS_RANK: Final = "ts_rank(w.summary_tsv, to_tsquery('pg_catalog.simple', %(tsquery)s))::double precision"

# A signature that names none of the words, as most of the turns around a candidate have, spares looking them up.
PROBED_BM25: Final = """
    CASE WHEN bit_count(m.signature & %(terms_mask)s::bit({bits})) = 0 THEN 0 ELSE coalesce((
        SELECT sum({posting})
        FROM unnest(%(terms)s::text[], %(weights)s::double precision[], %(positions)s::integer[])
            AS q (term, weight, position)
        JOIN memory_terms p ON p.space_id = %(space_id)s AND p.term = q.term AND p.memory_id = m.memory_id
        WHERE coalesce(get_bit(m.signature, q.position), 1) = 1), 0) END
"""


@dataclass(frozen=True, slots=True)
class Slots:
    """What the statements of one query are made of, besides its bound parameters: the key that they are kept under.

    As few shapes as can be, since each is planned anew on every connection. `common_terms` and `common_entities` say
    whether the bits of a signature are read that stand for keys with too many postings to go through.
    """

    family: StoredFamily
    profile: RankingProfile
    has_vector: bool
    has_terms: bool
    has_entities: bool
    limit: int
    needed: int
    dense_rows: int
    asked: Conditions
    common_terms: bool = False
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
    def chosen_rows(self) -> int:
        """How many candidates are ranked exactly."""
        if self.inline and self.profile.turns is not None:
            least, each = CHOSEN_IN_TURNS
            return max(least + each * self.needed, self.limit)
        return max(CHOSEN_ROWS_INLINE if self.inline else CHOSEN_ROWS, self.limit + 40)

    @property
    def worthy_kept(self) -> int:
        """How many of the worthiest rows are candidates, by estimate."""
        return WORTHY_INLINE if self.inline else self.chosen_rows

    @property
    def found_kept(self) -> int:
        """How many of the rows found by words and entities are candidates, by estimate."""
        return max(FOUND_INLINE, self.limit) if self.inline else self.chosen_rows


def distance(slots: Slots) -> sql.Composed:
    """The exact cosine distance; a memory that has no vector in this family counts as unrelated."""
    if not slots.has_vector:
        return double(1.0)
    return sql.SQL("coalesce(v.embedding::halfvec({dimensions}) <=> {vector}, 1)").format(
        dimensions=sql.Literal(slots.family.dimensions), vector=slots.vector
    )


def lexical_score(slots: Slots) -> sql.Composed:
    """The exact lexical score of the row `m` of memory_state, whose wide row is `w`."""
    if not slots.has_terms:
        return double(0.0)
    if slots.profile.text is TextTerm.TS_RANK:
        return sql.SQL(TS_RANK).format()
    return sql.SQL(PROBED_BM25).format(posting=posting_score(slots.profile), bits=sql.Literal(SIGNATURE_BITS))
