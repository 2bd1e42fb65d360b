"""Without a judge: what was said, mailed or planned is kept as it was, chunked, each exact text once."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.ingest.domains import brings_strangers, item_draft, observed, told
from perdure.ingest.drafts import Draft, excerpt_of, prepare
from perdure.ingest.keys import CONVERSATION, is_tools
from perdure.ingest.old_news import Told
from perdure.ingest.revisions import earlier_revisions, outdate
from perdure.ingest.work import Ready
from perdure.ingest.writing import write_news
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
        who = None if is_tools(CONVERSATION, trust) and speaker != ASSISTANT else speaker
        return Draft(
            text=text,
            source=CONVERSATION,
            trust=trust,
            source_date=work.occurred_at,
            speaker=speaker,
            audience=work.audience,
            conversation_id=work.conversation_id or None,
            made_by=VERBATIM,
            evidence=(Evidence("exchange", operation, who, observed(work), excerpt_of(text)),),
        )

    tools = told(work)
    # What the assistant says after it has read strangers' words may be theirs.
    replied = Trust.EXTERNAL if brings_strangers(tools) else Trust.ASSISTANT
    said = [
        draft(work.payload["user"], Trust.USER, work.speaker),
        draft(work.payload["assistant"], replied, ASSISTANT),
        *(draft(words, trust, name or "tool") for name, words, trust in tools),
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
    told: list[list[Told]] = [[] for _ in works]
    for (number, draft), text in zip(drafts, texts, strict=True):
        told[number].append(Told(draft, text, observed(works[number])))

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for turn in _in_turn(works):
            news = [one for number in turn for one in told[number]]
            written = iter(await write_news(tx, resources, space, news, replaced=False))
            for number in turn:
                mine = [next(written) for _ in told[number]]
                outcomes += mine or [Nothing("nothing to keep as it was said")]
                outcomes += await _outdated(tx, space, works[number], mine)
        return outcomes

    return Ready(write)


def _in_turn(works: Sequence[QueuedWork]) -> list[list[int]]:
    """Places of rows that may be written together: of revisions of the same thing each finds the earlier one stored."""
    turns: list[list[int]] = []
    latest: dict[tuple[str, str | None, object], int] = {}
    for place, work in enumerate(works):
        series = work.payload.get("series")
        key = work.kind, work.audience, series
        turn = latest[key] + 1 if series and key in latest else 0
        latest[key] = turn
        if turn == len(turns):
            turns.append([])
        turns[turn].append(place)
    return turns


async def _outdated(
    tx: SpaceTransaction, space: SpaceRow, work: QueuedWork, mine: Sequence[Stored | Merged | Nothing]
) -> Sequence[Outcome]:
    """Makes tombstones of what earlier revisions left: in the place of the new one, or closed by a cancellation."""
    cancelled = bool(work.payload.get("cancelled"))
    new = next((_root(one) for one in mine if not isinstance(one, Nothing)), None)
    if new is None and not cancelled:
        return []
    return await outdate(tx, await earlier_revisions(tx, space, work), new, work)


def _root(outcome: Stored | Merged) -> int:
    return outcome.ids[0] if isinstance(outcome, Stored) else outcome.id
