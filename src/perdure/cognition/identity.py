"""The identity card of a space: the one live memory of that type, whose former versions stay behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from perdure.cognition.conclusion import Thinking, Written, evidence_of, prepared, store
from perdure.ingest import PROFILE, Draft
from perdure.rules.identity import Profile, as_data, card, fitting, from_data
from perdure.store.changes import relate, supersede
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, NewText, read_rows
from perdure.store.spaces import SpaceRow
from perdure.store.thoughts import live_of_type, set_successor
from perdure.types import MemoryType, StoredMemory, Trust

SALIENCE: Final = 10.0
"""Of identity (mission: 10); it never decays."""
MOST_BYTES: Final = 1200
"""Bytes of UTF-8 of the card's text: it is one memory, however small chunks are set to be."""
NEWER: Final = "a newer version"


@dataclass(frozen=True, slots=True)
class Identity:
    """The card as it is, and the memory that holds it; None before the first."""

    profile: Profile = field(default_factory=Profile)
    row: MemoryRow | None = None


async def read_identity(tx: SpaceTransaction, space: SpaceRow) -> Identity:
    """The live identity of a space."""
    rows = await read_rows(tx, space.name, await live_of_type(tx, MemoryType.IDENTITY, None, 1))
    for row in rows.values():
        data = row.memory.metadata.get(PROFILE)
        return Identity(from_data(data) if isinstance(data, Mapping) else Profile(), row)
    return Identity()


async def prepare_version(
    thinking: Thinking, profile: Profile, rests_on: Sequence[StoredMemory], *, made_by: str, observed: datetime
) -> NewText | None:
    """The card, ready to be stored as a new version; None for an empty one."""
    fit = fitting(profile, MOST_BYTES)
    text = card(fit)
    if not text:
        return None
    draft = Draft(
        text=text,
        source="consolidation",
        trust=Trust.DERIVED,
        source_date=observed,
        memory_type=MemoryType.IDENTITY,
        salience=SALIENCE,
        metadata={PROFILE: as_data(fit)},
        evidence=evidence_of(rests_on),
        made_by=made_by,
    )
    whole = await prepared(thinking, draft, max_chunk_bytes=MOST_BYTES)
    return NewText(tuple(replace(chunk, content_hash=None) for chunk in whole.chunks))


async def write_version(
    tx: SpaceTransaction, thinking: Thinking, before: Identity, version: NewText | None, rests_on: Sequence[int]
) -> Written:
    """Puts a new version in the place of the one before. Needs the space's lock."""
    old = [] if before.row is None else [before.row]
    ids = tuple(row.memory.id for row in old)
    await supersede(tx, old, None, reason=NEWER, changed_by="consolidation", at=tx.now)
    if version is None:
        return Written(superseded=ids)
    made = await store(tx, thinking.resources, thinking.space, version)
    await set_successor(tx, ids, made[0])
    await relate(tx, made, rests_on)
    return Written(made, ids)
