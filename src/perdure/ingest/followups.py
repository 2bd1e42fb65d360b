"""Asked about a memory once it is stored: how good it is, what an upheaval means; saved.py asks what it outdates.

Each is a row of its own queue, committed together with the memory, so that nothing of it is lost with a process. When
its turn comes the memory may have been changed, outdated or erased: then there is nothing left to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from perdure.embedding import Calibration
from perdure.ingest.contradiction import contradiction_distance, said_by
from perdure.ingest.drafts import Draft, excerpt_of, prepare
from perdure.ingest.naming import extracted_entities
from perdure.ingest.saving import MEMORY, masked_labels
from perdure.ingest.work import Ready
from perdure.ingest.writing import write_texts
from perdure.llm import Ledger, render
from perdure.llm.schemas import QualityScore
from perdure.resources import Resources, calibration_of
from perdure.store.changes import add_entities, apply_quality, relate
from perdure.store.cognition import Layer, record_run, set_wrote
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, read_rows, read_vectors
from perdure.store.queue import QueuedWork
from perdure.store.related import nearest_live
from perdure.store.spaces import SpaceRow
from perdure.store.texts import read_live_texts
from perdure.text import mask, truncate_chars
from perdure.types import Evidence, MemoryType, Nothing, Outcome, Stored, Trust

TRANSITION: Final[Layer] = "transition"
MOST_RELATED: Final = 10
"""Memories that are looked at (mission: 10)."""
LEAST_RELATED: Final = 2
"""With fewer there is nothing to be seen in a new light (mission: 2)."""
LOOKING_BACK: Final = timedelta(days=183)
"""Six months, the mission's."""
RELATED_CHARS: Final = 300
"""Characters of a related memory that are shown (mission: 300)."""
TRANSITION_SALIENCE: Final = 10.0
NOTHING_LEFT: Final = "nothing left to ask"


