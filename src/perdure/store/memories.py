"""The stream itself: adding and reading memories; changes.py has the rest.

Adding expects the space's lock (`spaces.lock_space`), so that check and write are one step for every writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, LiteralString

import numpy as np
from pgvector import HalfVector
from psycopg import sql
from psycopg.types.json import Jsonb

from perdure.store.database import SpaceTransaction
from perdure.store.postings import Postings, new_postings
from perdure.store.sketches import signature, sketches
from perdure.store.statements import Part, kept, write_together
from perdure.types import Evidence, MemoryType, StoredMemory, Trust

USUAL_SALIENCE: Final = 5.0
"""What a memory weighs, 1..10, of which nobody said otherwise."""

EXCERPT_CHARS: Final = 500
"""The most code points of an excerpt that are kept with evidence; the table says so, too."""

NEXT_IDS: Final = """
    SELECT nextval('memories_id_seq') AS id FROM generate_series(1, %(count)s)
"""

FIND_DUPLICATES: Final = """
    SELECT memory_id, content_hash, audience
    FROM memory_state
    WHERE space_id = %(space_id)s AND content_hash IS NOT NULL AND content_hash = ANY(%(hashes)s::bytea[])
      AND superseded_at IS NULL
"""

INSERT_MEMORIES: Final = """
    INSERT INTO memories (space_id, id, summary, search_text, tags, entities, source, trust, speaker, conversation_id,
                          language, metadata, chunk_of, chunk_no, made_by, marks)
    SELECT %(space_id)s, r.id, r.summary, r.search_text, r.tags, r.entities, r.source, r.trust, r.speaker,
           r.conversation_id, r.language, r.metadata, r.chunk_of, r.chunk_no, r.made_by,
           r.marks
    FROM jsonb_to_recordset(%(rows)s) AS r (
        id bigint, summary text, search_text text, tags text[], entities text[], source text, trust text, speaker text,
        conversation_id text, language text, metadata jsonb, chunk_of bigint, chunk_no integer, made_by text,
        marks jsonb)
"""

INSERT_STATE: Final = """
    INSERT INTO memory_state (space_id, memory_id, memory_type, audience, conversation_id, salience, confidence,
                              term_count, pinned, created_at, source_date, decayed_at, regressed_at, content_hash,
                              sketch, signature, speaker, is_question)
    SELECT %(space_id)s, r.id, r.memory_type, r.audience, r.conversation_id, least(10, greatest(1, r.salience)),
           r.confidence, r.term_count, r.pinned, %(now)s, r.source_date, %(now)s, %(now)s,
           decode(r.content_hash, 'hex'), r.sketch, r.signature, r.speaker, r.is_question
    FROM jsonb_to_recordset(%(states)s) AS r (
        id bigint, memory_type text, audience text, conversation_id text, salience real, confidence real,
        term_count integer, pinned boolean, source_date timestamptz, content_hash text, sketch bit(256),
        signature bit(512), speaker text, is_question boolean)
"""

# `b`: the driver sends lists as text, and to write and read the digits of a vector takes 50 times as long.
INSERT_VECTORS: Final = """
    INSERT INTO memory_vectors (space_id, family_id, memory_id, embedding)
    SELECT %(space_id)s, %(family_id)s, t.memory_id, t.embedding
    FROM unnest(%(memory_ids)s::bigint[], %(embeddings)b::halfvec[]) AS t (memory_id, embedding)
"""

# Every n-th memory, so that the sample is the same for everybody and spreads over time.
READ_VECTORS: Final = """
    SELECT v.memory_id, v.embedding FROM memory_vectors v
    WHERE v.space_id = %(space_id)s AND v.family_id = %(family_id)s AND v.memory_id = ANY(%(ids)s)
"""

DELETE_VECTORS: Final = """
    DELETE FROM memory_vectors WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

