"""Bootstrap: a text about the user, handed in so that the assistant knows them from the first day.

It is staged at once and worked off like an exchange: the thinker takes out of it who the user is, and every item
becomes a memory of its own. Without a thinker the text is kept as it is.
"""

from __future__ import annotations

from typing import Final

from perdure.ingest.drafts import Draft, excerpt_of
from perdure.ingest.operations import enqueue_operation, operation_fingerprint
from perdure.ingest.pieces import in_pieces
from perdure.ingest.saving import masked_labels
from perdure.ingest.words import NOT_TO_REMEMBER, keepable
from perdure.ingest.work import Ready
from perdure.ingest.writing import keep_all
from perdure.llm import Answer, Ledger, render
from perdure.llm.schemas import BootstrapProfile
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.queue import Queue, QueuedWork
from perdure.store.spaces import SpaceRow
from perdure.text import asks_to_forget_this, chunks, fold, has_letter_or_digit, mask
from perdure.types import Evidence, MemoryType, Nothing, Outcome, Trust

BOOTSTRAP: Final = "bootstrap"
SALIENCE: Final = 7.0
"""Salience of what a text about the user says (mission: 7)."""
PIECE_BYTES: Final = 16_000
"""Bytes of UTF-8 that the thinker reads at once; what is longer is worked off in pieces."""
VERBATIM: Final = "bootstrap-verbatim-1"
_PREFERRED: Final = frozenset({"style", "preference"})


async def enqueue_bootstrap(
    tx: SpaceTransaction,
    text: str,
    *,
    speaker: str | None,
    audience: str | None,
    operation_id: str,
    for_model: bool,
) -> Outcome:
    """Stages the text under its operation id; a replay changes nothing and returns the first outcome.

    Args:
        text: has come through the door (`text.require_text`); recalled text is cut out of it and secrets are masked.
            Whoever asks in it that it is not remembered is heard.
        speaker: the user whom it is about, by name if that is known.

    Raises:
        Conflict: the operation id was used before for something else.
    """
    words = keepable(text)
    if not has_letter_or_digit(words):
        return Nothing("no letter or digit in the text")
    if asks_to_forget_this(words):
        return Nothing(NOT_TO_REMEMBER)
    return await enqueue_operation(
        tx,
        Queue.TRIAGE,
        BOOTSTRAP,
        {"text": words},
        operation_id=operation_id,
        fingerprint=operation_fingerprint(BOOTSTRAP, words, speaker, audience),
        audience=audience,
        speaker=speaker,
        occurred_at=tx.now,
        for_model=for_model,
    )


async def handle_bootstrap(resources: Resources, space: SpaceRow, work: QueuedWork, ledger: Ledger) -> Ready:
    """Makes memories of a text about the user. Exact duplicates are merged.

    A text that the thinker can't read at once comes back in pieces.

    Raises:
        ModelUnavailable, EmbeddingUnavailable: an outage. ModelFailed, EmbeddingFailed: an attempt.
    """
    text = work.payload["text"]
    if resources.models.can(BOOTSTRAP):
        pieces = chunks(text, PIECE_BYTES)
        if len(pieces) > 1:
            return in_pieces(work, [{"text": piece.text} for piece in pieces])
        found = _drafts(work, await _ask(resources, work, ledger))
        drafts = list({fold(draft.text): draft for draft in reversed(found)}.values())[::-1]
    else:
        drafts = [_draft(work, text, made_by=VERBATIM)]
    told = [(draft, work.occurred_at) for draft in drafts]
    return await keep_all(resources, space, told, if_none="the text says nothing of the user")


async def _ask(resources: Resources, work: QueuedWork, ledger: Ledger) -> Answer[BootstrapProfile]:
    prompt = render(BOOTSTRAP, when=work.occurred_at.isoformat(), text=work.payload["text"])
    return await resources.models.ask(BOOTSTRAP, prompt, BootstrapProfile, ledger=ledger)


def _drafts(work: QueuedWork, answer: Answer[BootstrapProfile]) -> list[Draft]:
    """One memory for each thing that the profile says; each can be found, outdated and erased by itself."""
    profile, made_by = answer.value, answer.made_by
    who = profile.name or work.speaker or "the user"
    named = (profile.name,) if profile.name else ()
    plain = {
        "name": profile.name,
        "pronouns": profile.pronouns,
        "location": profile.location,
        "occupation": profile.occupation,
    }
    drafts = [
        _draft(work, f"{who} – {what}: {value}", kind=MemoryType.FACT, tags=(what,), entities=named, made_by=made_by)
        for what, value in plain.items()
        if value
    ]
    drafts += [
        _draft(
            work,
            f"{who} – {person.relation}: {person.name}",
            kind=MemoryType.FACT,
            tags=("important_people",),
            entities=(*named, person.name),
            made_by=made_by,
        )
        for person in profile.important_people
    ]
    drafts += [
        _draft(
            work,
            f"{who} – recurring topic: {topic}",
            tags=("interest", "user_knowledge", "recurring_topic"),
            entities=named,
            made_by=made_by,
        )
        for topic in profile.recurring_topics
    ]
    drafts += [
        _draft(
            work,
            f"{who} – {trait.key}: {trait.value}",
            kind=MemoryType.PREFERENCE if trait.category in _PREFERRED else MemoryType.GENERAL,
            tags=(trait.category,),
            entities=named,
            made_by=made_by,
        )
        for trait in profile.traits
    ]
    drafts += [
        _draft(work, fact.text, kind=MemoryType(fact.category), tags=tuple(fact.tags), entities=named, made_by=made_by)
        for fact in profile.facts
    ]
    return [draft for draft in drafts if has_letter_or_digit(draft.text)]


def _draft(
    work: QueuedWork,
    text: str,
    *,
    made_by: str,
    kind: MemoryType = MemoryType.GENERAL,
    tags: tuple[str, ...] = (),
    entities: tuple[str, ...] = (),
) -> Draft:
    excerpt = excerpt_of(work.payload["text"])
    return Draft(
        text=mask(text).text,
        source=BOOTSTRAP,
        trust=Trust.USER,
        source_date=work.occurred_at,
        memory_type=kind,
        salience=SALIENCE,
        tags=masked_labels(tags),
        entities=masked_labels(entities),
        speaker=work.speaker,
        audience=work.audience,
        evidence=(Evidence(BOOTSTRAP, str(work.payload["operation_id"]), work.speaker, work.occurred_at, excerpt),),
        made_by=made_by,
    )
