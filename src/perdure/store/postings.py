"""Postings of a memory (terms, entities, facets) and the counts that go with them, always in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from perdure.store.database import SpaceTransaction
from perdure.store.spaces import counted
from perdure.store.statements import Part, write_together

MAX_TF: Final = 32767  # smallint

# `b`, binary: lists go out as text otherwise, and a batch of an import has thousands of postings.
INSERT_TERMS: Final = """
    INSERT INTO memory_terms (space_id, term, memory_id, tf, length)
    SELECT %(space_id)s, t.term, t.memory_id, t.tf, t.length
    FROM unnest(%(term_keys)b::text[], %(term_ids)b::bigint[], %(tfs)b::smallint[], %(lengths)b::smallint[])
        AS t (term, memory_id, tf, length)
"""

INSERT_ENTITIES: Final = """
    INSERT INTO memory_entities (space_id, key, memory_id)
    SELECT %(space_id)s, t.key, t.memory_id
    FROM unnest(%(entity_keys)s::text[], %(entity_ids)s::bigint[]) AS t (key, memory_id)
"""

INSERT_FACETS: Final = """
    INSERT INTO memory_facets (space_id, key, memory_id)
    SELECT %(space_id)s, t.key, t.memory_id
    FROM unnest(%(facet_keys)s::text[], %(facet_ids)s::bigint[]) AS t (key, memory_id)
"""

ADD_FACETS: Final = """
    INSERT INTO memory_facets (space_id, key, memory_id)
    SELECT %(space_id)s, t.key, %(memory_id)s FROM unnest(%(keys)s::text[]) AS t (key)
    ON CONFLICT DO NOTHING
    RETURNING key
"""

ADD_ENTITIES: Final = """
    INSERT INTO memory_entities (space_id, key, memory_id)
    SELECT %(space_id)s, t.key, %(memory_id)s FROM unnest(%(keys)s::text[]) AS t (key)
    ON CONFLICT DO NOTHING
    RETURNING key
"""

DELETE_TERMS: Final = """
    DELETE FROM memory_terms p
    USING unnest(%(term_keys)s::text[], %(term_ids)s::bigint[]) AS t (term, memory_id)
    WHERE p.space_id = %(space_id)s AND p.term = t.term AND p.memory_id = t.memory_id
"""

DELETE_ENTITIES: Final = """
    DELETE FROM memory_entities p
    USING unnest(%(entity_keys)s::text[], %(entity_ids)s::bigint[]) AS t (key, memory_id)
    WHERE p.space_id = %(space_id)s AND p.key = t.key AND p.memory_id = t.memory_id
"""

DELETE_FACETS: Final = """
    DELETE FROM memory_facets p
    USING unnest(%(facet_keys)s::text[], %(facet_ids)s::bigint[]) AS t (key, memory_id)
    WHERE p.space_id = %(space_id)s AND p.key = t.key AND p.memory_id = t.memory_id
"""

ADD_COUNTS: Final = """
    INSERT INTO space_counts (space_id, kind, key, n)
    SELECT %(space_id)s, t.kind, t.key, t.n
    FROM unnest(%(kinds)b::text[], %(keys)b::text[], %(ns)b::bigint[]) AS t (kind, key, n)
    ON CONFLICT (space_id, kind, key) DO UPDATE SET n = space_counts.n + excluded.n
"""

DROP_EMPTY_COUNTS: Final = """
    DELETE FROM space_counts c
    USING unnest(%(kinds)s::text[], %(keys)s::text[]) AS t (kind, key)
    WHERE c.space_id = %(space_id)s AND c.kind = t.kind AND c.key = t.key AND c.n <= 0
"""


@dataclass(frozen=True, slots=True)
class Postings:
    """The keys one memory is found by. `terms` keeps repetitions: the count of a term is its frequency.

    `length` is the length of the text by which lexical scores are normalised, `memory_state.term_count`. It is not
    `len(terms)`: what is known about a text (its speaker, its date) doesn't make it longer.
    """

    memory_id: int
    terms: tuple[str, ...]
    entities: tuple[str, ...]
    facets: tuple[str, ...]
    length: int


async def insert_postings(tx: SpaceTransaction, postings: Sequence[Postings]) -> None:
    """Adds postings and counts them; the caller holds the space's lock."""
    await write_together(tx, new_postings(tx, postings))