INSERT_EVIDENCE: Final = """
    INSERT INTO memory_evidence (space_id, memory_id, kind, external_id, speaker, observed_at, excerpt, trust)
    SELECT %(space_id)s, r.memory_id, r.kind, r.external_id, r.speaker, r.observed_at, r.excerpt, r.trust
    FROM jsonb_to_recordset(%(evidence)s) AS r (
        memory_id bigint, kind text, external_id text, speaker text, observed_at timestamptz, excerpt text, trust text)
"""

READ_EVIDENCE: Final = """
    SELECT kind, external_id, speaker, observed_at, excerpt, trust
    FROM memory_evidence WHERE space_id = %(space_id)s AND memory_id = %(id)s ORDER BY observed_at NULLS LAST, id
"""

MEMORY_COLUMNS: Final = """
    m.id, m.summary, m.search_text, m.tags, m.entities, m.source, m.trust, m.speaker, m.conversation_id, m.language,
    m.metadata, m.chunk_of, m.chunk_no, m.related_ids, m.superseded_reason, m.conflicts_with, s.memory_type, s.audience,
    s.salience, s.usefulness_score AS usefulness, s.confidence, s.retrieval_count, s.pinned, s.term_count, s.created_at,
    s.source_date, s.last_retrieved_at, s.superseded_by, s.superseded_at
"""

READ_MEMORIES: Final = """
    SELECT {columns}
    FROM memories m
    JOIN memory_state s ON s.space_id = m.space_id AND s.memory_id = m.id
    WHERE m.space_id = %(space_id)s AND s.space_id = %(space_id)s AND m.id = ANY(%(ids)s)
"""

# What is compared with each other comes with its vectors, in one journey. As bytes, since the digits of a vector take
# many times as long.
READ_MEMORIES_AND_VECTORS: Final = """
    SELECT {columns}, halfvec_send(v.embedding) AS embedding
    FROM memories m
    JOIN memory_state s ON s.space_id = m.space_id AND s.memory_id = m.id
    LEFT JOIN memory_vectors v
        ON v.space_id = %(space_id)s AND v.family_id = %(family_id)s AND v.memory_id = m.id
    WHERE m.space_id = %(space_id)s AND s.space_id = %(space_id)s AND m.id = ANY(%(ids)s)
"""

READ_WHOLE_TEXTS: Final = """
    WITH roots AS MATERIALIZED (
        SELECT DISTINCT coalesce(w.chunk_of, w.id) AS id
        FROM memories w WHERE w.space_id = %(space_id)s AND w.id = ANY(%(ids)s)
    )
    SELECT r.id FROM roots r
    UNION
    SELECT m.id FROM roots r JOIN memories m ON m.chunk_of = r.id WHERE m.space_id = %(space_id)s
"""

READ_SIBLINGS: Final = """
    SELECT m.id FROM memories m WHERE m.space_id = %(space_id)s AND m.id = ANY(%(roots)s)
    UNION
    SELECT m.id FROM memories m WHERE m.space_id = %(space_id)s AND m.chunk_of = ANY(%(roots)s)
"""

