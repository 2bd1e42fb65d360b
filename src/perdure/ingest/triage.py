"""Triage: a judge says what was learned and what it is worth; what is worth it is saved, as the judge's summary.

One `triage_and_save` for conversations, mail and events (`domains.py` has what differs). What can't be judged is an
error and never a memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from perdure.errors import EmbeddingUnavailable, ModelFailed, ModelUnavailable
from perdure.ingest.contradiction import Judge, Subject
from perdure.ingest.domains import DOMAINS, Material, observed
from perdure.ingest.drafts import Draft, prepare
from perdure.ingest.naming import ask_later, entities_or_later, keys_to_share
from perdure.ingest.old_news import FORGOTTEN, Told, old_news
from perdure.ingest.revisions import earlier_revisions, outdate
from perdure.ingest.saving import masked_labels
from perdure.ingest.truth import Kept, write_judged
from perdure.ingest.work import Ready
from perdure.llm import Answer, Ledger
from perdure.llm.schemas import TriageVerdict
from perdure.resources import Resources
from perdure.store.changes import lower_salience, supersede
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, NewText, read_rows
from perdure.store.queue import QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.text import has_letter_or_digit, mask
from perdure.types import Nothing, Outcome, StoredMemory, Trust

SHIFT: Final = 9
"""Least salience of a paradigm shift (mission: 9)."""
MOST: Final = 10.0
"""The greatest salience."""
REMEMBERED: Final = 256
"""Verdicts kept over an outage: more than are worked on at a time."""
RETRIAGED: Final = "judged later"
UNJUDGED: Final = "unjudged-1"
"""What made a memory that a later judge had nothing to say about."""


async def triage_and_save(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Judges one exchange, mail or event, and makes ready what is to be written.

    Raises:
        ModelUnavailable, EmbeddingUnavailable: an outage.
        ModelFailed, EmbeddingFailed: an attempt.
    """
    domain = DOMAINS[work.kind]
    if work.payload.get("cancelled"):
        return Ready(lambda tx: _close(tx, space, work))
    recalled, kept_before, gone = await _read_before(resources, space, work)
    material = domain.read(work, recalled)
    if gone or material.empty is not None:
        return _nothing(space, work, material.empty or FORGOTTEN)
    answer = await _judge(resources, space, work, material, ledger)
    verdict = _masked(answer.value)
    # Of an event that was worth keeping, what became of it is worth keeping too.
    if not domain.should_save(verdict, resources.settings.save_thresholds, material.grounded) and not kept_before:
        why = f"salience {verdict.salience}" + ("" if verdict.save else ", not worth saving")
        return _nothing(space, work, why, verdict.salience, answer.made_by)
    if not has_letter_or_digit(verdict.summary):
        raise ModelFailed("The summary has no letter or digit.", answer=answer.text)
    excluding = (*(row.memory.id for row in kept_before), *_replaced(work))
    try:
        draft = material.draft(verdict, answer.made_by)
        draft, text, judge, unnamed = await _compare(resources, space, work, draft, ledger, excluding=excluding)
    except (ModelUnavailable, EmbeddingUnavailable):
        _remember(resources, space, work, answer)
        raise
    shift = verdict.paradigm_shift and verdict.salience >= SHIFT and draft.trust is Trust.USER

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        replaced = await _replaced_rows(tx, space, work)
        if replaced is None:
            return [Nothing(FORGOTTEN)]
        told = Told(draft, text, observed(work), said=work.payload.get("user", ""))
        if await old_news(tx, space, [told], replaced=False):
            return await _nothing(space, work, FORGOTTEN).write(tx)
        kept = await write_judged(tx, resources, space, text, judge, by=draft.source)
        outdated = await outdate(tx, await earlier_revisions(tx, space, work), kept.survivor, work)
        if replaced:
            await _take_the_place(tx, replaced, kept.survivor, answer.made_by)
        await _follow_up(tx, resources, work, draft, kept, near=judge.nearest, shift=shift, unnamed=unnamed)
        return (*kept.outcomes, *outdated)

    return Ready(write, judge.judge)


async def _judge(
    resources: Resources, space: SpaceRow, work: QueuedWork, material: Material, ledger: Ledger
) -> Answer[TriageVerdict]:
    """The verdict; where one was given before an outage of something else, that one."""
    known = resources.verdicts.pop((space.id, work.id, work.attempts), None)
    return known or await resources.models.ask("triage", material.prompt, TriageVerdict, ledger=ledger)


def _masked(verdict: TriageVerdict) -> TriageVerdict:
    """The verdict as it may be kept: a model may write a secret that stood in nothing it was shown whole."""
    return verdict.model_copy(update={"summary": mask(verdict.summary).text, "tags": list(masked_labels(verdict.tags))})


def _remember(resources: Resources, space: SpaceRow, work: QueuedWork, answer: Answer[TriageVerdict]) -> None:
    resources.verdicts[space.id, work.id, work.attempts] = answer
    if len(resources.verdicts) > REMEMBERED:
        resources.verdicts.popitem(last=False)


