"""The archive: what fell out of the model's window is staged as it was said, and later distilled to lasting facts.

Staging is one small transaction, so that the window may be cut as soon as it has committed. Distillation asks the
subagent piece by piece; without one every message is kept as it was said, at a low salience. There is no quality score
and no contradiction check on this route: it is older talk, most of which was judged when it was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from perdure.door import optional_name, optional_time
from perdure.errors import InvalidInput
from perdure.ingest.capture import NOT_TO_REMEMBER
from perdure.ingest.domains import distinctive_terms
from perdure.ingest.drafts import Draft, excerpt_of
from perdure.ingest.operations import enqueue_operation, operation_fingerprint
from perdure.ingest.saving import masked_labels
from perdure.ingest.work import Ready, together
from perdure.ingest.writing import keep_all
from perdure.llm import Answer, Ledger, render, split_reasoning
from perdure.llm.schemas import DistilledFact, DistilledFacts
from perdure.resources import Resources
from perdure.rules.attribution import vouched_by
from perdure.rules.fencing import strip_fenced
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue, QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.text import (
    ASSISTANT,
    MAX_TEXT_BYTES,
    asks_to_forget_this,
    chunks,
    fold,
    has_letter_or_digit,
    mask,
    require_text,
    terms,
)
from perdure.types import Evidence, Nothing, Outcome, Trust

ARCHIVE: Final = "conversation_archive"
MAX_MESSAGES: Final = 2000
MAX_ARCHIVE_BYTES: Final = 2 * MAX_TEXT_BYTES
PIECE_BYTES: Final = 6000
"""Bytes of UTF-8 that the subagent reads at once; what is longer is asked about in pieces."""
LEAST: Final = 5
"""Salience below which a fact is not kept (mission: 5)."""
RAW_SALIENCE: Final = 3.0
"""Salience of what is kept undistilled (mission: 3)."""
RAW: Final = "archive-1"

_USER: Final = "user"
_ROLES: Final = {"user": _USER, "human": _USER, "assistant": ASSISTANT, "ai": ASSISTANT, "model": ASSISTANT}
_UNSAID: Final = frozenset({"system", "developer", "tool", "function"})
"""Messages that nobody said: instructions, calls and their results."""
_KNOWN: Final = _UNSAID.union(_ROLES)


@dataclass(frozen=True, slots=True)
class ArchivedMessage:
    """What somebody said: `role` is user or assistant; `speaker` the name, if it is known; `at` when, if it is."""

    role: str
    text: str
    speaker: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Archive:
    """Messages that leave the window, oldest first, as they may be stored."""

    messages: tuple[ArchivedMessage, ...]
    speaker: str | None
    audience: str | None
    conversation_id: str

    def payload(self) -> dict[str, object]:
        return {
            "messages": [
                {
                    "role": message.role,
                    "text": message.text,
                    "speaker": message.speaker,
                    "at": message.at.isoformat() if message.at else None,
                }
                for message in self.messages
            ]
        }


def read_archive(
    messages: Sequence[object], *, speaker: str | None, audience: str | None, conversation_id: str | None
) -> Archive | Nothing:
    """The archive as it will be staged, or why there is nothing to stage.

    Args:
        messages: objects with `role` and `content` as chat models take them (text, or a list of parts), and if known
            `speaker` and `at`. Tool calls and results, instructions, reasoning and recalled text are left out, secrets
            are masked, and so is left out what the user asked not to remember, with the reply to it.
        speaker: who the user is, where a message doesn't say it.

    Raises:
        InvalidInput: a message has no known role, its content is no text, or all of it is too long.
    """
    if len(messages) > MAX_MESSAGES:
        raise InvalidInput(
            "messages", messages, f"it has {len(messages):,} messages, at most {MAX_MESSAGES:,} are taken"
        )
    kept: list[ArchivedMessage] = []
    size = 0
    unheard = False
    for number, given in enumerate(messages):
        message = _message(given, f"messages[{number}]", speaker)
        if message is None:
            continue
        size += len(message.text.encode())
        if size > MAX_ARCHIVE_BYTES:
            limit = f"with it the archive has {size:,} bytes of UTF-8, at most {MAX_ARCHIVE_BYTES:,} are taken"
            raise InvalidInput(f"messages[{number}].content", message.text, limit)
        if message.role == _USER:
            unheard = asks_to_forget_this(message.text)
        if not unheard and has_letter_or_digit(message.text):
            kept.append(message)
    if not kept:
        return Nothing(NOT_TO_REMEMBER if unheard else "nothing that somebody said")
    return Archive(tuple(kept), speaker, audience, conversation_id or "")


async def enqueue_archive(tx: SpaceTransaction, archive: Archive, operation_id: str) -> Outcome:
    """Stages the archive under its operation id; a replay changes nothing and returns the first outcome.

    Raises:
        Conflict: the operation id was used before for something else.
    """
    asked = archive.payload() | {"speaker": archive.speaker, "audience": archive.audience}
    times = [message.at for message in archive.messages if message.at is not None]
    return await enqueue_operation(
        tx,
        Queue.DISTILLATION,
        "archive",
        archive.payload(),
        operation_id=operation_id,
        fingerprint=operation_fingerprint("archive", asked, archive.conversation_id),
        conversation_id=archive.conversation_id,
        audience=archive.audience,
        speaker=archive.speaker,
        occurred_at=max(times, default=tx.now),
    )


async def handle_archive(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Distils one archive, or keeps it as it was said where there is no subagent. Exact duplicates are merged.

    Raises:
        ModelUnavailable, EmbeddingUnavailable: an outage. ModelFailed, EmbeddingFailed: an attempt.
    """
    messages = _messages_of(work)
    if resources.models.can("distillation"):
        drafts = await _distilled(resources, work, messages, ledger)
    else:
        drafts = [_raw(work, message) for message in messages]
    return await keep_all(resources, space, drafts, if_none="no lasting fact in the archive")