# Newest first; `before` is the last row of the page before, so that a page stays what it was while rows are added.
LIST_MEMORIES: Final = """
    SELECT s.memory_id AS id
    FROM memory_state s
    WHERE s.space_id = %(space_id)s
      AND (s.audience IS NULL OR s.audience = %(audience)s)
      AND (%(superseded)s OR s.superseded_at IS NULL)
      AND (%(memory_type)s::text IS NULL OR s.memory_type = %(memory_type)s)
      AND (%(conversation_id)s::text IS NULL OR s.conversation_id = %(conversation_id)s)
      AND (%(since)s::timestamptz IS NULL OR s.source_date >= %(since)s)
      AND (%(until)s::timestamptz IS NULL OR s.source_date < %(until)s)
      AND (%(before_date)s::timestamptz IS NULL OR (s.source_date, s.memory_id) < (%(before_date)s, %(before_id)s))
      AND NOT EXISTS (
          SELECT FROM unnest(%(facets)s::text[]) AS wanted (key)
          WHERE NOT EXISTS (
              SELECT FROM memory_facets f
              WHERE f.space_id = %(space_id)s AND f.key = wanted.key AND f.memory_id = s.memory_id))
    ORDER BY s.source_date DESC, s.memory_id DESC
    LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A chunk ready to be stored: text, keys and vector all worked out before the transaction began."""

    summary: str
    terms: tuple[str, ...]
    length: int
    content_hash: bytes | None
    vector: np.ndarray | None
    source: str
    trust: Trust
    source_date: datetime
    memory_type: MemoryType = MemoryType.GENERAL
    salience: float = USUAL_SALIENCE
    confidence: float = 1.0
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    entity_keys: tuple[str, ...] = ()
    facets: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    speaker: str | None = None
    speaker_key: str | None = None
    is_question: bool = False
    audience: str | None = None
    conversation_id: str | None = None
    language: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    pinned: bool = False
    made_by: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()

    @property
    def search_text(self) -> str:
        """The terms in one line; the unstemmed spellings, if any, in a second one. No term holds white space."""
        return "\n".join(" ".join(words) for words in (self.terms, self.forms) if words)

    @property
    def borne_out(self) -> tuple[Evidence, ...]:
        """The evidence, each with who vouched for it: whoever vouches for the memory, where it doesn't say."""
        return tuple(item if item.trust else replace(item, trust=self.trust) for item in self.evidence)

    def postings(self, memory_id: int) -> Postings:
        return Postings(memory_id, self.terms, self.entity_keys, self.facets, self.length)


@dataclass(frozen=True, slots=True)
class NewText:
    """One text to remember, as its chunks in order; they stay siblings."""

    chunks: tuple[NewMemory, ...]

    @property
    def key(self) -> tuple[str | None, bytes]:
        """What makes two texts the same: audience and the hash of the first chunk, which covers the whole text."""
        first = self.chunks[0]
        assert first.content_hash is not None
        return first.audience, first.content_hash


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A stored row with the keys it is found by."""

    memory: StoredMemory
    search_text: str
    term_count: int
    vector: np.ndarray | None = None
    """What it was stored with, float32, where a family was asked for."""

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that the memory was stored with, with repetitions."""
        return tuple(self.search_text.partition("\n")[0].split(" "))


async def find_duplicates(
    tx: SpaceTransaction, keys: Sequence[tuple[str | None, bytes]]
) -> dict[tuple[str | None, bytes], int]:
    """Live memories that hold exactly one of these texts, by (audience, hash); of several chunks the first."""
    rows = await tx.fetch_all(FIND_DUPLICATES, {"hashes": [content_hash for _, content_hash in keys]})
    return {(row["audience"], bytes(row["content_hash"])): row["memory_id"] for row in rows}


async def insert_texts(tx: SpaceTransaction, texts: Sequence[NewText], family_id: int | None) -> list[tuple[int, ...]]:
    """Adds texts that are known not to be duplicates; returns the ids of each one's chunks. Needs the space's lock."""
    chunks = [chunk for text in texts for chunk in text.chunks]
    if not chunks:
        return []
    ids = [row["id"] for row in await tx.fetch_all(NEXT_IDS, {"count": len(chunks)})]
    grouped: list[tuple[int, ...]] = []
    for text in texts:
        start = sum(len(group) for group in grouped)
        grouped.append(tuple(ids[start : start + len(text.chunks)]))
    roots = {memory_id: group[0] for group in grouped for memory_id in group[1:]}
    numbers = {memory_id: number for group in grouped for number, memory_id in enumerate(group)}
    pairs = list(zip(ids, chunks, strict=True))
    rows = [_wide_row(i, chunk, roots.get(i), numbers[i]) for i, chunk in pairs]
    states = [_state_row(*pair, sketch) for pair, sketch in zip(pairs, chunk_sketches(chunks), strict=True)]
    parts: list[Part] = [
        (INSERT_MEMORIES, {"rows": Jsonb(rows)}),
        (INSERT_STATE, {"states": Jsonb(states)}),
        *_new_vectors(family_id, [(i, chunk.vector) for i, chunk in pairs]),
        *_new_evidence([(i, evidence) for i, chunk in pairs for evidence in chunk.borne_out]),
        *new_postings(tx, [chunk.postings(i) for i, chunk in pairs]),
    ]
    await write_together(tx, parts)
    return grouped


