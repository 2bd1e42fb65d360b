"""After an exchange: the memories that were in its prompt are counted as retrieved, and learn whether they helped.

It happens once per exchange, whatever came of it: asked in the transaction that takes the exchange off its queue, as a
row of the follow-ups where a subagent can be asked, else at once, by what the reply shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

from perdure.errors import ModelFailed
from perdure.ingest.domains import distinctive_terms
from perdure.ingest.work import Ready, together
from perdure.llm import Ledger, render
from perdure.llm.schemas import Usefulness
from perdure.resources import Resources
from perdure.rules.audience import may_see
from perdure.rules.usefulness import cited, draws_on, is_common
from perdure.store.database import SpaceTransaction
from perdure.store.feedback import track
from perdure.store.memories import read_rows
from perdure.store.queue import Queue, QueuedWork, enqueue
from perdure.store.ranking_counts import read_counts
from perdure.store.spaces import SpaceRow
from perdure.text import terms, truncate_chars
from perdure.types import Filters, Merged, Nothing, Outcome, Stored, StoredMemory

SITE: Final = "usefulness"
USER_CHARS: Final = 1000
"""Characters of what the user said that are kept for the judge (ours)."""
REPLY_CHARS: Final = 4000
"""The same of the reply (ours): more of it than triage reads, because a memory may be drawn on anywhere in it."""
NOTHING_LEFT: Final = "none of the memories in the prompt is left"


async def learn_of(
    tx: SpaceTransaction,
    resources: Resources,
    space: SpaceRow,
    works: Sequence[QueuedWork],
    outcomes: Sequence[Outcome],
) -> None:
    """Sees to it that what was in the prompts of these exchanges is judged, once they are settled with `outcomes`."""
    for work in works:
        recalled = work.payload.get("recalled_ids")
        if work.queue is not Queue.TRIAGE or not recalled:
            continue
        if not resources.models.can(SITE):
            await _learn_by_reply(tx, resources, space, work)
            continue
        await enqueue(
            tx,
            Queue.FOLLOWUP,
            SITE,
            {
                # Erasing one of them, or what was made of the exchange, takes these words along.
                "ids": [*recalled, *_made(outcomes)],
                "recalled_ids": recalled,
                "user": truncate_chars(work.payload["user"], USER_CHARS),
                "assistant": truncate_chars(work.payload["assistant"], REPLY_CHARS),
            },
            audience=work.audience,
            speaker=work.speaker,
            occurred_at=work.occurred_at,
        )


async def handle_usefulness(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Asks of each memory that was in the prompt whether it helped; one that gets no usable answer gets no verdict.

    Raises:
        ModelUnavailable: an outage.
    """
    if not resources.models.can(SITE):
        return Ready(lambda tx: _learn_by_reply(tx, resources, space, work))
    memories = await resources.database.in_space(space.id, lambda tx: _recalled(tx, space, work))
    verdicts = dict(await together(*(_verdict(resources, work, memory, ledger) for memory in memories)))
    return Ready(lambda tx: _learn(tx, resources, work, verdicts))


async def _verdict(
    resources: Resources, work: QueuedWork, memory: StoredMemory, ledger: Ledger
) -> tuple[int, bool | None]:
    prompt = render(SITE, memory=memory.summary, user=work.payload["user"], reply=work.payload["assistant"])
    try:
        answer = await resources.models.ask(SITE, prompt, Usefulness, ledger=ledger)
    except ModelFailed:
        return memory.id, None
    return memory.id, answer.value.verdict == "YES"


async def _learn_by_reply(
    tx: SpaceTransaction, resources: Resources, space: SpaceRow, work: QueuedWork
) -> Sequence[Outcome]:
    """Without a judge, YES for what the reply cites or draws on; it can show use, but not disuse: no verdict else."""
    memories = await _recalled(tx, space, work)
    cites = cited(work.payload["assistant"])
    words = {memory.id: distinctive_terms(memory.summary, work.speaker) for memory in memories}
    proving_nothing = [set(terms(work.payload["user"])), await _common(tx, set().union(*words.values()))]
    reply = set(terms(work.payload["assistant"]))

    def useful(memory_id: int) -> bool:
        others = [theirs for other, theirs in words.items() if other != memory_id]
        return memory_id in cites or draws_on(words[memory_id], known=[*proving_nothing, *others], reply=reply)

    return await _learn(tx, resources, work, {memory_id: useful(memory_id) or None for memory_id in words})


async def _learn(
    tx: SpaceTransaction, resources: Resources, work: QueuedWork, verdicts: Mapping[int, bool | None]
) -> Sequence[Outcome]:
    every = resources.settings.boost == "every"
    tracked = await track(tx, verdicts, audience=work.audience, every=every) if verdicts else ()
    return [] if tracked else [Nothing(NOTHING_LEFT)]


async def _recalled(tx: SpaceTransaction, space: SpaceRow, work: QueuedWork) -> list[StoredMemory]:
    """Those of the memories in the prompt that are there, live, and this audience's."""
    memories = [row.memory for row in (await read_rows(tx, space.name, work.payload["recalled_ids"])).values()]
    return [each for each in memories if each.superseded_at is None and may_see(work.audience, each.audience)]


async def _common(tx: SpaceTransaction, words: Set[str]) -> set[str]:
    """Those of these terms that many memories of the space have."""
    counts = await read_counts(tx, terms=sorted(words), entity_keys=(), filters=Filters(), audience=None, facets=())
    return {term for term, found in counts.of_terms.items() if is_common(found, counts.memories)}


def _made(outcomes: Sequence[Outcome]) -> list[int]:
    """The ids of what these outcomes stored or merged."""
    stored = [memory_id for outcome in outcomes if isinstance(outcome, Stored) for memory_id in outcome.ids]
    return [*stored, *(outcome.id for outcome in outcomes if isinstance(outcome, Merged))]
