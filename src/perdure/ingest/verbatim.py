"""Without a judge: what was said, mailed or planned is kept as it was, chunked, each exact text once."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.ingest.domains import item_draft, observed, told
from perdure.ingest.drafts import Draft, excerpt_of, prepare
from perdure.ingest.revisions import earlier_revisions, outdate
from perdure.ingest.work import Ready
from perdure.ingest.writing import write_texts
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.queue import QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.text import ASSISTANT, has_letter_or_digit
from perdure.types import Evidence, Merged, Nothing, Outcome, Stored, Trust

VERBATIM = "verbatim-1"


def verbatim_drafts(work: QueuedWork) -> list[Draft]:
    """What a row of the queue says, kept as it was said; of an exchange the user's words, the reply, and each tool's.

    Nothing for an event that was cancelled, and nothing for what is in already and waits for a judge.
    """
    if work.payload.get("cancelled") or work.payload.get("replaces"):
        return []
    if work.kind != "conversation":
        text = work.payload["text"]
        return [item_draft(work, text, made_by=VERBATIM)] if has_letter_or_digit(text) else []
    operation = str(work.payload["operation_id"])

    def draft(text: str, trust: Trust, speaker: str | None) -> Draft:
        # A tool answers, but it is nobody who said something.
        who = None if trust is Trust.TOOL else speaker
        return Draft(
            text=text,
            source="conversation",
            trust=trust,
            source_date=work.occurred_at,
            speaker=speaker,
            audience=work.audience,
            conversation_id=work.conversation_id or None,
            made_by=VERBATIM,
            evidence=(Evidence("exchange", operation, who, observed(work), excerpt_of(text)),),
        )

    said = [
        draft(work.payload["user"], Trust.USER, work.speaker),
        draft(work.payload["assistant"], Trust.ASSISTANT, ASSISTANT),
        *(draft(words, Trust.TOOL, name or "tool") for name, words in told(work)),
    ]
    return [one for one in said if has_letter_or_digit(one.text)]


async def keep_verbatim(resources: Resources, space: SpaceRow, works: Sequence[QueuedWork]) -> Ready:
    """Makes ready what these rows say; one embedding call for all of them."""
    drafts = [(number, draft) for number, work in enumerate(works) for draft in verbatim_drafts(work)]
    texts = (
        await prepare([draft for _, draft in drafts], resources.embedder, resources.settings.max_chunk_bytes)
        if drafts
        else []
    )

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        written = list(zip(drafts, await write_texts(tx, resources, space, texts), strict=True))
        later = {_root(outcome) for _, outcome in written}
        for number, work in enumerate(works):
            mine = [outcome for (at, _), outcome in written if at == number]
            later -= {_root(outcome) for outcome in mine}
            outcomes += mine or [Nothing("nothing to keep as it was said")]
            rows = [row for row in await earlier_revisions(tx, space, work) if row.memory.id not in later]
            if mine or work.payload.get("cancelled"):
                outcomes += await outdate(tx, rows, _root(mine[0]) if mine else None, work)
        return outcomes

    return Ready(write)


def _root(outcome: Stored | Merged) -> int:
    return outcome.ids[0] if isinstance(outcome, Stored) else outcome.id
