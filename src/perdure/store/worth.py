"""What a memory is worth whatever the query, by the band in its index: how far down the index is read, and for what."""

from __future__ import annotations

from typing import Final

from psycopg import sql

from perdure.rules.ranking import SEED, RankingProfile
from perdure.store.ranking_slots import Slots
from perdure.store.ranking_sql import double, terms

BANDS: Final = 200.0
"""Steps of `memory_state.prior_band` per unit of the formula."""


SALIENCE_SPAN: Final = 9
DISTANCE_SPAN: Final = 0.5
"""From the nearest memories of a space to those that have nothing to do with a query, roughly."""


def others_by_band(profile: RankingProfile) -> sql.Composed:
    """The terms besides relevance, with the band in place of those that make it up."""
    named = terms(profile)
    worth = sql.SQL("- {} * s.prior_band").format(double(profile.salience / SEED.salience / BANDS))
    return sql.SQL(" ").join([named["text"], named["entity"], worth])


def least_band(slots: Slots) -> sql.Composed | None:
    """How far down the worthiest rows are read; None when the profile gives nothing for what a memory is worth.

    `prior_band` uses the mission's weights. A profile's own prior is at most `ratio` times that, besides the `slack`.
    """
    profile = slots.profile
    ratio = max(
        profile.salience / SEED.salience,
        profile.usefulness / SEED.usefulness,
        profile.confidence / SEED.confidence,
        profile.popularity / SEED.popularity,
    )
    if ratio <= 0:
        return None
    if not slots.has_vector:
        return sql.SQL("-32768").format()
    return sql.SQL(
        "(SELECT coalesce(greatest(-32768, least(32767,"
        " floor({bands} * (b.worth - %(slack)s::double precision) / {ratio}))), -32768) FROM bound b)::smallint"
    ).format(bands=double(BANDS), ratio=double(ratio))


def worth_decides(slots: Slots) -> bool:
    """Whether what memories are worth spans more than their distances from a query do."""
    return (
        not slots.has_vector or SALIENCE_SPAN * slots.profile.salience > DISTANCE_SPAN * slots.profile.distance_weight
    )


def slack(profile: RankingProfile, text: float) -> float:
    """What may lift a row over its prior by band: recency, and the words that are too common to go through."""
    share = 1 - 1 / (1 + profile.text_divisor * text)
    return profile.recency + profile.text_weight * text + 0.5 * share