def new_postings(tx: SpaceTransaction, postings: Sequence[Postings]) -> list[Part]:
    """What `insert_postings` writes, to be written together with the memories."""
    frequencies = [(p, Counter(p.terms)) for p in postings]
    rows = [(term, p.memory_id, tf, p.length) for p, found in frequencies for term, tf in found.items()]
    parts: list[Part] = []
    if rows:
        terms, ids, tfs, lengths = zip(*rows, strict=True)
        params = {
            "term_keys": list(terms),
            "term_ids": list(ids),
            "tfs": [min(tf, MAX_TF) for tf in tfs],
            "lengths": [min(length, MAX_TF) for length in lengths],
        }
        parts.append((INSERT_TERMS, params))
    return [*parts, *_keyed(postings, INSERT_ENTITIES, INSERT_FACETS), *_counts(tx, postings, +1)]


async def add_facets(tx: SpaceTransaction, memory_id: int, keys: Sequence[str]) -> None:
    """Adds facets to a memory that may have some of them; the caller holds the space's lock."""
    await _add(tx, ADD_FACETS, "facet", memory_id, keys)


async def add_entities(tx: SpaceTransaction, memory_id: int, keys: Sequence[str]) -> None:
    """Adds entity keys to a memory that may have some of them; the caller holds the space's lock."""
    await _add(tx, ADD_ENTITIES, "entity", memory_id, keys)


async def delete_postings(tx: SpaceTransaction, postings: Sequence[Postings]) -> None:
    """Removes what `insert_postings` added, counts included."""
    terms = [(term, p.memory_id) for p in postings for term in sorted(set(p.terms))]
    parts: list[Part] = []
    if terms:
        names, ids = zip(*terms, strict=True)
        parts.append((DELETE_TERMS, {"term_keys": list(names), "term_ids": list(ids)}))
    parts += [*_keyed(postings, DELETE_ENTITIES, DELETE_FACETS), *_counts(tx, postings, -1)]
    await write_together(tx, parts)
    for statement, params in parts:
        if statement is ADD_COUNTS:
            await tx.execute(DROP_EMPTY_COUNTS, {"kinds": params["kinds"], "keys": params["keys"]})


async def _add(tx: SpaceTransaction, statement: LiteralString, kind: str, memory_id: int, keys: Sequence[str]) -> None:
    new = [row["key"] for row in await tx.fetch_all(statement, {"memory_id": memory_id, "keys": sorted(set(keys))})]
    if new:
        counts = {"kinds": [kind] * len(new), "keys": sorted(new), "ns": [1] * len(new)}
        await write_together(tx, [(ADD_COUNTS, counts), counted(tx)])


def _keyed(postings: Sequence[Postings], of_entities: LiteralString, of_facets: LiteralString) -> list[Part]:
    parts: list[Part] = []
    for kind, statement, rows in (
        ("entity", of_entities, [(key, p.memory_id) for p in postings for key in p.entities]),
        ("facet", of_facets, [(key, p.memory_id) for p in postings for key in p.facets]),
    ):
        if rows:
            keys, ids = zip(*rows, strict=True)
            parts.append((statement, {f"{kind}_keys": list(keys), f"{kind}_ids": list(ids)}))
    return parts


def _counts(tx: SpaceTransaction, postings: Sequence[Postings], sign: int) -> list[Part]:
    counts: Counter[tuple[str, str]] = Counter()
    for p in postings:
        counts.update(("term", term) for term in set(p.terms))
        counts.update(("entity", key) for key in p.entities)
        counts.update(("facet", key) for key in p.facets)
    parts: list[Part] = []
    # Sorted, so that two writers could never take row locks in opposite order.
    ordered = sorted(counts.items())
    if ordered:
        keys = [key for (_, key), _ in ordered]
        kinds = [kind for (kind, _), _ in ordered]
        parts.append((ADD_COUNTS, {"kinds": kinds, "keys": keys, "ns": [sign * n for _, n in ordered]}))
    return [*parts, counted(tx, memories=sign * len(postings), terms=sign * sum(p.length for p in postings))]
