"""How near a row is and what it says, roughly: read off the sketch and the signature in the row `m` of memory_state.

What they say only chooses candidates (`candidates`); `sketches` makes them.
"""

from __future__ import annotations

from math import pi
from typing import Final

from psycopg import sql

from perdure.rules.ranking import TextTerm
from perdure.store.ranking_slots import Slots
from perdure.store.ranking_sql import double
from perdure.store.sketches import SIGNATURE_BITS, SKETCH_BITS

MOST_SIGNATURE_BITS: Final = 12

WEIGHED_BITS: Final = 4
"""Bits that a statement reads one by one, where each term has a weight of its own."""

SKETCH_ERROR: Final = 0.16
"""About twice the standard deviation of a distance that is told by a sketch of 256 bits."""


# Going through postings for every one of the nearest rows would take longer than finding them.
HINTED_BM25: Final = """
    CASE WHEN bit_count(m.signature & %(terms_mask)s::bit({bits})) > 0 THEN (
        SELECT coalesce(sum(q.weight), 0)
        FROM unnest(%(positions)s::integer[], %(once)s::double precision[]) AS q (position, weight)
        WHERE get_bit(m.signature, q.position) = 1) ELSE 0 END
"""


def told(bits: sql.Composable) -> sql.Composed:
    """The distance that a number of differing bits tells."""
    return sql.SQL("1 - cos({} * ({}))").format(double(pi / SKETCH_BITS), bits)


def sketched(slots: Slots) -> sql.Composed:
    """The distance that the sketch of `m` tells; without a sketch a memory counts as unrelated."""
    if not slots.has_vector:
        return double(1.0)
    return sql.SQL("coalesce({}, 1)").format(told(_differing_bits()))


def looked_up(slots: Slots) -> sql.Composed:
    """The same from the table `told`, by the number of differing bits: thousands of rows share 257 values."""
    if not slots.has_vector:
        return double(1.0)
    return sql.SQL("coalesce((SELECT t.distances FROM told t)[1 + ({})::integer], 1)").format(_differing_bits())


def _differing_bits() -> sql.Composed:
    return sql.SQL("m.sketch <~> %(sketch)s::bit({})").format(sql.Literal(SKETCH_BITS))


def judged(slots: Slots) -> sql.Composed:
    """`s.distance` of a row that the nearest rows don't include, corrected by what that says about it.

    It is at least as far as they reach, and within the error of a sketch it is better judged by what else is known of
    it. Only where the sketch contradicts them outright has the index missed a whole region, and the sketch is believed.
    """
    if not slots.has_vector:
        return sql.SQL("s.distance").format()
    return sql.SQL(
        "CASE WHEN s.distance < (SELECT b.reach FROM bound b) - 2 * {error} THEN s.distance"
        " ELSE greatest((SELECT b.reach FROM bound b), s.distance - {error}) END"
    ).format(error=double(SKETCH_ERROR))


def signed_text(slots: Slots) -> sql.Composed:
    """What the common terms that the signature of `m` names add to its lexical score."""
    if not slots.common_terms or not slots.has_terms:
        return double(0.0)
    if slots.profile.text is TextTerm.TS_RANK:
        return sql.SQL(
            "coalesce(bit_count(m.signature & %(common_mask)s::bit({})) * %(common_weight)s::double precision, 0)"
        ).format(sql.Literal(SIGNATURE_BITS))
    parts = [
        sql.SQL("get_bit(m.signature, {}::integer) * {}::double precision").format(
            sql.Placeholder(f"bit_{i}"), sql.Placeholder(f"weight_{i}")
        )
        for i in range(WEIGHED_BITS)
    ]
    return sql.SQL("coalesce({}, 0)").format(sql.SQL(" + ").join(parts))


def signed_entity(slots: Slots) -> sql.Composed:
    """1 where the signature of `m` names one of the common entities, else 0."""
    if not slots.common_entities or not slots.has_entities:
        return sql.SQL("0").format()
    return sql.SQL("coalesce(least(1, bit_count(m.signature & %(entity_mask)s::bit({}))), 0)").format(
        sql.Literal(SIGNATURE_BITS)
    )


def hinted_text(slots: Slots) -> sql.Composed:
    """What all of the query's terms that the signature of `m` names add, each of them once."""
    if not slots.has_terms:
        return double(0.0)
    if slots.profile.text is TextTerm.TS_RANK:
        return signed_text(slots)
    return sql.SQL(HINTED_BM25).format(bits=sql.Literal(SIGNATURE_BITS))
