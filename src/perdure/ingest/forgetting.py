"""Forgetting: a memory, what it was made of and what was made of it are erased, and whatever else holds their words.

What only waits to be worked off keeps what it says besides: of an exchange or an archive the messages go that quote
what is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from perdure.ingest.conclusions import bring_back, is_card, rebuild, take_out_of
from perdure.ingest.keys import stored_postings
from perdure.ingest.old_news import keep_trace_of, trace
from perdure.ingest.quotations import erase_quotes
from perdure.ingest.receipt import Receipt
from perdure.ingest.revisions import REVISED
from perdure.ingest.saving import MEMORY, require_row
from perdure.ingest.triage import RETRIAGED
from perdure.resources import Resources
from perdure.rules.audience import may_see
from perdure.rules.verdicts import DUPLICATE
from perdure.store.audit import note
from perdure.store.bygone import Bygone, bygone, keep_traces, pruned_with
from perdure.store.database import SpaceTransaction
from perdure.store.erasing import erase, going
from perdure.store.evidence import made_of, said_before
from perdure.store.memories import MemoryRow, read_evidence, read_rows, siblings
from perdure.store.spaces import SpaceRow, lock_space
from perdure.store.tally import Tally

LONGEST_S: Final = 300.0
"""Seconds that one erasure may take: for each text it is looked up what quotes it in all that waits."""
SAYS_THE_SAME: Final = (RETRIAGED, REVISED, f"{DUPLICATE}: %")
"""Reasons of tombstones that say what took their place, as LIKE patterns."""

HOLD_MEMORIES: Final = frozenset(
    {
        "memories",
        "memory_state",
        "memory_vectors",
        "memory_terms",
        "memory_entities",
        "memory_facets",
        "memory_evidence",
        "memory_history",
        "space_counts",
    }
)
"""Tables in which every erasure leaves dead rows."""


@dataclass(slots=True)
class Erased:
    """What one transaction after another has erased; `touched` are the tables that hold dead rows now."""

    ids: set[int] = field(default_factory=set)
    again: set[int] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)
    touched: set[str] = field(default_factory=set)

    def add(self, other: Erased) -> None:
        self.ids |= other.ids
        self.again = (self.again | other.again) - self.ids
        self.tally.add(other.tally)
        self.touched |= other.touched

    def receipt(self) -> Receipt:
        removed, rewritten = (dict(sorted((+each).items())) for each in (self.tally.removed, self.tally.rewritten))
        return Receipt(tuple(sorted(self.ids)), removed, rewritten, tuple(sorted(self.again)))


@dataclass(frozen=True, slots=True)
class Sight:
    """Who asks: an audience, or whoever may see all of them (`everywhere`)."""

    audience: str | None
    everywhere: bool = False

    def sees(self, told_to: str | None) -> bool:
        return self.everywhere or may_see(self.audience, told_to)


@dataclass(frozen=True, slots=True)
class Doomed:
    """What goes together: memories with their keys, ids of what is only history, and versions of the identity card.

    The latter stay as far as they rest on something else.
    """

    rows: dict[int, MemoryRow]
    purged: list[int]
    cards: list[MemoryRow]
    former: dict[int, Bygone]

    @property
    def ids(self) -> list[int]:
        return [*self.rows, *self.purged]

    def seen(self, sight: Sight) -> set[int]:
        """Those that somebody may be told of."""
        found = {each for each, row in self.rows.items() if sight.sees(row.memory.audience)}
        return found | {each for each, last in self.former.items() if sight.sees(last.audience)}


async def forget_memories(resources: Resources, space: SpaceRow, ids: Sequence[int], audience: str | None) -> Erased:
    """Erases memories with their sibling chunks, postings, vectors, evidence and history. Irreversible.

    With them goes what was concluded from one of them (a transition, an episode, a reflection; of the identity card
    the lines, of the traits those, that rest on it), what said the same before them (an original that was judged
    later, a duplicate, an earlier revision), and their words in queues, failures, tasks, reasons and excerpts. What
    was said before and arrives later in the same words doesn't bring them back; told anew they are news.

    Raises:
        NotFound: one of the ids is not there for this audience; nothing is erased then.
    """

    async def write(tx: SpaceTransaction) -> Erased:
        await lock_space(tx)
        await require(tx, space, ids, audience)
        return await erase_together(tx, space, ids, Sight(audience))

    return await resources.database.in_space(space.id, write, writer=True, timeout_s=LONGEST_S)


async def erase_together(tx: SpaceTransaction, space: SpaceRow, ids: Sequence[int], sight: Sight) -> Erased:
    """Erases these memories, which are there, and all that goes with them. Needs the space's lock."""
    doomed = await doom(tx, space, ids)
    rows, gone = list(doomed.rows.values()), doomed.ids
    keys = [stored_postings(row) for row in rows]
    texts = dict.fromkeys([text for row in rows for text in await _texts(tx, row)])
    texts |= dict.fromkeys(each.summary for each in doomed.former.values())
    told_to = {row.memory.audience for row in rows} | {each.audience for each in doomed.former.values()}
    seen = doomed.seen(sight)
    removed = await going(tx, seen, keys)
    await keep_trace_of(tx, space, rows, made_of=MEMORY)
    await keep_traces(tx, {trace(space, each.audience, each.summary) for each in doomed.former.values()})
    again = await rebuild(tx, rows, ids, gone)
    await bring_back(tx, space, list(doomed.rows))
    taken = await take_out_of(tx, doomed.cards, gone)
    tally = await erase(tx, rows, keys, doomed.purged)
    await note(tx, "forget", sorted(gone))
    for text in texts:
        tally.add(await erase_quotes(tx, text, {sight.audience, *told_to}))
    tally.add(taken.tally)
    touched = tally.tables | HOLD_MEMORIES
    # Others' rows are erased where they have to be; how many is theirs to know.
    counted = tally if all(map(sight.sees, told_to)) else Tally()
    counted.removed.update(removed)
    left = await read_rows(tx, space.name, sorted({*again, *taken.again}))
    told = {each for each, row in left.items() if sight.sees(row.memory.audience)}
    return Erased(seen | set(taken.baseless), told, counted, set(touched))


