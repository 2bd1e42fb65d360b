"""Pruning one window of a space: whole texts, a few at a time, and none of them in the way of the others."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from perdure.errors import DatabaseUnavailable, without_words
from perdure.ingest import stored_postings
from perdure.resources import Resources
from perdure.rules.audience import may_see
from perdure.rules.pruning import Reason, why_pruned
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.memories import read_rows
from perdure.store.pruning import StandingRow, candidates, purge, standings
from perdure.store.spaces import SpaceRow, lock_space
from perdure.upkeep.report import PrunedMemory, Tally

TEXTS: Final = 25
"""Texts pruned in one transaction, which locks the space meanwhile."""

log = logging.getLogger("perdure.upkeep")


@dataclass(frozen=True, slots=True)
class Doomed:
    """A text whose chunks all go, each for its reason."""

    chunks: tuple[tuple[StandingRow, Reason], ...]

    @property
    def ids(self) -> list[int]:
        return [row.id for row, _ in self.chunks]


async def prune(
    resources: Resources,
    space: SpaceRow,
    after: int,
    last: int,
    tally: Tally,
    *,
    audience: str | None,
    dry_run: bool,
) -> None:
    """Prunes the texts of which a chunk lies in this window of ids, or finds out which would go."""

    async def find(tx: SpaceTransaction) -> list[Doomed]:
        limits = resources.settings
        ids = await candidates(
            tx,
            after,
            last,
            graced=tx.now - timedelta(days=limits.superseded_grace_days),
            stale=tx.now - timedelta(days=limits.staleness_days),
        )
        found = await _doomed(tx, resources, ids)
        # A text belongs to the window of its first chunk.
        return [text for text in found if text.ids[0] > after]

    doomed = await resources.database.in_space(space.id, find)
    if dry_run:
        _count(tally, doomed, audience)
        return
    for start in range(0, len(doomed), TEXTS):
        for text in await _purge(resources, space, doomed[start : start + TEXTS], tally):
            _count(tally, [text], audience)


async def _doomed(tx: SpaceTransaction, resources: Resources, ids: Sequence[int]) -> list[Doomed]:
    """The whole texts among those of these rows that the rule lets go now."""
    limits = resources.settings
    texts: dict[int, list[tuple[StandingRow, Reason | None]]] = {}
    for row in await standings(tx, ids):
        reason = why_pruned(row.standing, stale_days=limits.staleness_days, grace_days=limits.superseded_grace_days)
        texts.setdefault(row.root, []).append((row, reason))
    return [Doomed(tuple(going)) for chunks in texts.values() if len(going := list(_going(chunks))) == len(chunks)]


def _going(chunks: Sequence[tuple[StandingRow, Reason | None]]) -> Iterator[tuple[StandingRow, Reason]]:
    for row, reason in chunks:
        if reason is not None:
            yield row, reason


async def _purge(resources: Resources, space: SpaceRow, doomed: Sequence[Doomed], tally: Tally) -> list[Doomed]:
    """Prunes these texts in one transaction; if one of them is in the way, each in its own. Returns those that went."""

    async def write(tx: SpaceTransaction) -> list[Doomed]:
        await lock_space(tx)
        # Somebody may have retrieved, pinned or restored one of them since.
        going = await _doomed(tx, resources, [row_id for text in doomed for row_id in text.ids])
        for reason in ("superseded", "faded"):
            ids = [row.id for text in going for row, why in text.chunks if why == reason]
            rows = list((await read_rows(tx, space.name, ids)).values())
            if rows:
                await purge(tx, rows, [stored_postings(row) for row in rows], reason)
                await note(tx, "prune", ids)
        return going

    try:
        return await resources.database.in_space(space.id, write, writer=True)
    except DatabaseUnavailable:
        raise
    except Exception as error:
        if len(doomed) > 1:
            return [gone for text in doomed for gone in await _purge(resources, space, [text], tally)]
        (text,) = doomed
        log.error("memory %s could not be pruned: %s", text.ids, without_words(error))  # noqa: TRY400 - words
        tally.awkward += text.ids
        return []


def _count(tally: Tally, doomed: Sequence[Doomed], audience: str | None) -> None:
    for text in doomed:
        for row, reason in text.chunks:
            tally.pruned[reason] += 1
            if may_see(audience, row.audience):
                standing = row.standing
                tally.listed.append(PrunedMemory(row.id, row.summary, reason, standing.salience, standing.age_days))
