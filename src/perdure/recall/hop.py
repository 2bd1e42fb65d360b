"""The entity hop of a search: what a hit names may be what the question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from perdure.recall.gathering import Found
from perdure.recall.retrieval import Question, calibrated, family_as_measured, hit_of
from perdure.resources import Resources
from perdure.rules.hop import HOP_ROWS, hopped, too_common
from perdure.rules.ranking import RankingProfile
from perdure.store.database import SpaceTransaction
from perdure.store.hop import Sharing, sharing
from perdure.store.memories import read_rows
from perdure.store.ranking import MAX_LIMIT, RankedRow, RankQuery, distance_scale, rank_these
from perdure.store.spaces import SpaceRow
from perdure.text import entity_key
from perdure.types import Filters

LEADING: Final = 5
"""Hits whose entities are followed: as many as one query brings (mission)."""

LOOKED_AT: Final = 12
"""Rows that are read to find three which are no chunks of what was found already."""


async def hop(
    tx: SpaceTransaction,
    resources: Resources,
    space: SpaceRow,
    asked: Question,
    found: Sequence[Found],
    *,
    seen: Sequence[int],
    memories: int,
    audience: str | None,
    filters: Filters,
    profile: RankingProfile,
) -> list[Found]:
    """At most 3 memories that share an entity with the best hits, judged 0.8 times as near as what led to them.

    `found` is in order and without repeats; `seen` are the ids of all that was found. Audience and filters are those of
    the search. Names that the question has itself lead nowhere: it found theirs. Nor do those that many of the space's
    `memories` carry.
    """
    leads = _leads(asked, found)
    sharers = await sharing(
        tx,
        list(leads),
        audience=audience,
        filters=filters,
        common=too_common(memories),
        excluding=seen,
    )
    if not sharers:
        return []
    calibration, family = await family_as_measured(tx, resources, space)
    query = RankQuery(
        family, asked.vector, asked.terms, asked.entity_keys, profile, audience, filters, min(MAX_LIMIT, len(sharers))
    )
    ranked = await rank_these(tx, query, [one.memory_id for one in sharers])
    scale = distance_scale(profile, family)
    led = {one.memory_id: _nearest(leads, one) for one in sharers}
    stepped = [(_after_the_step(row, led[row.memory_id], profile, scale), row) for row in ranked.rows]
    stepped.sort(key=lambda pair: (pair[0].rank, -pair[0].memory_id))
    rows = await read_rows(tx, space.name, [row.memory_id for row, _ in stepped[:LOOKED_AT]])
    roots = {one.hit.memory.chunk_of or one.hit.memory.id for one in found}
    reached: list[Found] = []
    for row, before in stepped[:LOOKED_AT]:
        memory = rows[row.memory_id].memory
        if (memory.chunk_of or memory.id) in roots:
            continue
        roots.add(memory.chunk_of or memory.id)
        lead = led[memory.id]
        hit = replace(
            hit_of(memory, row, calibration),
            similarity=hopped(calibrated(calibration, before.similarity), lead.hit.similarity),
            led_by=lead.hit.memory.id,
            shared=_shared(leads, lead, memory.entities),
        )
        reached.append(Found(hit, row))
    return reached[:HOP_ROWS]


def _leads(asked: Question, found: Sequence[Found]) -> dict[str, Found]:
    """The entities that may lead on, each with the hit that names it and is nearest."""
    leads: dict[str, Found] = {}
    for one in sorted(found[:LEADING], key=lambda one: -one.row.similarity):
        for entity in one.hit.memory.entities:
            key = entity_key(entity)
            if key and key not in asked.entity_keys:
                leads.setdefault(key, one)
    return leads


def _nearest(leads: Mapping[str, Found], one: Sharing) -> Found:
    return max((leads[key] for key in one.keys), key=lambda lead: lead.row.similarity)


def _shared(leads: Mapping[str, Found], lead: Found, entities: Sequence[str]) -> tuple[str, ...]:
    return tuple(entity for entity in entities if leads.get(entity_key(entity)) is lead)


def _after_the_step(row: RankedRow, lead: Found, profile: RankingProfile, scale: float) -> RankedRow:
    """The row as the formula ranks it once its distance is that of the step."""
    near = hopped(1 - row.distance * scale, 1 - lead.row.distance * scale)
    relevance = profile.distance_weight * (1 - near) / (1 + profile.text_divisor * row.text_rank)
    terms = {**row.contributions, "relevance": relevance}
    return replace(row, rank=sum(terms.values()), contributions=terms, arms=("hop",))