async def insert_vectors(
    tx: SpaceTransaction, family_id: int | None, vectors: Sequence[tuple[int, np.ndarray | None]]
) -> None:
    """Adds vectors of one family; each is float32 of the family's length, already normalised."""
    parts = _new_vectors(family_id, vectors)
    if parts:
        await write_together(tx, parts)


def _new_vectors(family_id: int | None, vectors: Sequence[tuple[int, np.ndarray | None]]) -> list[Part]:
    known = [(memory_id, HalfVector(vector)) for memory_id, vector in vectors if vector is not None]
    if not known:
        return []
    ids, embeddings = zip(*known, strict=True)
    return [(INSERT_VECTORS, {"family_id": family_id, "memory_ids": list(ids), "embeddings": list(embeddings)})]


async def read_vectors(tx: SpaceTransaction, family_id: int, ids: Sequence[int]) -> dict[int, np.ndarray]:
    """The vectors that memories were stored with, float32; those that have one of this family."""
    rows = await tx.fetch_all(READ_VECTORS, {"family_id": family_id, "ids": list(ids)}, binary=True)
    return {row["memory_id"]: np.asarray(row["embedding"].to_numpy(), np.float32) for row in rows}


async def add_evidence(tx: SpaceTransaction, evidence: Sequence[tuple[int, Evidence]]) -> None:
    parts = _new_evidence(evidence)
    if parts:
        await write_together(tx, parts)


def _new_evidence(evidence: Sequence[tuple[int, Evidence]]) -> list[Part]:
    rows = [
        {
            "memory_id": memory_id,
            "kind": item.kind,
            "external_id": item.external_id,
            "speaker": item.speaker,
            "observed_at": item.observed_at.isoformat() if item.observed_at else None,
            "excerpt": item.excerpt[:EXCERPT_CHARS],
            "trust": item.trust,
        }
        for memory_id, item in evidence
    ]
    return [(INSERT_EVIDENCE, {"evidence": Jsonb(rows)})] if rows else []


async def read_evidence(tx: SpaceTransaction, memory_id: int) -> list[Evidence]:
    rows = await tx.fetch_all(READ_EVIDENCE, {"id": memory_id})
    return [Evidence(**{**row, "trust": Trust(row["trust"]) if row["trust"] else None}) for row in rows]


async def read_rows(
    tx: SpaceTransaction, space: str, ids: Sequence[int], *, family_id: int | None = None
) -> dict[int, MemoryRow]:
    """The rows of these ids that exist in the space, whatever their audience; the caller filters.

    With their vectors of a family, where one is given.
    """
    if family_id is None:
        rows = await tx.fetch_all(_read_memories(READ_MEMORIES), {"ids": list(ids)})
    else:
        params = {"ids": list(ids), "family_id": family_id}
        rows = await tx.fetch_all(_read_memories(READ_MEMORIES_AND_VECTORS), params)
    return {row["id"]: _row(space, row) for row in rows}


def _row(space: str, columns: Mapping[str, Any]) -> MemoryRow:
    sent = columns.get("embedding")
    vector = None if sent is None else np.asarray(HalfVector.from_binary(sent).to_numpy(), np.float32)
    return MemoryRow(memory_of(space, columns), columns["search_text"], columns["term_count"], vector)


@lru_cache(maxsize=2)
def _read_memories(statement: LiteralString) -> sql.SQL:
    return kept(sql.SQL(statement).format(columns=sql.SQL(MEMORY_COLUMNS)))