async def require(tx: SpaceTransaction, space: SpaceRow, ids: Sequence[int], audience: str | None) -> None:
    """Raises NotFound unless this audience may see all of these, as they are or, of what was pruned, as they were."""
    stored = await read_rows(tx, space.name, ids)
    former = await bygone(tx, [each for each in ids if each not in stored])
    for memory_id in ids:
        if memory_id not in former or not may_see(audience, former[memory_id].audience):
            await require_row(tx, space, memory_id, audience)


async def doom(tx: SpaceTransaction, space: SpaceRow, ids: Collection[int]) -> Doomed:
    """All chunks of these texts, of what was made of them and of what said the same; and what is only history.

    Versions of the identity card come by themselves, unless they were asked for: they rest on much else.
    """
    rows: dict[int, MemoryRow] = {}
    cards: dict[int, MemoryRow] = {}
    purged: set[int] = set()
    wanted = set(ids)
    while wanted:
        found = await read_rows(tx, space.name, await siblings(tx, sorted(wanted)))
        bygones = sorted(wanted - set(found))
        purged.update(bygones)
        cards.update((each, row) for each, row in found.items() if is_card(row) and each not in ids)
        found = {each: row for each, row in found.items() if each not in cards}
        rows.update(found)
        every = sorted(wanted | set(found))
        wanted = {*await made_of(tx, [*found, *bygones]), *await said_before(tx, every, SAYS_THE_SAME)}
        wanted.update(await pruned_with(tx, [*found, *bygones]))
        wanted.update(
            row.memory.superseded_by
            for row in found.values()
            if row.memory.superseded_by is not None and row.memory.superseded_reason == RETRIAGED
        )
        wanted -= {*rows, *cards, *purged}
    return Doomed(rows, sorted(purged), list(cards.values()), await bygone(tx, sorted(purged)))


async def _texts(tx: SpaceTransaction, row: MemoryRow) -> list[str]:
    """What a memory says, and what it shows of what it rests on."""
    excerpts = [item.excerpt for item in await read_evidence(tx, row.memory.id) if item.kind != MEMORY]
    return [row.memory.summary, *filter(None, excerpts)]
