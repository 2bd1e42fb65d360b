"""A made-up space that is as awkward as a real one, and the fast way to load it.

Vectors come in clusters of very different sizes, words follow Zipf's law (a part of them belongs to the cluster),
salience is continuous over its whole range, and a fifth of the queries point where no memory is near.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import psycopg
from pgvector import Bit, HalfVector
from pgvector.psycopg import register_vector

from perdure.store.sketches import signature, sketches

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The newest memory of a corpus is created here; queries are asked a day later."""

VOCABULARY: Final = 20_000
SPREAD: Final = 0.7  # in-cluster cosine 1 / (1 + spread²) = 0.67
BATCH: Final = 2_000
TALK: Final = 8
CONVERSATION: Final = 40

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Item:
    """One made-up memory."""

    words: tuple[str, ...]
    entity: str | None
    vector: Vector
    salience: float
    usefulness: float
    confidence: float
    retrieval_count: int
    created_at: datetime
    source_date: datetime
    audience: str | None
    conversation: str
    speaker: str
    tag: str | None
    memory_type: str
    superseded: bool
    shelf: int
    is_question: bool


@dataclass(frozen=True, slots=True)
class Query:
    """One made-up query: `kind` says what is hard about it."""

    kind: str
    vector: Vector
    terms: tuple[str, ...]
    entity_keys: tuple[str, ...]


