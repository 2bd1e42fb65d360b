"""The three triaged domains: what each hands to the judge, when it saves, and what a saved memory looks like.

Whatever differs between a conversation, a mail and an event stands here; `triage_and_save` is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from perdure.ingest.drafts import Draft, excerpt_of
from perdure.llm import Prompt, render
from perdure.llm.schemas import TriageVerdict
from perdure.rules.attribution import is_memory_tool, is_read_tool, vouched_by
from perdure.rules.worth_saving import SaveThresholds, saves_exchange, saves_item
from perdure.store.memories import USUAL_SALIENCE
from perdure.store.queue import QueuedWork
from perdure.text import (
    ASSISTANT,
    has_letter_or_digit,
    is_question,
    is_request,
    query_terms,
    terms,
    truncate_bytes,
    truncate_chars,
)
from perdure.types import Evidence, MemoryType, StoredMemory, Trust

TRIAGE_BYTES: Final = 8000
"""Bytes of UTF-8 that a judge reads of one exchange, mail or event (mission: 8000)."""
REPLY_CHARS: Final = 800
"""Characters of the reply that a judge reads (mission: 800)."""

# A summary speaks of "the user"; that the words of a tool do so too proves nothing.
_ROLES: Final = """
    user users assistant tool Nutzer Nutzerin Benutzer Benutzerin usuario usuaria utilisateur utilisatrice utente
    gebruiker пользователь kullanıcı 用户 用戶 使用者 ユーザー 사용자
"""


@dataclass(frozen=True, slots=True)
class Material:
    """One row of the queue, read: what the judge is asked, and how a verdict becomes a draft.

    `grounded`: something was looked up. `empty`: why there is nothing to judge.
    """

    prompt: Prompt
    grounded: bool
    draft: Callable[[TriageVerdict, str], Draft]
    empty: str | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """One kind of what is triaged.

    `read` takes the row and the memories that were in the prompt; `should_save` takes the verdict, the
    thresholds of the settings, and `grounded`.
    """

    read: Callable[[QueuedWork, Sequence[StoredMemory]], Material]
    should_save: Callable[[TriageVerdict, SaveThresholds, bool], bool]


def observed(work: QueuedWork) -> datetime:
    """When what the row says was known: when it was said, but of an event to come when it was read."""
    return min(work.occurred_at, work.enqueued_at)


def source_key(payload: Mapping[str, Any]) -> str:
    """What names a mail or an event in evidence: what its revisions have in common, else its own id."""
    return str(payload.get("series") or payload["external_id"])


def told(work: QueuedWork) -> list[tuple[str, str, Trust]]:
    """Name, words and trust of the tools that told something new: what failed, said nothing or is memory is left out.

    What a tool answered is external unless the host has said otherwise.
    """
    return [
        (tool["name"], tool["content"], Trust(tool.get("trust", Trust.EXTERNAL)))
        for tool in work.payload["tools"]
        if tool["ok"] and has_letter_or_digit(tool["content"]) and not is_memory_tool(tool["name"])
    ]


def brings_strangers(tools: Sequence[tuple[str, str, Trust]]) -> bool:
    """Whether what tools told may be the words of strangers."""
    return any(trust is Trust.EXTERNAL for _, _, trust in tools)


def _heard_from_tools(work: QueuedWork) -> list[str]:
    """All that tools answered, those of the memory too: what they brought may be a stranger's."""
    return [tool["content"] for tool in work.payload["tools"] if tool["ok"]]


def cut_to_budget(user: str, reply: str, tools: Sequence[str]) -> tuple[str, str, str]:
    """What a judge reads: the user's words first, then the reply, then tool text, to `TRIAGE_BYTES` in all."""
    user = truncate_bytes(user, TRIAGE_BYTES)
    left = TRIAGE_BYTES - len(user.encode())
    reply = truncate_bytes(truncate_chars(reply, REPLY_CHARS), left)
    left -= len(reply.encode())
    return user, reply, truncate_bytes("\n".join(tools), left)