async def handle_quality(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Scores a memory beside what is near it; salience rises by it, entities are united, nothing is ever deleted.

    Raises:
        ModelUnavailable: an outage. ModelFailed: an attempt.
    """
    if not resources.models.can("quality"):
        return Ready.nothing(NOTHING_LEFT)
    if "near" in work.payload:
        rows, similar = await _with_these(resources, space, work, work.payload["near"])
    else:
        most = resources.settings.contradiction_candidates
        rows, similar = await _with_near(resources, space, work, contradiction_distance, limit=most)
    if not rows:
        return Ready.nothing(NOTHING_LEFT)
    prompt = render(
        "quality",
        memory=_text(rows),
        similar="\n".join(f"{number}. {row.memory.summary}" for number, row in enumerate(similar, 1)),
    )
    answer = await resources.models.ask("quality", prompt, QualityScore, ledger=ledger)
    score = answer.value
    entities = masked_labels(score.entities)

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        now = await _live(tx, space, work)
        if not _same(now, rows):
            return [Nothing(NOTHING_LEFT)]
        ids = [row.memory.id for row in now]
        scores = score.specificity, score.uniqueness, score.confidence
        if await apply_quality(tx, ids, *scores, made_by=answer.made_by):
            for row in now:
                await add_entities(tx, row, entities, "quality", made_by=answer.made_by)
        return []

    return Ready(write)


async def handle_entities(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Finds whom and what a memory names, where nobody was asked when it was stored.

    Raises:
        ModelUnavailable: an outage. ModelFailed: an attempt.
    """

    async def read(tx: SpaceTransaction) -> list[MemoryRow]:
        return await _live(tx, space, work)

    rows = await resources.database.in_space(space.id, read)
    named = await extracted_entities(resources, _text(rows), ledger) if rows else None
    if named is None or not named.entities:
        return Ready.nothing(NOTHING_LEFT)

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        now = await _live(tx, space, work)
        if not _same(now, rows):
            return [Nothing(NOTHING_LEFT)]
        for row in now:
            await add_entities(tx, row, named.entities, "entities", made_by=named.made_by)
        return []

    return Ready(write)


async def handle_transition(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Writes what an upheaval in the user's life means for what was known before, as a memory of its own.

    The memory is what later work goes by: its type and date say which upheavals there were.

    Raises:
        ModelUnavailable, EmbeddingUnavailable: an outage. ModelFailed, EmbeddingFailed: an attempt.
    """
    if not resources.models.can(TRANSITION):
        return Ready.nothing(NOTHING_LEFT)
    rows, related = await _with_near(
        resources, space, work, _transition_distance, limit=MOST_RELATED, looking_back=LOOKING_BACK
    )
    if len(related) < LEAST_RELATED:
        return Ready.nothing(NOTHING_LEFT)
    event = rows[0].memory
    prompt = render(
        TRANSITION,
        when=event.source_date.isoformat(),
        event=work.payload["summary"],
        related="\n".join(
            f"{number}. [{row.memory.source_date.date().isoformat()}, {said_by(row.memory.speaker, row.memory.trust)}] "
            + truncate_chars(row.memory.summary, RELATED_CHARS)
            for number, row in enumerate(related, 1)
        ),
    )
    answer = await resources.models.write(TRANSITION, prompt, ledger=ledger)
    draft = Draft(
        text=mask(answer.value.strip()).text,
        source=TRANSITION,
        trust=Trust.DERIVED,
        source_date=event.source_date,
        memory_type=MemoryType.TRANSITION,
        salience=TRANSITION_SALIENCE,
        tags=tuple(dict.fromkeys([TRANSITION, *event.tags])),
        audience=event.audience,
        conversation_id=event.conversation_id,
        language=event.language,
        evidence=tuple(
            Evidence(
                MEMORY,
                str(row.memory.id),
                row.memory.speaker,
                row.memory.source_date,
                excerpt_of(row.memory.summary),
            )
            for row in (rows[0], *related)
        ),
        made_by=answer.made_by,
    )
    (text,) = await prepare([draft], resources.embedder, resources.settings.max_chunk_bytes)

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        now = await _live(tx, space, work)
        ids = [row.memory.id for row in related]
        seen = await read_rows(tx, space.name, ids)
        if not _same(now, rows) or not _same([seen[each] for each in ids if each in seen], related):
            return [Nothing(NOTHING_LEFT)]
        (outcome,) = await write_texts(tx, resources, space, [text])
        made = outcome.ids if isinstance(outcome, Stored) else (outcome.id,)
        read_ids = [*(row.memory.id for row in now), *ids]
        await relate(tx, made, read_ids)
        run_id = await record_run(
            tx,
            TRANSITION,
            "shift",
            began_at=tx.now,
            status="done",
            told=f"an upheaval, seen beside {len(ids)} memories",
            made_by=answer.made_by,
            read_ids=read_ids,
            audience=event.audience,
        )
        await set_wrote(tx, run_id, made)
        return [outcome]

    return Ready(write)


async def _live(tx: SpaceTransaction, space: SpaceRow, work: QueuedWork) -> list[MemoryRow]:
    """The chunks of the text that a follow-up is about, in order, as far as they are live."""
    return [row for text in await read_live_texts(tx, space.name, work.payload["ids"][:1]) for row in text.rows]


async def _with_these(
    resources: Resources, space: SpaceRow, work: QueuedWork, near: Sequence[int]
) -> tuple[list[MemoryRow], list[MemoryRow]]:
    """The chunks of the text, and those of these memories that are still live: it was compared with them before."""
    first = work.payload["ids"][0]

    async def read(tx: SpaceTransaction) -> tuple[list[MemoryRow], list[MemoryRow]]:
        texts = await read_live_texts(tx, space.name, [first, *near])
        rows = {row.memory.id: row for text in texts for row in text.rows}
        mine = [row for text in texts if text.root == first for row in text.rows]
        return mine, [rows[each] for each in near if each in rows]

    return await resources.database.in_space(space.id, read)


async def _with_near(
    resources: Resources,
    space: SpaceRow,
    work: QueuedWork,
    distance: Callable[[Calibration | None], float | None],
    *,
    limit: int,
    looking_back: timedelta | None = None,
) -> tuple[list[MemoryRow], list[MemoryRow]]:
    """The chunks of the text, and the live memories nearest to it by the vector that it was stored with.

    Args:
        distance: below which cosine distance they count, by what is known of the family; None where none does.
        limit: how many of them at most, nearest first.
        looking_back: only what happened so long ago or later.
    """

    async def read(tx: SpaceTransaction) -> tuple[list[MemoryRow], list[MemoryRow]]:
        rows = await _live(tx, space, work)
        first = [row.memory.id for row in rows[:1]]
        vectors = await read_vectors(tx, resources.family.id, first)
        below = distance(await calibration_of(tx, resources, space))
        if not vectors or below is None:
            return rows, []
        near = await nearest_live(
            tx,
            resources.family,
            vectors[first[0]],
            audience=rows[0].memory.audience,
            below=below,
            limit=limit,
            excluding=[row.memory.id for row in rows],
            since=None if looking_back is None else tx.now - looking_back,
        )
        found = await read_rows(tx, space.name, [one.memory_id for one in near])
        return rows, [found[one.memory_id] for one in near if one.memory_id in found]

    return await resources.database.in_space(space.id, read)


def _transition_distance(calibration: Calibration | None) -> float | None:
    """Cosine distance below which a memory has to do with an upheaval (ours: 0.4, in the mission's family)."""
    return None if calibration is None else calibration.transition_distance


def _same(now: Sequence[MemoryRow], then: Sequence[MemoryRow]) -> bool:
    """Whether these memories still say what they said when they were read, and still count."""
    return [(row.memory.id, row.memory.summary, None) for row in then] == [
        (row.memory.id, row.memory.summary, row.memory.superseded_at) for row in now
    ]


def _text(rows: Sequence[MemoryRow]) -> str:
    return "\n".join(row.memory.summary for row in rows)
