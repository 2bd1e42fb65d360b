"""Truth over time: what was judged is written as one plan, in the transaction that holds the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from perdure.ingest.contradiction import Judge, Judged, named_in, speakers, who
from perdure.ingest.keys import facets_of
from perdure.ingest.writing import write_texts
from perdure.resources import Resources
from perdure.rules.verdicts import DUPLICATE, Plan, Side, plan
from perdure.store.changes import flag_conflict, merge_into, supersede
from perdure.store.database import SpaceTransaction
from perdure.store.decay import read_settled
from perdure.store.memories import MemoryRow, NewText, read_evidence, read_rows
from perdure.store.spaces import SpaceRow
from perdure.text import fold
from perdure.types import Merged, Outcome, Stored, Superseded, Trust

NOT_STORED_YET: Final = 2**63 - 1
"""The id of a new memory as far as verdicts are concerned: it came in last."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a text: `ids` are its chunks if it was stored, none if it was merged.

    `survivor` is the first chunk of what now says it; `live` tells whether that still counts.
    """

    outcomes: tuple[Outcome, ...]
    ids: tuple[int, ...]
    survivor: int
    live: bool


async def write_judged(
    tx: SpaceTransaction, resources: Resources, space: SpaceRow, text: NewText, judge: Judge, *, by: str
) -> Kept:
    """Stores or merges a text, and makes tombstones of what it outdates, or of itself. `by` goes into the history.

    Raises:
        Unjudged: something came in meanwhile. FamilyMismatch: see `write_texts`.
    """
    judged = await judge.judged(tx)
    subject = judge.subject
    new = Side(
        NOT_STORED_YET,
        subject.trust,
        subject.observed,
        subject.audience,
        speaker=who(subject.speaker),
        names=named_in(subject.text, speakers([one.candidate.side for one in judged])),
    )
    found = plan(new, [(one.candidate.side, one.verdict) for one in judged])
    by_id = {one.candidate.id: one for one in judged}

    ids: tuple[int, ...] = ()
    first: Stored | Merged
    if found.merge_into is not None:
        target = by_id[found.merge_into]
        await merge_into(tx, target.candidate.rows, text, made_by=target.made_by)
        first, survivor = Merged(found.merge_into), found.merge_into
    else:
        same = [by_id[old] for old in found.superseded if by_id[old].verdict == DUPLICATE]
        (first,) = await write_texts(tx, resources, space, [await _united(tx, text, same)])
        ids, survivor = (first.ids, first.ids[0]) if isinstance(first, Stored) else ((), first.id)
    outdated = await carry_out(tx, space, found, survivor, by_id, by=by)
    return Kept((first, *outdated), ids, survivor, found.superseded_by is None)


async def _united(tx: SpaceTransaction, text: NewText, same: Sequence[Judged]) -> NewText:
    """The text with tags, evidence and the greater salience of those that say the same and whose place it takes."""
    if not same:
        return text
    olds = [one.candidate.rows[0].memory for one in same]
    # What strangers wrote bears it out, but doesn't say what it is about or how much it weighs.
    own = [old for old in olds if old.trust is not Trust.EXTERNAL or text.chunks[0].trust is Trust.EXTERNAL]
    tags: dict[str, str] = {}
    for tag in (*text.chunks[0].tags, *(tag for old in own for tag in old.tags)):
        tags.setdefault(fold(tag), tag)
    evidence = [item for old in olds for item in await read_evidence(tx, old.id)]
    theirs = await read_settled(tx, [old.id for old in own])
    salience = max([text.chunks[0].salience, *theirs.values()])
    return NewText(
        tuple(
            replace(
                chunk,
                tags=tuple(tags.values()),
                facets=facets_of(tags.values(), chunk.source, chunk.speaker, chunk.metadata),
                salience=salience,
                evidence=(*evidence, *chunk.evidence),
            )
            for chunk in text.chunks
        )
    )


async def carry_out(
    tx: SpaceTransaction, space: SpaceRow, found: Plan, survivor: int, judged: dict[int, Judged], *, by: str
) -> list[Superseded]:
    """Makes the tombstones of a plan and flags its conflicts; `survivor` is the stored memory it is about."""
    outdated: list[Superseded] = []
    for old in found.superseded:
        await _supersede(tx, judged[old].candidate.rows, survivor, judged[old], by)
        outdated.append(Superseded(old=old, new=survivor))
    if found.superseded_by is not None:
        rows = await read_rows(tx, space.name, [survivor])
        await _supersede(tx, list(rows.values()), found.superseded_by, judged[found.superseded_by], by)
        outdated.append(Superseded(old=survivor, new=found.superseded_by))
    if found.conflicts or found.unseen:
        await flag_conflict(tx, survivor, [*found.conflicts, *found.unseen])
    for other in found.conflicts:
        await flag_conflict(tx, other, [survivor])
    return outdated


async def _supersede(tx: SpaceTransaction, rows: Sequence[MemoryRow], new_id: int, why: Judged, by: str) -> None:
    reason = f"{why.verdict}: {why.reason}"
    await supersede(tx, rows, new_id, reason=reason, changed_by=by, at=tx.now, made_by=why.made_by)
