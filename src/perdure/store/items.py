"""Items that a framework keeps under a namespace and a key: JSON values, found by key, by what they hold, by meaning.

An item belongs to one audience, and a handle of another one doesn't see it. One whose time is over is not there any
more, whether or not its row was swept away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

import numpy as np
from pgvector import HalfVector
from psycopg import sql
from psycopg.types.json import Jsonb

from perdure.rules.item_filters import Condition
from perdure.store.database import SpaceTransaction

DOT: Final = "."
"""Joins the labels of a namespace; "/" is what follows it in the order of bytes."""

COLUMNS: Final = "i.id, i.namespace, i.key, i.value, i.created_at, i.updated_at, i.ttl_minutes"

LIVING: Final = """
    i.audience = %(audience)s AND (i.expires_at IS NULL OR i.expires_at > %(now)s)
"""

# Compared as the types of JSON are: a number with a number, a text with a text; what is not there is null.
MATCHING: Final = """
    (%(prefix)s::text IS NULL OR i.namespace = %(prefix)s
     OR (i.namespace >= %(prefix)s || '.' AND i.namespace < %(prefix)s || '/'))
    AND NOT EXISTS (
        SELECT 1 FROM jsonb_to_recordset(%(conditions)s) AS w (path text[], test text, operand jsonb)
        WHERE (CASE w.test
            WHEN 'eq' THEN coalesce(i.value #> w.path, 'null') = coalesce(w.operand, 'null')
            WHEN 'ne' THEN coalesce(i.value #> w.path, 'null') <> coalesce(w.operand, 'null')
            WHEN 'type' THEN jsonb_typeof(i.value #> w.path) = w.operand #>> '{}'
            WHEN 'length' THEN
                CASE jsonb_typeof(i.value #> w.path) WHEN 'array' THEN jsonb_array_length(i.value #> w.path) END
                = (w.operand #>> '{}')::integer
            ELSE jsonb_typeof(i.value #> w.path) = jsonb_typeof(w.operand) AND CASE w.test
                WHEN 'gt' THEN i.value #> w.path > w.operand
                WHEN 'gte' THEN i.value #> w.path >= w.operand
                WHEN 'lt' THEN i.value #> w.path < w.operand
                WHEN 'lte' THEN i.value #> w.path <= w.operand
            END
        END) IS NOT TRUE
    )
"""

READ_ITEM: Final = """
    SELECT {columns}, NULL::double precision AS score FROM store_items i
    WHERE i.space_id = %(space_id)s AND {living} AND i.namespace = %(namespace)s AND i.key = %(key)s
"""

LIST_ITEMS: Final = """
    SELECT {columns}, NULL::double precision AS score FROM store_items i
    WHERE i.space_id = %(space_id)s AND {living} AND {matching}
    ORDER BY i.updated_at DESC, i.id DESC LIMIT %(limit)s OFFSET %(offset)s
"""

# Step by step (MATERIALIZED), as documents are searched: else all vectors of the space are compared first.
NEAREST_ITEMS: Final = """
    WITH reach AS MATERIALIZED (
        SELECT i.id, i.updated_at FROM store_items i WHERE i.space_id = %(space_id)s AND {living} AND {matching}
    ),
    page AS MATERIALIZED (
        SELECT r.id, max(1 - (v.embedding <=> %(vector)s::halfvec)) AS score FROM reach r
        LEFT JOIN store_item_vectors v
            ON v.space_id = %(space_id)s AND v.item_id = r.id AND v.family_id = %(family_id)s
        GROUP BY r.id, r.updated_at
        ORDER BY score DESC NULLS LAST, r.updated_at DESC, r.id DESC LIMIT %(limit)s OFFSET %(offset)s
    )
    SELECT {columns}, p.score FROM page p
    JOIN store_items i ON i.space_id = %(space_id)s AND i.id = p.id
    ORDER BY p.score DESC NULLS LAST, i.updated_at DESC, i.id DESC
"""

LIST_NAMESPACES: Final = """
    SELECT DISTINCT (string_to_array(i.namespace, '.'))[1:%(depth)s] AS labels FROM store_items i
    WHERE i.space_id = %(space_id)s AND {living} AND i.namespace ~ ALL(%(patterns)s::text[])
    ORDER BY labels LIMIT %(limit)s OFFSET %(offset)s
"""

PUT_ITEM: Final = """
    INSERT INTO store_items (space_id, audience, namespace, key, value, passages, created_at, updated_at, ttl_minutes,
                             expires_at)
    VALUES (%(space_id)s, %(audience)s, %(namespace)s, %(key)s, %(value)s, %(passages)s, %(now)s, %(now)s,
            %(ttl_minutes)s, %(expires_at)s)
    ON CONFLICT (space_id, audience, namespace, key) DO UPDATE
    SET value = excluded.value, passages = excluded.passages, updated_at = excluded.updated_at,
        ttl_minutes = excluded.ttl_minutes, expires_at = excluded.expires_at
    RETURNING id
"""

DROP_VECTORS: Final = """
    DELETE FROM store_item_vectors WHERE space_id = %(space_id)s AND item_id = %(id)s
"""

INSERT_VECTORS: Final = """
    INSERT INTO store_item_vectors (space_id, family_id, item_id, position, embedding)
    SELECT %(space_id)s, %(family_id)s, i.id, t.position, t.embedding
    FROM unnest(%(ids)s::bigint[], %(positions)s::integer[], %(embeddings)b::halfvec[]) AS t (id, position, embedding)
    JOIN store_items i ON i.space_id = %(space_id)s AND i.id = t.id
    FOR KEY SHARE OF i
    ON CONFLICT (space_id, item_id, family_id, position) DO NOTHING
"""

DELETE_ITEM: Final = """
    DELETE FROM store_items
    WHERE space_id = %(space_id)s AND audience = %(audience)s AND namespace = %(namespace)s AND key = %(key)s
    RETURNING id
"""

PUT_OFF: Final = """
    UPDATE store_items i SET expires_at = t.expires_at
    FROM unnest(%(ids)s::bigint[], %(expiries)s::timestamptz[]) AS t (id, expires_at)
    WHERE i.space_id = %(space_id)s AND i.id = t.id AND i.expires_at IS NOT NULL
"""

SWEEP: Final = """
    DELETE FROM store_items WHERE space_id = %(space_id)s AND expires_at <= %(now)s
"""

FIND_UNEMBEDDED: Final = """
    SELECT i.id, t.position::integer - 1 AS position, t.passage
    FROM store_items i
    CROSS JOIN LATERAL unnest(i.passages) WITH ORDINALITY AS t (passage, position)
    LEFT JOIN store_item_vectors v ON v.space_id = %(space_id)s AND v.item_id = i.id
        AND v.family_id = %(family_id)s AND v.position = t.position - 1
    WHERE i.space_id = %(space_id)s AND v.item_id IS NULL
    ORDER BY i.updated_at DESC, i.id, t.position LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Item:
    """A value under a namespace and a key. `score` is the cosine of its nearest passage, where it was sought by words.

    `ttl_minutes` is how long it lives from when it was last written or read; None: until it is deleted.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl_minutes: float | None = None
    score: float | None = None
    id: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to be written; `passages` are the words that it is to be found by."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    passages: tuple[str, ...]
    ttl_minutes: float | None


@dataclass(frozen=True, slots=True)
class Reach:
    """Which items are meant: below a namespace, with all that is asked of their values, one page of them."""

    prefix: tuple[str, ...]
    conditions: Sequence[Condition]
    limit: int
    offset: int


async def read_item(tx: SpaceTransaction, audience: str | None, namespace: Sequence[str], key: str) -> Item | None:
    """The item, if it is there for this audience."""
    rows = await tx.fetch_all(
        _filled(READ_ITEM), {"audience": audience or "", "namespace": DOT.join(namespace), "key": key}
    )
    return _item(rows[0]) if rows else None


async def list_items(tx: SpaceTransaction, audience: str | None, reach: Reach) -> list[Item]:
    """Items in reach, latest change first."""
    return [_item(row) for row in await tx.fetch_all(_filled(LIST_ITEMS), _params(audience, reach), prepare=False)]


async def nearest_items(
    tx: SpaceTransaction, audience: str | None, reach: Reach, family_id: int, vector: np.ndarray
) -> list[Item]:
    """Items in reach, nearest first; those without a vector of the family come last."""
    params = {**_params(audience, reach), "family_id": family_id, "vector": HalfVector(vector)}
    return [_item(row) for row in await tx.fetch_all(_filled(NEAREST_ITEMS), params, prepare=False)]


async def list_namespaces(
    tx: SpaceTransaction, audience: str | None, patterns: Sequence[str], *, depth: int, limit: int, offset: int
) -> list[tuple[str, ...]]:
    """Namespaces that hold an item and fit every pattern, cut to `depth` labels, in order."""
    params = {"patterns": list(patterns), "depth": depth, "limit": limit, "offset": offset}
    rows = await tx.fetch_all(_filled(LIST_NAMESPACES), {"audience": audience or "", **params})
    return [tuple(row["labels"]) for row in rows]


async def put_item(tx: SpaceTransaction, audience: str | None, item: NewItem) -> int:
    """Writes an item anew, without vectors, and returns its id; what was under its key is gone."""
    ttl = item.ttl_minutes
    row = await tx.fetch_one(
        PUT_ITEM,
        {
            "audience": audience or "",
            "namespace": DOT.join(item.namespace),
            "key": item.key,
            "value": Jsonb(item.value),
            "passages": list(item.passages),
            "ttl_minutes": ttl,
            "expires_at": None if ttl is None else tx.now + timedelta(minutes=ttl),
        },
    )
    assert row is not None
    await tx.execute(DROP_VECTORS, {"id": row["id"]})
    return int(row["id"])


async def delete_item(tx: SpaceTransaction, audience: str | None, namespace: Sequence[str], key: str) -> int | None:
    """Deletes an item; returns its id if it was there."""
    row = await tx.fetch_one(DELETE_ITEM, {"audience": audience or "", "namespace": DOT.join(namespace), "key": key})
    return None if row is None else int(row["id"])


async def insert_vectors(
    tx: SpaceTransaction, family_id: int, places: Sequence[tuple[int, int]], vectors: np.ndarray
) -> int:
    """Gives passages (item id, position) their vectors; returns how many took one."""
    if not places:
        return 0
    params = {
        "family_id": family_id,
        "ids": [item_id for item_id, _ in places],
        "positions": [position for _, position in places],
        "embeddings": [HalfVector(vector) for vector in vectors],
    }
    return await tx.execute(INSERT_VECTORS, params)


async def put_off(tx: SpaceTransaction, items: Sequence[Item]) -> None:
    """Counts the time of items that were read from now on."""
    mortal = [(item.id, tx.now + timedelta(minutes=item.ttl_minutes)) for item in items if item.ttl_minutes]
    if mortal:
        await tx.execute(PUT_OFF, {"ids": [each for each, _ in mortal], "expiries": [then for _, then in mortal]})


async def sweep(tx: SpaceTransaction) -> int:
    """Deletes the items of the space whose time is over; returns how many."""
    return await tx.execute(SWEEP)


async def find_unembedded(tx: SpaceTransaction, family_id: int, limit: int) -> list[tuple[int, int, str]]:
    """Passages without a vector of the family: item id, position, words."""
    rows = await tx.fetch_all(FIND_UNEMBEDDED, {"family_id": family_id, "limit": limit})
    return [(row["id"], row["position"], row["passage"]) for row in rows]


def _filled(statement: LiteralString) -> sql.Composed:
    return sql.SQL(statement).format(columns=sql.SQL(COLUMNS), living=sql.SQL(LIVING), matching=sql.SQL(MATCHING))


def _params(audience: str | None, reach: Reach) -> dict[str, object]:
    conditions = [{"path": one.path, "test": one.test, "operand": one.operand} for one in reach.conditions]
    return {
        "audience": audience or "",
        "prefix": DOT.join(reach.prefix) if reach.prefix else None,
        "conditions": Jsonb(conditions),
        "limit": reach.limit,
        "offset": reach.offset,
    }


def _item(row: Mapping[str, Any]) -> Item:
    return Item(
        namespace=tuple(row["namespace"].split(DOT)),
        key=row["key"],
        value=row["value"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        ttl_minutes=row["ttl_minutes"],
        score=row["score"],
        id=row["id"],
    )
