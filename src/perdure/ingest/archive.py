"""The archive: what fell out of the model's window is staged as it was said; distillation.py makes memories of it.

Staging is one small transaction, so that the window may be cut as soon as it has committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from perdure.door import optional_name, optional_time
from perdure.errors import InvalidInput
from perdure.ingest.operations import enqueue_operation, operation_fingerprint
from perdure.ingest.words import NOT_TO_REMEMBER
from perdure.llm import split_reasoning
from perdure.rules.fencing import strip_fenced
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue, QueuedWork
from perdure.text import ASSISTANT, MAX_TEXT_BYTES, asks_to_forget_this, has_letter_or_digit, mask, require_text
from perdure.types import Nothing, Outcome

MAX_MESSAGES: Final = 2000
MAX_ARCHIVE_BYTES: Final = 2 * MAX_TEXT_BYTES

USER: Final = "user"
_ROLES: Final = {"user": USER, "human": USER, "assistant": ASSISTANT, "ai": ASSISTANT, "model": ASSISTANT}
_UNSAID: Final = frozenset({"system", "developer", "tool", "function"})
"""Messages that nobody said: instructions, calls and their results."""
_KNOWN: Final = _UNSAID.union(_ROLES)
_TEXTS: Final = ("text", "input_text", "output_text")
"""Parts of a content that hold what was said; all others are pictures, calls and the like."""


@dataclass(frozen=True, slots=True)
class ArchivedMessage:
    """What somebody said: `role` is user or assistant; `speaker` the name, if it is known; `at` when, if it is.

    `outside`: what a tool answered in this turn stood before it, and strangers may have written that.
    """

    role: str
    text: str
    speaker: str | None
    at: datetime | None
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Archive:
    """Messages that leave the window, oldest first, as they may be stored."""

    messages: tuple[ArchivedMessage, ...]
    speaker: str | None
    audience: str | None
    conversation_id: str

    def payload(self) -> dict[str, object]:
        return messages_data(self.messages, self.conversation_id or None)


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
    unheard = outside = False
    for number, given in enumerate(messages):
        message = _message(given, f"messages[{number}]", speaker)
        if message is None:
            outside = outside or _answers(given)
            continue
        outside = outside and message.role != USER
        message = replace(message, outside=outside)
        size += len(message.text.encode())
        if size > MAX_ARCHIVE_BYTES:
            limit = f"with it the archive has {size:,} bytes of UTF-8, at most {MAX_ARCHIVE_BYTES:,} are taken"
            raise InvalidInput(f"messages[{number}].content", message.text, limit)
        if message.role == USER:
            unheard = asks_to_forget_this(message.text)
        if not unheard and has_letter_or_digit(message.text):
            kept.append(message)
    if not kept:
        return Nothing(NOT_TO_REMEMBER if unheard else "nothing that somebody said")
    return Archive(tuple(kept), speaker, audience, conversation_id or "")


async def enqueue_archive(tx: SpaceTransaction, archive: Archive, operation_id: str, *, for_model: bool) -> Outcome:
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
        for_model=for_model,
    )


def messages_data(messages: Sequence[ArchivedMessage], conversation_id: str | None) -> dict[str, object]:
    """What a staged archive, or a piece of one, holds: the messages, and the conversation that they are of."""
    said = [
        {
            "role": message.role,
            "text": message.text,
            "speaker": message.speaker,
            "at": message.at.isoformat() if message.at else None,
            **({"outside": True} if message.outside else {}),
        }
        for message in messages
    ]
    return {"messages": said, "conversation_id": conversation_id}


def conversation_of(work: QueuedWork) -> str | None:
    """The conversation that an archive, or a piece of one, is of."""
    conversation: str | None = work.payload["conversation_id"]
    return conversation


def archived_messages(work: QueuedWork) -> list[ArchivedMessage]:
    """The messages of a staged archive, from its row."""
    return [_read(each) for each in work.payload["messages"]]


def _read(data: Mapping[str, Any]) -> ArchivedMessage:
    at = datetime.fromisoformat(data["at"]) if data["at"] else None
    return ArchivedMessage(data["role"], data["text"], data["speaker"], at, data.get("outside", False))


def _answers(given: object) -> bool:
    """Whether a message that nobody said is what a tool answered."""
    return isinstance(given, Mapping) and given.get("role") in {"tool", "function"} and bool(given.get("content"))


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
    if _ROLES[role] == USER:
        return ArchivedMessage(USER, text, name or speaker, at)
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
        if not isinstance(part, str | Mapping):
            raise InvalidInput(f"{field}[{number}]", part, "it has to be text, or an object with `type`")
        said = part if isinstance(part, str) else part.get("text") if part.get("type") in _TEXTS else None
        if isinstance(said, str):
            yield said
        elif said is not None:
            raise InvalidInput(f"{field}[{number}].text", said, "it has to be text")