def _read_conversation(work: QueuedWork, recalled: Sequence[StoredMemory]) -> Material:
    user, reply = work.payload["user"], work.payload["assistant"]
    tools = told(work)
    strangers = [memory.summary for memory in recalled if memory.trust is Trust.EXTERNAL]
    outside = bool(strangers) or brings_strangers(tools)
    shown_user, shown_reply, shown_tools = cut_to_budget(
        user, reply, [f"{name or 'tool'}: {words}" for name, words, _ in tools]
    )
    prompt = render(
        "triage_conversation",
        speaker=work.speaker or "user",
        when=work.occurred_at.isoformat(),
        user=shown_user,
        assistant=shown_reply,
        tools=shown_tools,
    )

    def draft(verdict: TriageVerdict, made_by: str) -> Draft:
        trust = Trust(
            vouched_by(
                verdict.said_by,
                distinctive_terms(verdict.summary, work.speaker),
                user=set(terms(user)),
                assistant=set(terms(reply)),
                tools={term for words in [*strangers, *_heard_from_tools(work)] for term in terms(words)},
                outside=outside,
                asked=is_question(user) or is_request(user),
            )
        )
        speaker, words = {
            Trust.USER: (work.speaker, user),
            Trust.ASSISTANT: (ASSISTANT, reply),
        }.get(trust, (None, shown_tools or reply))
        return Draft(
            text=verdict.summary,
            source="conversation",
            trust=trust,
            source_date=work.occurred_at,
            memory_type=MemoryType(verdict.category),
            salience=verdict.salience,
            tags=tuple(verdict.tags),
            speaker=speaker,
            audience=work.audience,
            conversation_id=work.conversation_id or None,
            language=verdict.language,
            evidence=(_evidence("exchange", str(work.payload["operation_id"]), speaker, observed(work), words),),
            made_by=made_by,
        )

    empty = None if has_letter_or_digit(user) else "the user said nothing with a letter or digit"
    return Material(prompt, any(is_read_tool(name) for name, _, _ in tools), draft, empty)


def _read_item(work: QueuedWork, _: Sequence[StoredMemory]) -> Material:
    text = work.payload["text"]
    prompt = render(f"triage_{work.kind}", when=work.occurred_at.isoformat(), item=truncate_bytes(text, TRIAGE_BYTES))

    def draft(verdict: TriageVerdict, made_by: str) -> Draft:
        return item_draft(
            work,
            verdict.summary,
            made_by=made_by,
            salience=verdict.salience,
            tags=tuple(verdict.tags),
            language=verdict.language,
        )

    return Material(prompt, True, draft, None if has_letter_or_digit(text) else "no letter or digit in it")


def item_draft(
    work: QueuedWork,
    text: str,
    *,
    made_by: str,
    salience: float = USUAL_SALIENCE,
    tags: tuple[str, ...] = (),
    language: str | None = None,
) -> Draft:
    """A mail or an event as a memory that says `text`; external, whoever sent it."""
    payload = work.payload
    return Draft(
        text=text,
        source=work.kind,
        trust=Trust.EXTERNAL,
        source_date=work.occurred_at,
        memory_type=MemoryType(work.kind),
        salience=salience,
        tags=tags,
        speaker=work.speaker,
        audience=work.audience,
        language=language,
        metadata=payload.get("metadata") or {},
        evidence=(_evidence(work.kind, source_key(payload), work.speaker, observed(work), payload["text"]),),
        made_by=made_by,
    )


def _evidence(kind: str, external_id: str, speaker: str | None, when: datetime, words: str) -> Evidence:
    return Evidence(kind, external_id, speaker, when, excerpt_of(words))


def distinctive_terms(summary: str, speaker: str | None) -> set[str]:
    """The terms that tell whose a summary is: no function words, no dates worked out, no names of who took part."""
    common = {term for words in (_ROLES, speaker or "") for term in terms(words)}
    return {term for term in query_terms(summary) if not term.startswith("@")} - common


def _save_conversation(verdict: TriageVerdict, thresholds: SaveThresholds, grounded: bool) -> bool:
    return saves_exchange(verdict.salience, thresholds, grounded=grounded)


def _save_item(verdict: TriageVerdict, thresholds: SaveThresholds, _: bool) -> bool:
    return saves_item(verdict.salience, thresholds, save=verdict.save)


DOMAINS: Final[Mapping[str, Domain]] = {
    "conversation": Domain(_read_conversation, _save_conversation),
    "email": Domain(_read_item, _save_item),
    "calendar": Domain(_read_item, _save_item),
}
