"""Distillation: a staged archive becomes lasting facts; archive.py stages it.

The subagent is asked piece by piece; without one every message is kept as it was said, at a low salience. There is no
quality score and no contradiction check on this route: it is older talk, most of which was judged when it was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from perdure.ingest.archive import USER, ArchivedMessage, archived_messages, conversation_of, messages_data
from perdure.ingest.domains import distinctive_terms
from perdure.ingest.drafts import Draft, excerpt_of
from perdure.ingest.old_news import FORGOTTEN, forgotten
from perdure.ingest.pieces import in_pieces
from perdure.ingest.saving import masked_labels
from perdure.ingest.work import Ready
from perdure.ingest.writing import keep_all
from perdure.llm import Ledger, render
from perdure.llm.schemas import DistilledFact, DistilledFacts
from perdure.resources import Resources
from perdure.rules.attribution import vouched_by
from perdure.store.database import SpaceTransaction
from perdure.store.queue import QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.text import ASSISTANT, chunks, fold, has_letter_or_digit, is_question, is_request, mask, terms
from perdure.types import Evidence, Trust

ARCHIVE: Final = "conversation_archive"
PIECE_BYTES: Final = 6000
"""Bytes of UTF-8 that the subagent reads at once; what is longer is worked off in pieces."""
RAW: Final = "archive-1"


async def handle_archive(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Distils one archive, or keeps it as it was said where there is no subagent. Exact duplicates are merged.

    One that the subagent can't read at once comes back in pieces.

    Raises:
        ModelUnavailable, EmbeddingUnavailable: an outage. ModelFailed, EmbeddingFailed: an attempt.
    """
    messages = await _remembered(resources, space, work)
    if not messages:
        return Ready.nothing(FORGOTTEN)
    if resources.models.can("distillation"):
        pieces = list(_pieces(work, messages))
        if len(pieces) > 1:
            return in_pieces(work, [messages_data(piece, conversation_of(work)) for piece in pieces])
        drafts = await _distilled(resources, work, messages, ledger)
    else:
        drafts = [(_raw(work, message, resources.settings.archive_salience), message.at) for message in messages]
    return await keep_all(resources, space, drafts, if_none="no lasting fact in the archive")


async def _remembered(resources: Resources, space: SpaceRow, work: QueuedWork) -> list[ArchivedMessage]:
    """The messages of an archive but for those whose words were forgotten since: nobody is to read them again."""
    messages = archived_messages(work)

    async def read(tx: SpaceTransaction) -> list[ArchivedMessage]:
        gone = await forgotten(tx, space, work.audience, [(message.text, message.at) for message in messages])
        return [message for place, message in enumerate(messages) if place not in gone]

    return await resources.database.in_space(space.id, read)


def _raw(work: QueuedWork, message: ArchivedMessage, salience: float) -> Draft:
    at = message.at or work.occurred_at
    return Draft(
        text=message.text,
        source=ARCHIVE,
        trust=Trust.USER if message.role == USER else Trust.ASSISTANT,
        source_date=at,
        salience=salience,
        tags=(ARCHIVE,),
        speaker=message.speaker,
        audience=work.audience,
        conversation_id=conversation_of(work),
        evidence=(_evidence(work, message),),
        made_by=RAW,
    )


async def _distilled(
    resources: Resources, work: QueuedWork, messages: Sequence[ArchivedMessage], ledger: Ledger
) -> list[tuple[Draft, datetime | None]]:
    least = resources.settings.distilled_salience
    prompt = render("distillation", messages="\n".join(_line(work, message) for message in messages))
    answer = await resources.models.ask("distillation", prompt, DistilledFacts, ledger=ledger)
    drafts: dict[str, tuple[Draft, datetime | None]] = {}
    for fact in answer.value.facts:
        if fact.salience >= least and has_letter_or_digit(fact.text):
            drafts.setdefault(fold(fact.text), _fact(work, messages, fact, answer.made_by))
    return list(drafts.values())


def _pieces(work: QueuedWork, messages: Sequence[ArchivedMessage]) -> Iterator[list[ArchivedMessage]]:
    """Messages in order, together at most `PIECE_BYTES` as the subagent reads them; a longer one is cut into parts."""
    piece: list[ArchivedMessage] = []
    size = 0
    for message in messages:
        for part in chunks(message.text, PIECE_BYTES // 2) if len(message.text.encode()) > PIECE_BYTES // 2 else [None]:
            one = message if part is None else replace(message, text=part.text)
            needed = len(_line(work, one).encode()) + 1
            if piece and size + needed > PIECE_BYTES:
                yield piece
                piece, size = [], 0
            piece.append(one)
            size += needed
    if piece:
        yield piece


def _line(work: QueuedWork, message: ArchivedMessage) -> str:
    at = message.at or work.occurred_at
    return f"[{at.isoformat(timespec='minutes')}] {message.speaker or message.role}: {message.text}"


def _fact(
    work: QueuedWork, piece: Sequence[ArchivedMessage], fact: DistilledFact, made_by: str
) -> tuple[Draft, datetime | None]:
    """A fact as a draft, and when it was said, if that is known.

    Whose it is tell the words that bear it out; it is dated by the message that it most likely rests on.
    """
    summary = distinctive_terms(fact.text, work.speaker)
    said = [(message, set(terms(message.text))) for message in piece]
    trust = _vouched(fact, summary, said)
    role = USER if trust is Trust.USER else ASSISTANT
    theirs = [(message, words) for message, words in said if message.role == role] or said
    # Of equals the last: a value that was corrected was said last.
    message, _ = max(enumerate(theirs), key=lambda each: (len(summary & each[1][1]), each[0]))[1]
    draft = Draft(
        text=mask(fact.text).text,
        source="conversation",
        trust=trust,
        source_date=message.at or work.occurred_at,
        salience=fact.salience,
        tags=masked_labels(fact.tags),
        speaker=message.speaker,
        audience=work.audience,
        conversation_id=conversation_of(work),
        evidence=(_evidence(work, message),),
        made_by=made_by,
    )
    return draft, message.at


def _vouched(fact: DistilledFact, summary: set[str], said: Sequence[tuple[ArchivedMessage, set[str]]]) -> Trust:
    """Who vouches for a fact, by the rule that exchanges go by (decision 0009).

    What tools answered is not in an archive; what the assistant says after one may be a stranger's.
    """
    users = [(message, words) for message, words in said if message.role == USER]
    source = max(users, key=lambda each: len(summary & each[1]), default=None)
    trust = Trust(
        vouched_by(
            fact.said_by,
            summary,
            user={term for _, words in users for term in words},
            assistant={term for message, words in said if message.role != USER for term in words},
            tools=set(),
            outside=any(message.outside and summary & words for message, words in said),
            asked=source is not None and (is_question(source[0].text) or is_request(source[0].text)),
        )
    )
    if trust in {Trust.USER, Trust.EXTERNAL}:
        return trust
    # What the model ascribes to a tool came through the assistant, who may have read it anywhere.
    return Trust.EXTERNAL if fact.said_by == "tool" else Trust.ASSISTANT


def _evidence(work: QueuedWork, message: ArchivedMessage) -> Evidence:
    return Evidence(
        "archive",
        str(work.payload["operation_id"]),
        message.speaker,
        message.at or work.occurred_at,
        excerpt_of(message.text),
    )