# --- the door ---------------------------------------------------------------------------------------------------------


def _message(given: object, place: str, speaker: str | None) -> ArchivedMessage | None:
    """What somebody said with this message; None if nobody said anything."""
    if not isinstance(given, Mapping):
        raise InvalidInput(place, given, "it has to be an object with `role` and `content`")
    role = given.get("role")
    if not isinstance(role, str) or role not in _KNOWN:
        raise InvalidInput(f"{place}.role", role, f"it has to be one of {', '.join(sorted(_KNOWN))}")
    if role in _UNSAID:
        return None
    text = _said(given.get("content"), f"{place}.content", reasons=_ROLES[role] == ASSISTANT)
    at = optional_time(given.get("at"), f"{place}.at")
    name = optional_name(given.get("speaker"), f"{place}.speaker")
    if not text:
        return None
    if _ROLES[role] == _USER:
        return ArchivedMessage(_USER, text, name or speaker, at)
    return ArchivedMessage(ASSISTANT, text, ASSISTANT, at)


def _said(content: object, field: str, *, reasons: bool) -> str:
    """The text of a content: of a list of parts those that are text, one below the other.

    `reasons`: it may hold reasoning, which is left out.
    """
    if content is None:
        return ""
    if isinstance(content, list | tuple):
        content = "\n".join(_parts(content, field))
    if isinstance(content, str) and not content.strip():
        return ""
    text = strip_fenced(require_text(content, field))
    return mask(split_reasoning(text)[0] if reasons else text).text


def _parts(content: Sequence[object], field: str) -> Iterator[str]:
    for number, part in enumerate(content):
        text = part.get("text") if isinstance(part, Mapping) and part.get("type") in {"text", "input_text"} else part
        if isinstance(text, str):
            yield text
        elif not isinstance(part, Mapping):
            raise InvalidInput(f"{field}[{number}]", part, "it has to be text, or an object with `type`")


# --- from the row to drafts -------------------------------------------------------------------------------------------


def _messages_of(work: QueuedWork) -> list[ArchivedMessage]:
    return [_read(each) for each in work.payload["messages"]]


def _read(data: Mapping[str, Any]) -> ArchivedMessage:
    at = datetime.fromisoformat(data["at"]) if data["at"] else None
    return ArchivedMessage(data["role"], data["text"], data["speaker"], at)


def _raw(work: QueuedWork, message: ArchivedMessage) -> Draft:
    at = message.at or work.occurred_at
    return Draft(
        text=message.text,
        source=ARCHIVE,
        trust=Trust.USER if message.role == _USER else Trust.ASSISTANT,
        source_date=at,
        salience=RAW_SALIENCE,
        tags=(ARCHIVE,),
        speaker=message.speaker,
        audience=work.audience,
        conversation_id=work.conversation_id or None,
        evidence=(_evidence(work, message),),
        made_by=RAW,
    )


async def _distilled(
    resources: Resources, work: QueuedWork, messages: Sequence[ArchivedMessage], ledger: Ledger
) -> list[Draft]:
    pieces = list(_pieces(work, messages))
    answers: list[Answer[DistilledFacts]] = await together(
        *(
            resources.models.ask(
                "distillation",
                render("distillation", messages="\n".join(_line(work, message) for message in piece)),
                DistilledFacts,
                ledger=ledger,
            )
            for piece in pieces
        )
    )
    drafts: dict[str, Draft] = {}
    for piece, answer in zip(pieces, answers, strict=True):
        for fact in answer.value.facts:
            if fact.salience >= LEAST and has_letter_or_digit(fact.text):
                drafts.setdefault(fold(fact.text), _masked(_fact(work, piece, fact, answer.made_by)))
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


def _fact(work: QueuedWork, piece: Sequence[ArchivedMessage], fact: DistilledFact, made_by: str) -> Draft:
    """A fact as a draft: whose it is by the words that bear it out, dated by the message it most likely rests on."""
    summary = distinctive_terms(fact.text, work.speaker)
    said = [(message, set(terms(message.text))) for message in piece]
    trust = Trust(
        vouched_by(
            fact.said_by,
            summary,
            user={term for message, words in said if message.role == _USER for term in words},
            assistant={term for message, words in said if message.role != _USER for term in words},
            tools=set(),
            outside=False,
        )
    )
    # A tool's results are not in an archive: what rests on them came through the assistant.
    trust = Trust.USER if trust is Trust.USER else Trust.ASSISTANT
    role = _USER if trust is Trust.USER else ASSISTANT
    theirs = [(message, words) for message, words in said if message.role == role] or said
    # Of equals the last: a value that was corrected was said last.
    message, _ = max(enumerate(theirs), key=lambda each: (len(summary & each[1][1]), each[0]))[1]
    return Draft(
        text=fact.text,
        source="conversation",
        trust=trust,
        source_date=message.at or work.occurred_at,
        salience=fact.salience,
        tags=tuple(fact.tags),
        speaker=message.speaker,
        audience=work.audience,
        conversation_id=work.conversation_id or None,
        evidence=(_evidence(work, message),),
        made_by=made_by,
    )


def _masked(draft: Draft) -> Draft:
    return replace(draft, text=mask(draft.text).text, tags=masked_labels(draft.tags))


def _evidence(work: QueuedWork, message: ArchivedMessage) -> Evidence:
    return Evidence(
        "archive",
        str(work.payload["operation_id"]),
        message.speaker,
        message.at or work.occurred_at,
        excerpt_of(message.text),
    )