def memory_of(space: str, columns: Mapping[str, Any]) -> StoredMemory:
    """A memory from what the tables hold of it (`READ_MEMORIES`), by the names of its fields."""
    return StoredMemory(
        space=space,
        id=columns["id"],
        summary=columns["summary"],
        memory_type=MemoryType(columns["memory_type"]),
        salience=columns["salience"],
        usefulness=columns["usefulness"],
        confidence=columns["confidence"],
        retrieval_count=columns["retrieval_count"],
        source=columns["source"],
        trust=Trust(columns["trust"]),
        source_date=columns["source_date"],
        created_at=columns["created_at"],
        tags=tuple(columns["tags"]),
        entities=tuple(columns["entities"]),
        speaker=columns["speaker"],
        audience=columns["audience"],
        conversation_id=columns["conversation_id"],
        language=columns["language"],
        metadata=columns["metadata"],
        pinned=columns["pinned"],
        superseded_by=columns["superseded_by"],
        superseded_at=columns["superseded_at"],
        superseded_reason=columns["superseded_reason"],
        related_ids=tuple(columns["related_ids"]),
        conflicts_with=tuple(columns["conflicts_with"]),
        chunk_of=columns["chunk_of"],
        chunk_no=columns["chunk_no"],
        last_retrieved_at=columns["last_retrieved_at"],
    )


async def siblings(tx: SpaceTransaction, ids: Sequence[int]) -> list[int]:
    """These ids, if they exist, and every chunk of the same texts; in order."""
    return sorted(row["id"] for row in await tx.fetch_all(READ_WHOLE_TEXTS, {"ids": list(ids)}))


async def chunk_ids(tx: SpaceTransaction, roots: Sequence[int]) -> list[int]:
    """The ids of all chunks of these texts, each named by its first chunk; in order."""
    return sorted(row["id"] for row in await tx.fetch_all(READ_SIBLINGS, {"roots": list(roots)}))


async def list_ids(tx: SpaceTransaction, params: Mapping[str, object]) -> list[int]:
    return [row["id"] for row in await tx.fetch_all(LIST_MEMORIES, params)]


async def delete_vectors(tx: SpaceTransaction, ids: Sequence[int]) -> None:
    await tx.execute(DELETE_VECTORS, {"ids": list(ids)})


def _wide_row(memory_id: int, chunk: NewMemory, chunk_of: int | None, chunk_no: int) -> dict[str, object]:
    return {
        "id": memory_id,
        "summary": chunk.summary,
        "search_text": chunk.search_text,
        "tags": list(chunk.tags),
        "entities": list(chunk.entities),
        "source": chunk.source,
        "trust": chunk.trust,
        "speaker": chunk.speaker,
        "conversation_id": chunk.conversation_id,
        "language": chunk.language,
        "metadata": dict(chunk.metadata),
        "chunk_of": chunk_of,
        "chunk_no": chunk_no,
        "made_by": chunk.made_by,
        "marks": dict(chunk.marks),
    }


def chunk_sketches(chunks: Sequence[NewMemory]) -> list[str | None]:
    """One sketch per chunk; None for a chunk that has no vector yet."""
    known = [chunk.vector for chunk in chunks if chunk.vector is not None]
    found = iter(sketches(np.stack(known)) if known else ())
    return [None if chunk.vector is None else next(found) for chunk in chunks]


def _state_row(memory_id: int, chunk: NewMemory, sketch: str | None) -> dict[str, object]:
    return {
        "id": memory_id,
        "memory_type": chunk.memory_type,
        "audience": chunk.audience,
        "conversation_id": chunk.conversation_id,
        "salience": chunk.salience,
        "confidence": chunk.confidence,
        "term_count": chunk.length,
        "pinned": chunk.pinned,
        "source_date": chunk.source_date.isoformat(),
        "content_hash": chunk.content_hash.hex() if chunk.content_hash else None,
        "sketch": sketch,
        "signature": signature(chunk.terms, chunk.entity_keys),
        "speaker": chunk.speaker_key,
        "is_question": chunk.is_question,
    }
