"""Old news: what was said before it was replaced, or forgotten, doesn't come back when it arrives late.

Of what was forgotten a digest is kept and no words (decision 0011). Said anew afterwards it is news again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.ingest.drafts import Draft, content_hash, excerpt_of
from perdure.store.bygone import find_replaced, forgotten_at, keep_traces, words_of
from perdure.store.database import SpaceTransaction
from perdure.store.evidence import last_observed
from perdure.store.memories import MemoryRow, NewText, read_rows
from perdure.store.spaces import SpaceRow
from perdure.text import fold, says_something

FORGOTTEN: Final = "it was forgotten meanwhile"
REPLACED: Final = "what took its place is newer"
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Told:
    """A draft, ready to be stored, with when what it says was known; None is before anything else.

    `said` are the words that it was taken from, where its evidence shows others.
    """

    draft: Draft
    text: NewText
    observed: datetime | None
    said: str = ""


def trace(space: SpaceRow, audience: str | None, words: str) -> bytes:
    """The digest of words: the same for the same words to the same audience, however they are written."""
    said = " ".join(fold(words).split())
    return hashlib.blake2b(f"{space.id}\0{audience or ''}\0{said}".encode(), digest_size=_DIGEST_BYTES).digest()


async def keep_trace_of(tx: SpaceTransaction, space: SpaceRow, rows: Sequence[MemoryRow], *, made_of: str) -> None:
    """Keeps digests of memories that are about to be erased, and of what they rest on, unless that was small talk."""
    audiences = {row.memory.id: row.memory.audience for row in rows}
    words = [(row.memory.id, row.memory.summary) for row in rows]
    rested_on = await words_of(tx, list(audiences), made_of=made_of)
    words += [(memory_id, said) for memory_id, said in rested_on if says_something(said)]
    await keep_traces(tx, {trace(space, audiences[memory_id], said) for memory_id, said in words})


async def forgotten(
    tx: SpaceTransaction, space: SpaceRow, audience: str | None, said: Sequence[tuple[str, datetime | None]]
) -> set[int]:
    """Which of these words, by their place, were forgotten after they were said. What they begin with tells."""
    traces = [trace(space, audience, excerpt_of(words)) for words, _ in said]
    known = await forgotten_at(tx, set(traces))
    return {
        place
        for place, (digest, (_, when)) in enumerate(zip(traces, said, strict=True))
        if digest in known and (when is None or when <= known[digest])
    }


async def old_news(
    tx: SpaceTransaction, space: SpaceRow, told: Sequence[Told], *, replaced: bool = True
) -> dict[int, str]:
    """Which of these must not be stored, by their place, and why. Needs the space's lock.

    Args:
        replaced: look for what took the place of the same words, too; not where a verdict is asked.
    """
    reasons = await _replaced(tx, space, told) if replaced else {}
    return reasons | dict.fromkeys(await _forgotten(tx, space, told), FORGOTTEN)


async def _forgotten(tx: SpaceTransaction, space: SpaceRow, told: Sequence[Told]) -> Iterable[int]:
    """Those whose words, all their chunks, or the words that they rest on were forgotten after they were said."""

    def traces(one: Told, words: Iterable[str]) -> set[bytes]:
        return {trace(space, one.draft.audience, each) for each in words}

    own = [traces(one, (chunk.summary for chunk in one.text.chunks)) for one in told]
    rests = [traces(one, [excerpt_of(one.said), *(each.excerpt for each in one.draft.evidence)]) for one in told]
    known = await forgotten_at(tx, set().union(*own, *rests))
    return [
        place
        for place, one in enumerate(told)
        if any(
            digests <= known.keys() and (one.observed is None or one.observed <= min(known[each] for each in digests))
            for digests in (own[place], *({each} for each in rests[place]))
        )
    ]


async def _replaced(tx: SpaceTransaction, space: SpaceRow, told: Sequence[Told]) -> dict[int, str]:
    """Those in the words of a tombstone that were said before what took its place, and don't live under any other."""
    keys = [
        {(one.draft.audience, content_hash(one.draft.text, speaker)) for speaker in (one.draft.speaker, None)}
        for one in told
    ]
    tombstones = await find_replaced(tx, [key for each in keys for key in each])
    if not tombstones:
        return {}
    reasons: dict[int, str] = {}
    for place, one in enumerate(told):
        for key in keys[place] & tombstones.keys():
            newest = await _known_since(tx, space, tombstones[key])
            if one.observed is None or one.observed <= newest:
                reasons[place] = REPLACED
    return reasons


async def _known_since(tx: SpaceTransaction, space: SpaceRow, tombstones: Sequence[int]) -> datetime:
    """When what took the place of these memories, or of what had taken it, was last known to be so."""
    newest: list[datetime] = []
    seen: set[int] = set()
    wanted = set(tombstones)
    while wanted:
        seen |= wanted
        rows = await read_rows(tx, space.name, sorted(wanted))
        heard = await last_observed(tx, sorted(wanted))
        for memory_id, row in rows.items():
            memory = row.memory
            if memory.superseded_at is not None and memory.superseded_by is None:
                newest.append(memory.superseded_at)
            if memory_id not in tombstones:
                newest.append(heard.get(memory_id, min(memory.source_date, memory.created_at)))
        wanted = {row.memory.superseded_by for row in rows.values() if row.memory.superseded_by} - seen
    return max(newest)
