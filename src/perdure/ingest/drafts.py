"""From a text and what is known about it to rows that can be stored: chunked, normalised, embedded.

All of this happens before a transaction is opened.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from perdure.embedding import Embedder, Matrix
from perdure.ingest.keys import entity_keys_of, extra_terms, facets_of, named_speaker
from perdure.store.memories import EXCERPT_CHARS, USUAL_SALIENCE, NewMemory, NewText
from perdure.store.postings import Postings
from perdure.text import analyse, chunks, fold, is_question, truncate_chars
from perdure.types import Evidence, MemoryType, StoredMemory, Trust

HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class Draft:
    """A text to remember and all that is known about it. `text` has come through the door (`text.require_text`).

    `made_by` is the prompt and model whose words it is in, `marks` by call site those that completed it.
    """

    text: str
    source: str
    trust: Trust
    source_date: datetime
    memory_type: MemoryType = MemoryType.GENERAL
    salience: float = USUAL_SALIENCE
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    speaker: str | None = None
    audience: str | None = None
    conversation_id: str | None = None
    language: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    pinned: bool = False
    evidence: tuple[Evidence, ...] = ()
    made_by: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict)


def draft_of(memory: StoredMemory) -> Draft:
    """A memory as if it were to be kept anew."""
    return Draft(
        text=memory.summary,
        source=memory.source,
        trust=memory.trust,
        source_date=memory.source_date,
        memory_type=memory.memory_type,
        salience=memory.salience,
        tags=memory.tags,
        entities=memory.entities,
        speaker=memory.speaker,
        audience=memory.audience,
        conversation_id=memory.conversation_id,
        language=memory.language,
        metadata=memory.metadata,
        pinned=memory.pinned,
    )


def read_again(memory: StoredMemory) -> tuple[Postings, str]:
    """What a memory's words would be found by, and what would be embedded of them; for words that are no longer stored.

    It is one chunk: no memory is longer.
    """
    draft = draft_of(memory)
    chunk = chunk_of(draft, memory.summary, None, whole=False, last=True)
    return chunk.postings(memory.id), document_text(draft, memory.summary)


def excerpt_of(text: str) -> str:
    """What evidence shows of a text: its beginning, no grapheme split."""
    return truncate_chars(text, EXCERPT_CHARS)


def content_hash(text: str, speaker: str | None) -> bytes:
    """What makes two texts the same: the words, and who said them."""
    return hashlib.blake2b(f"{speaker or ''}\0{text}".encode(), digest_size=HASH_BYTES).digest()


async def prepare(drafts: Sequence[Draft], embedder: Embedder, max_chunk_bytes: int) -> list[NewText]:
    """Chunks, normalises and embeds; one embedding call for all chunks of all drafts.

    Raises:
        EmbeddingUnavailable: the embedder could not be reached.
        EmbeddingFailed: it answered with something that is no vector.
    """
    pieces = [[chunk.text for chunk in chunks(draft.text, max_chunk_bytes)] for draft in drafts]
    documents = [document_text(draft, piece) for draft, group in zip(drafts, pieces, strict=True) for piece in group]
    vectors = iter(await embedder.embed(documents, "document"))
    texts: list[NewText] = []
    for draft, group in zip(drafts, pieces, strict=True):
        made = (
            chunk_of(draft, piece, next(vectors), whole=number == 0, last=number == len(group) - 1)
            for number, piece in enumerate(group)
        )
        texts.append(NewText(tuple(made)))
        # A batch has dozens of texts, at a millisecond each: a turn that hands in its exchange waits for one of them.
        await asyncio.sleep(0)
    return texts


def document_text(draft: Draft, piece: str) -> str:
    """What is embedded for a chunk: the name of who said it, then the words."""
    name = named_speaker(draft.speaker, draft.trust, draft.source)
    return f"{name}: {piece}" if name else piece


def chunk_of(draft: Draft, piece: str, vector: Matrix | None, *, whole: bool, last: bool) -> NewMemory:
    """One chunk of a draft. `whole`: duplicates of the draft's text are looked for by it; `last`: it ends the text."""
    found = analyse(piece)
    return NewMemory(
        summary=piece,
        terms=(*found.terms, *extra_terms(draft.speaker, draft.trust, draft.source, draft.source_date)),
        forms=found.forms,
        length=found.length,
        content_hash=content_hash(draft.text, draft.speaker) if whole else None,
        vector=vector,
        source=draft.source,
        trust=draft.trust,
        source_date=draft.source_date,
        memory_type=draft.memory_type,
        salience=draft.salience,
        tags=draft.tags,
        entities=draft.entities,
        entity_keys=entity_keys_of(draft.entities, draft.speaker, draft.trust, draft.source),
        facets=facets_of(draft.tags, draft.source, draft.speaker, draft.metadata),
        speaker=draft.speaker,
        speaker_key=fold(draft.speaker) if draft.speaker else None,
        is_question=last and is_question(piece),
        audience=draft.audience,
        conversation_id=draft.conversation_id,
        language=draft.language,
        metadata=draft.metadata,
        pinned=draft.pinned,
        made_by=draft.made_by,
        marks=draft.marks,
        evidence=draft.evidence,
    )