async def _compare(
    resources: Resources,
    space: SpaceRow,
    work: QueuedWork,
    draft: Draft,
    ledger: Ledger,
    *,
    excluding: tuple[int, ...],
) -> tuple[Draft, NewText, Judge, bool]:
    """The draft with its entities, ready to be stored, and what was said of all that is near it.

    Last is whether it is still to be asked whom it names.
    """
    named, unnamed = await entities_or_later(resources, draft.text, ledger)
    entities = named.entities if named else None
    if named:
        draft = replace(draft, entities=named.entities, marks={"entities": named.made_by})
    (text,) = await prepare([draft], resources.embedder, resources.settings.max_chunk_bytes)
    judge = Judge(resources, space, ledger, subject_of(draft, text, work, entities), excluding)
    await judge.judge()
    return draft, text, judge, unnamed


def subject_of(draft: Draft, text: NewText, work: QueuedWork, entities: Sequence[str] | None) -> Subject:
    """A prepared draft as the judge of contradictions sees it."""
    return Subject(
        text=draft.text,
        trust=draft.trust,
        speaker=draft.speaker,
        audience=draft.audience,
        observed=observed(work),
        vectors=tuple(chunk.vector for chunk in text.chunks if chunk.vector is not None),
        entity_keys=keys_to_share(draft.text, entities),
        key=text.key,
    )


async def _read_before(
    resources: Resources, space: SpaceRow, work: QueuedWork
) -> tuple[list[StoredMemory], list[MemoryRow], bool]:
    """The memories that were in the prompt of the exchange, what earlier revisions of the event left, and whether
    anything that is to be judged anew was forgotten meanwhile."""
    ids = work.payload.get("recalled_ids") or ()
    if not ids and not work.payload.get("series") and not work.payload.get("replaces"):
        return [], [], False

    async def read(tx: SpaceTransaction) -> tuple[list[StoredMemory], list[MemoryRow], bool]:
        rows = await read_rows(tx, space.name, ids)
        gone = await _replaced_rows(tx, space, work) is None
        return [row.memory for row in rows.values()], await earlier_revisions(tx, space, work), gone

    return await resources.database.in_space(space.id, read)


def _nothing(space: SpaceRow, work: QueuedWork, reason: str, salience: float = MOST, made_by: str = UNJUDGED) -> Ready:
    """Nothing is stored; what is in already and was judged now is worth what the judge says, if that is less."""

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        replaced = await _replaced_rows(tx, space, work)
        if replaced:
            await lower_salience(tx, replaced, salience, made_by=made_by, changed_by="triage")
        return [Nothing(reason)]

    return Ready(write)


async def _close(tx: SpaceTransaction, space: SpaceRow, work: QueuedWork) -> Sequence[Outcome]:
    rows = await earlier_revisions(tx, space, work)
    await outdate(tx, rows, None, work)
    return [Nothing("the event was cancelled" if rows else "the event was cancelled before it was known")]


def _replaced(work: QueuedWork) -> tuple[int, ...]:
    """Memories that hold what is judged now as it was said: they were stored before there was a judge."""
    return tuple(work.payload.get("replaces") or ())


async def _replaced_rows(tx: SpaceTransaction, space: SpaceRow, work: QueuedWork) -> list[MemoryRow] | None:
    """Those that still count. None if one was forgotten meanwhile: its words, which wait here, must not come back."""
    ids = _replaced(work)
    if not ids:
        return []
    rows = await read_rows(tx, space.name, ids)
    if len(rows) < len(ids):
        return None
    return [row for row in rows.values() if row.memory.superseded_at is None]


async def _take_the_place(tx: SpaceTransaction, rows: Sequence[MemoryRow], survivor: int, made_by: str) -> None:
    """Makes tombstones of what was kept as it was said; where the judge used the very words, it stays and is judged."""
    same = [row for row in rows if survivor in (row.memory.id, row.memory.chunk_of)]
    await lower_salience(tx, same, MOST, made_by=made_by, changed_by="triage")
    others = [row for row in rows if row not in same]
    await supersede(tx, others, survivor, reason=RETRIAGED, changed_by="triage", at=tx.now)


async def _follow_up(
    tx: SpaceTransaction,
    resources: Resources,
    work: QueuedWork,
    draft: Draft,
    kept: Kept,
    *,
    near: Sequence[int] | None,
    shift: bool,
    unnamed: bool,
) -> None:
    """What is still to be asked about a new memory once it is stored; `near` is what it was compared with."""
    if not kept.ids or not kept.live:
        return
    wanted: list[tuple[str, dict[str, object]]] = [("quality", {} if near is None else {"near": list(near)})]
    if unnamed:
        wanted.append(("entities", {}))
    if shift:
        wanted.append(("transition", {"summary": draft.text}))
    for site, more in wanted:
        if resources.models.can(site):
            await ask_later(tx, work, site, kept.ids, **more)