class Corpus:
    """`size` memories of `dimensions`, the same for the same arguments whatever batch is asked for first."""

    def __init__(self, size: int, dimensions: int, *, seed: int = 1) -> None:
        self.size = size
        self.dimensions = dimensions
        self._seed = seed
        topics = max(4, round(size**0.5))
        random = np.random.default_rng([seed, 0])
        self._centres = _unit(random.standard_normal((topics, dimensions), dtype=np.float32))
        self._topic_odds = _zipf(topics)
        self._word_odds = _zipf(VOCABULARY)
        self._entity_odds = _zipf(200)

    def batches(self, start: int = 0) -> Iterator[list[Item]]:
        """Batches of 2,000 memories from item number `start`, a multiple of 2,000."""
        for first in range(start, self.size, BATCH):
            yield self.batch(first)

    def batch(self, first: int) -> list[Item]:
        """The batch whose first item is number `first`."""
        n = min(BATCH, self.size - first)
        random = np.random.default_rng([self._seed, 1, first])
        topics = random.choice(len(self._centres), n, p=self._topic_odds)
        noise = random.standard_normal((n, self.dimensions), dtype=np.float32) / np.float32(self.dimensions**0.5)
        vectors = _unit(self._centres[topics] + np.float32(SPREAD) * noise)
        words = self._words(random, topics)
        entities = random.choice(200, n, p=self._entity_odds)
        uniform = random.random((n, 10))
        items = []
        for i in range(n):
            age = timedelta(days=float(uniform[i, 0]) ** 2 * 730)
            items.append(
                Item(
                    words=words[i],
                    entity=f"entity {entities[i]}" if uniform[i, 1] < 0.3 else None,
                    vector=vectors[i],
                    salience=float(np.float32(1 + 9 * uniform[i, 2])),
                    usefulness=float(np.float32(uniform[i, 3])),
                    confidence=float(np.float32(0.5 + uniform[i, 4] / 2)),
                    retrieval_count=int(-4 * np.log(1 - uniform[i, 5])),
                    created_at=EPOCH - age,
                    source_date=self._said(first + i),
                    audience=None if uniform[i, 7] < 0.9 else "group",
                    conversation=f"conversation {(first + i) // CONVERSATION}",
                    speaker=f"speaker {int(uniform[i, 8] * 4)}",
                    tag="rare tag" if uniform[i, 9] < 0.01 else "tag" if uniform[i, 9] < 0.3 else None,
                    memory_type="reflection" if uniform[i, 9] > 0.995 else "general",
                    superseded=bool(0.98 < uniform[i, 9] <= 0.99),
                    shelf=i % 5,
                    is_question=bool(uniform[i, 6] < 0.3),
                )
            )
        return items

    def queries(self, count: int, *, seed: int = 7) -> list[Query]:
        """`count` queries: common and rare words, with and without an entity, near a cluster and far from all."""
        random = np.random.default_rng([self._seed, 2, seed])
        first = int(random.integers(0, (self.size - 1) // BATCH + 1)) * BATCH
        pool = self.batch(first)
        queries = []
        for i in range(count):
            item = pool[int(random.integers(len(pool)))]
            noise = random.standard_normal(self.dimensions, dtype=np.float32) / np.float32(self.dimensions**0.5)
            own = tuple(random.permutation(item.words)[: int(random.integers(1, 5))])
            common = tuple(f"w{k}" for k in random.choice(50, 3, replace=False))
            kind = ("own words", "common words", "mixed words", "entity", "far")[i % 5]
            terms = {"own words": own, "common words": common, "mixed words": own + common[:2], "entity": own[:2]}
            centre = np.zeros_like(noise) if kind == "far" else item.vector
            queries.append(
                Query(
                    kind=kind,
                    vector=_unit(centre + np.float32(0.5) * noise),
                    terms=tuple(dict.fromkeys(str(word) for word in terms.get(kind, own[:1] + common))),
                    entity_keys=(item.entity or "entity 0", *own[:1]) if kind == "entity" else own,
                )
            )
        return queries

    def _said(self, number: int) -> datetime:
        """Talks of eight turns, five minutes apart, spread over two years."""
        start = EPOCH - timedelta(days=730) * (1 - number // TALK * TALK / self.size)
        return start + timedelta(minutes=5 * (number % TALK))

    def _words(self, random: np.random.Generator, topics: npt.NDArray[np.int64]) -> list[tuple[str, ...]]:
        lengths = random.integers(6, 25, len(topics))
        total = int(lengths.sum())
        ranks = random.choice(VOCABULARY, total, p=self._word_odds)
        of_topic = random.random(total) < 0.25
        own = (np.repeat(topics, lengths) * 37 + random.integers(0, 30, total)) % 15_000 + 1_000
        ranks = np.where(of_topic, own, ranks)
        ends = np.cumsum(lengths)
        return [tuple(f"w{r}" for r in ranks[end - n : end]) for end, n in zip(ends, lengths, strict=True)]


def _unit(rows: Vector) -> Vector:
    norms: Vector = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Vector = rows / norms
    return unit


def _zipf(n: int) -> npt.NDArray[np.float64]:
    odds = 1 / np.arange(1, n + 1)
    result: npt.NDArray[np.float64] = odds / odds.sum()
    return result


COPIES: Final = {
    "memories": (
        """COPY memories (space_id, id, summary, search_text, tags, entities, source, trust, speaker, conversation_id)
        FROM STDIN (FORMAT BINARY)""",
        ["int8", "int8", "text", "text", "text[]", "text[]", "text", "text", "text", "text"],
    ),
    "memory_state": (
        """COPY memory_state (space_id, memory_id, memory_type, audience, conversation_id, salience, usefulness_score,
        confidence, retrieval_count, term_count, created_at, source_date, decayed_at, regressed_at, superseded_by,
        superseded_at, content_hash, sketch, signature, speaker, is_question) FROM STDIN (FORMAT BINARY)""",
        [
            *("int8", "int8", "text", "text", "text", "float4", "float4", "float4", "int4", "int4"),
            *("timestamptz", "timestamptz", "timestamptz", "timestamptz", "int8", "timestamptz", "bytea"),
            *("bit", "bit", "text", "bool"),
        ],
    ),
    "memory_vectors": (
        "COPY memory_vectors (space_id, family_id, memory_id, embedding) FROM STDIN (FORMAT BINARY)",
        ["int8", "int8", "int8", "halfvec"],
    ),
    "memory_terms": (
        "COPY memory_terms (space_id, term, memory_id, tf, length) FROM STDIN (FORMAT BINARY)",
        ["int8", "text", "int8", "int2", "int2"],
    ),
    "memory_entities": (
        "COPY memory_entities (space_id, key, memory_id) FROM STDIN (FORMAT BINARY)",
        ["int8", "text", "int8"],
    ),
    "memory_facets": (
        "COPY memory_facets (space_id, key, memory_id) FROM STDIN (FORMAT BINARY)",
        ["int8", "text", "int8"],
    ),
}


def load_batch(owner: psycopg.Connection[Any], space_id: int, family_id: int, first_id: int, items: list[Item]) -> None:
    """Loads one batch in one transaction, under the owner role; ids count up from `first_id`."""
    register_vector(owner)
    rows: dict[str, list[tuple[object, ...]]] = {table: [] for table in COPIES}
    counts: Counter[tuple[str, str]] = Counter()
    points = sketches(np.stack([item.vector for item in items]))
    for memory_id, (item, sketch) in enumerate(zip(items, points, strict=True), first_id):
        text = " ".join(item.words)
        tags = [item.tag] if item.tag else []
        entities = [item.entity] if item.entity else []
        rows["memories"].append(
            (space_id, memory_id, text, text, tags, entities, "conversation", "user", item.speaker, item.conversation)
        )
        rows["memory_state"].append(
            (
                *(space_id, memory_id, item.memory_type, item.audience, item.conversation, item.salience),
                *(item.usefulness, item.confidence, item.retrieval_count, len(item.words), item.created_at),
                *(item.source_date, item.created_at, item.created_at, first_id if item.superseded else None),
                *(EPOCH if item.superseded else None, hashlib.sha256(f"{memory_id} {text}".encode()).digest()),
                *(Bit(sketch), Bit(signature(item.words, entities)), item.speaker, item.is_question),
            )
        )
        rows["memory_vectors"].append((space_id, family_id, memory_id, HalfVector(item.vector)))
        for term, tf in Counter(item.words).items():
            rows["memory_terms"].append((space_id, term, memory_id, tf, len(item.words)))
            counts["term", term] += 1
        for entity in entities:
            rows["memory_entities"].append((space_id, entity, memory_id))
            counts["entity", entity] += 1
        facets = [f"speaker:{item.speaker}", "source:conversation", f"meta:shelf={item.shelf}"]
        facets += [f"tag:{tag}" for tag in tags]
        for key in facets:
            rows["memory_facets"].append((space_id, key, memory_id))
            counts["facet", key] += 1
    with owner.transaction(), owner.cursor() as cursor:
        for table, (statement, types) in COPIES.items():
            with cursor.copy(statement) as copy:
                copy.set_types(types)
                for row in sorted(rows[table], key=lambda r: r[:3]) if table == "memory_terms" else rows[table]:
                    copy.write_row(row)
        keys = sorted(counts)
        cursor.execute(
            """INSERT INTO space_counts (space_id, kind, key, n)
            SELECT %s, t.kind, t.key, t.n FROM unnest(%s::text[], %s::text[], %s::int8[]) AS t (kind, key, n)
            ON CONFLICT (space_id, kind, key) DO UPDATE SET n = space_counts.n + excluded.n""",
            (space_id, [kind for kind, _ in keys], [key for _, key in keys], [counts[key] for key in keys]),
        )
        cursor.execute(
            """INSERT INTO space_state (space_id, family_id, memories, terms) VALUES (%s, %s, %s, %s)
            ON CONFLICT (space_id) DO UPDATE SET memories = space_state.memories + excluded.memories,
                terms = space_state.terms + excluded.terms""",
            (space_id, family_id, len(items), sum(len(item.words) for item in items)),
        )
