"""Where one memory fell out: asked of a recall or of a search, which are carried out as they always are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from perdure import ingest
from perdure.recall.gathering import standing
from perdure.recall.gating import bar_of, read_gates
from perdure.recall.prefetch import Turn, prefetch
from perdure.recall.retrieval import Question, configured_profile, family_as_measured, hit_of, question
from perdure.recall.search import Sought, search
from perdure.resources import Resources
from perdure.rules.audience import may_see
from perdure.rules.distinct import distinct
from perdure.rules.trajectory import trajectory
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, read_rows
from perdure.store.ranking import RankQuery
from perdure.store.ranking_counts import read_counts
from perdure.store.spaces import SpaceRow
from perdure.store.visibility import facets_of
from perdure.store.why_not import Place, place_of
from perdure.text import truncate_chars
from perdure.types import HIDDEN_TYPES, Filters, GateReading, Hit, LeftOut, StoredMemory, WhyNot

PATIENCE_S: Final = 30.0
"""For the recall or search that is looked into: whoever asks why isn't waiting for a reply."""

_ARMS: Final = {"dense": "by meaning", "text": "by its words", "entity": "by a name", "prior": "by weight and age"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked into: the recall of a turn, or, `searched`, a search for its message."""

    memory_id: int
    turn: Turn
    searched: bool = False


@dataclass(frozen=True, slots=True)
class _CarriedOut:
    """What came of the recall or search itself."""

    returned: tuple[Hit, ...]
    left_out: tuple[LeftOut, ...]
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the database says of the memory. `place` is None where the query may not return it."""

    row: MemoryRow
    successor: int | None
    place: Place | None
    hit: Hit | None
    gate: GateReading | None


async def why_not(resources: Resources, space: SpaceRow, asked: Asked) -> WhyNot:
    """Carries the recall or search out and says what became of one memory in it.

    Raises:
        EmbeddingUnavailable, EmbeddingFailed, FamilyMismatch, DatabaseUnavailable.
    """
    turn = asked.turn
    carried = await _carried_out(resources, space, asked)
    meant = turn.message if asked.searched else trajectory(turn.history, turn.message, cut=truncate_chars)
    vectors = await resources.embedder.embed([meant, turn.message], "query")

    async def read(tx: SpaceTransaction) -> _Seen | None:
        one = question(turn.message, vectors[0], tx.now)
        return await _look(tx, resources, space, asked, one, vectors=vectors)

    seen = await resources.database.in_space(space.id, read)
    blank = WhyNot(asked.memory_id, turn.message, "not_there", "", limit=turn.limit)
    if seen is None:
        return replace(blank, detail=f"There is no memory {asked.memory_id} for this audience.")
    found = replace(
        blank,
        hit=seen.hit,
        place=seen.place.place if seen.place else None,
        visible=seen.place.visible if seen.place else None,
        arms=seen.place.arms if seen.place else {},
        ahead=tuple((hit.memory.id, hit.score) for hit in carried.returned if hit.memory.id != asked.memory_id),
        gate=seen.gate,
    )
    return _judged(found, seen, asked, carried)


def _judged(found: WhyNot, seen: _Seen, asked: Asked, carried: _CarriedOut) -> WhyNot:
    """The first reason that holds, in the order in which a memory meets them."""
    returned, degraded = carried.returned, carried.degraded
    numbers = [number for number, hit in enumerate(returned, 1) if hit.memory.id == asked.memory_id]
    if numbers:
        return replace(found, fate="returned", detail=f"It was returned, at place {numbers[0]} of {len(returned)}.")
    shut_out = _shut_out(found, seen, asked)
    if shut_out is not None:
        return shut_out
    if degraded and not returned:
        return replace(found, fate="failed", detail=f"Nothing could be returned: {'; '.join(degraded)}")
    dropped = next((one for one in carried.left_out if one.id == asked.memory_id), None)
    if dropped is not None:
        return _dropped(found, dropped, asked)
    return _left_behind(found, seen, asked, returned)


def _shut_out(found: WhyNot, seen: _Seen, asked: Asked) -> WhyNot | None:
    """Of a memory that the query may not return."""
    memory = seen.row.memory
    if memory.superseded_at is not None:
        by = f"Memory {seen.successor} took its place" if seen.successor else "It was closed"
        reason = f": {memory.superseded_reason}" if memory.superseded_reason else ""
        detail = f"{by} on {memory.superseded_at:%Y-%m-%d %H:%M} UTC{reason}."
        return replace(found, fate="superseded", detail=detail, superseded_by=seen.successor)
    if memory.memory_type in HIDDEN_TYPES and asked.turn.filters.memory_type is None:
        detail = f"Memories of type {memory.memory_type} are found only by asking for that type."
        return replace(found, fate="hidden", detail=detail)
    misfits = _misfits(seen.row, asked.turn.filters)
    if misfits:
        return replace(found, fate="filtered", detail=f"It does not fit: {', '.join(misfits)}.", filters=misfits)
    return None


def _dropped(found: WhyNot, dropped: LeftOut, asked: Asked) -> WhyNot:
    """Of a memory that passed the gate of a recall and got no place."""
    match dropped.why:
        case "repeated":
            detail = f"It says again what memory {dropped.beside} says, or is a part of it."
        case "alike":
            detail = f"It may say the same as memory {dropped.beside}, and {asked.turn.limit} others were to be said."
        case "over_budget":
            detail = f"It costs about {dropped.tokens} tokens, more than was left (PERDURE_RECALL_TOKEN_BUDGET)."
    return replace(found, fate="over_budget" if dropped.why == "over_budget" else "repeated", detail=detail)


def _left_behind(found: WhyNot, seen: _Seen, asked: Asked, returned: Sequence[Hit]) -> WhyNot:
    """Of a memory that could have been returned."""
    assert seen.place is not None
    twin = next((hit.memory.id for hit in returned if _repeats(seen.row.memory, hit.memory)), None)
    if twin is not None:
        return replace(found, fate="repeated", detail=f"It says again what memory {twin} says, or is a part of it.")
    where = f"place {seen.place.place:,} of {seen.place.visible:,} by the formula"
    stopped = seen.gate is not None and not seen.gate.passed
    gate = _gate_detail(seen.gate) if seen.gate is not None and stopped else ""
    if seen.place.place > asked.turn.limit:
        also = f" Nor would it pass the gate: {gate}" if stopped else ""
        return replace(found, fate="behind", detail=f"It stands at {where}; {asked.turn.limit} are returned.{also}")
    if stopped:
        return replace(found, fate="below_the_gate", detail=gate)
    arms = ", ".join(f"{_ARMS[arm]} it is number {place:,}" for arm, place in seen.place.arms.items())
    return replace(found, fate="not_a_candidate", detail=f"It would stand at {where}, but was not looked at: {arms}.")


async def _carried_out(resources: Resources, space: SpaceRow, asked: Asked) -> _CarriedOut:
    turn = asked.turn
    if asked.searched:
        sought = Sought(turn.audience, turn.filters, turn.limit)
        result = await search(resources, space, turn.message, sought, deadline_s=PATIENCE_S)
        return _CarriedOut(result.hits, (), result.degraded)

    async def find_turn() -> tuple[SpaceRow, Turn]:
        return space, turn

    recalled = await prefetch(resources, find_turn, turn.message, deadline_s=PATIENCE_S)
    return _CarriedOut(recalled.memories, recalled.left_out, recalled.degraded)


async def _look(
    tx: SpaceTransaction, resources: Resources, space: SpaceRow, asked: Asked, one: Question, *, vectors: np.ndarray
) -> _Seen | None:
    rows = await read_rows(tx, space.name, [asked.memory_id])
    row = rows.get(asked.memory_id)
    if row is None or not may_see(asked.turn.audience, row.memory.audience):
        return None
    successor = await _visible(tx, row.memory.superseded_by, asked.turn.audience)
    calibration, family = await family_as_measured(tx, resources, space)
    turn, profile = asked.turn, configured_profile(resources)
    query = RankQuery(family, one.vector, one.terms, one.entity_keys, profile, turn.audience, turn.filters, turn.limit)
    place = await place_of(tx, query, asked.memory_id)
    if place is None:
        return _Seen(row, successor, None, None, None)
    hit = hit_of(row.memory, place.row, calibration, query=one.text)
    gate = None
    if not asked.searched and resources.settings.relevance_gate:
        counts = await read_counts(
            tx, terms=one.terms, entity_keys=(), filters=Filters(), audience=asked.turn.audience, facets=()
        )
        memories = counts.memories
        bar = await bar_of(
            tx, resources, space, message=turn.message, history=turn.history, vectors=vectors, memories=memories
        )
        (gate,) = read_gates(bar, [place.row], one.terms, counts.of_terms, memories)
    return _Seen(row, successor, place, hit, gate)


async def _visible(tx: SpaceTransaction, memory_id: int | None, audience: str | None) -> int | None:
    if memory_id is None:
        return None
    row = (await read_rows(tx, "", [memory_id])).get(memory_id)
    return memory_id if row is not None and may_see(audience, row.memory.audience) else None


def _misfits(row: MemoryRow, filters: Filters) -> tuple[str, ...]:
    """The names of the filters that a memory doesn't fit."""
    memory = row.memory
    facets = set(ingest.stored_postings(row).facets)
    wanted = {
        "tags": facets_of(Filters(tags=filters.tags)),
        "source": facets_of(Filters(source=filters.source)),
        "speaker": facets_of(Filters(speaker=filters.speaker)),
        "metadata": facets_of(Filters(metadata=filters.metadata)),
    }
    misfits = [name for name, keys in wanted.items() if not facets.issuperset(keys)]
    if filters.memory_type not in {None, memory.memory_type}:
        misfits.append("memory_type")
    if filters.conversation_id not in {None, memory.conversation_id}:
        misfits.append("conversation_id")
    if filters.since is not None and memory.source_date < filters.since:
        misfits.append("since")
    if filters.until is not None and memory.source_date >= filters.until:
        misfits.append("until")
    return tuple(misfits)


def _repeats(memory: StoredMemory, other: StoredMemory) -> bool:
    return distinct([standing(other), standing(memory)]).kept == (other.id,)


def _gate_detail(gate: GateReading) -> str:
    if not gate.asks:
        return "The message asks for nothing, so that nothing is worth adding."
    shared = f"sharing {gate.share:.0%} of the message's words{' and a name' if gate.name else ''}"
    if gate.noise is None:
        return f"Nobody can tell yet what its cosine of {gate.cosine:.3f} means, and {shared} is too little by itself."
    return f"Its cosine to the turn is {gate.cosine:.3f} and, {shared}, has to exceed {gate.noise:.3f}."
