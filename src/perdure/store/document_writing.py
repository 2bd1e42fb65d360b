"""Documents: writing them. One arrives with all its words, gets its vectors bit by bit, and appears as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, LiteralString

import numpy as np
from pgvector import HalfVector
from psycopg import sql
from psycopg.types.json import Jsonb

from perdure.document_types import DocumentPart, DocumentScope
from perdure.store.database import SpaceTransaction
from perdure.store.documents import audiences, scope_params

FIND_NAMED: Final = """
    SELECT d.id, d.content_hash, d.channel_ids, d.uploaded_by FROM documents d
    WHERE d.space_id = %(space_id)s AND d.server_id = %(server_id)s AND d.persona_lineage_id = %(lineage)s
      AND d.audience = %(audience)s AND d.name = %(name)s AND d.state = 'complete'
"""

FIND_ARRIVING: Final = """
    SELECT d.id FROM documents d
    WHERE d.space_id = %(space_id)s AND d.server_id = %(server_id)s AND d.persona_lineage_id = %(lineage)s
      AND d.audience = %(audience)s AND d.name = %(name)s AND d.content_hash = %(content_hash)s
      AND d.state = 'arriving'
"""

DROP_ABANDONED: Final = """
    DELETE FROM documents WHERE space_id = %(space_id)s AND state = 'arriving' AND updated_at < %(before)s
"""

INSERT_ARRIVING: Final = """
    INSERT INTO documents (space_id, server_id, persona_lineage_id, audience, channel_ids, name, media_type, bytes,
                           content_hash, parts, uploaded_by, state, created_at, updated_at)
    VALUES (%(space_id)s, %(server_id)s, %(lineage)s, %(audience)s, %(channel_ids)s, %(name)s, %(media_type)s,
            %(bytes)s, %(content_hash)s, %(parts)s, %(uploaded_by)s, 'arriving', %(now)s, %(now)s)
    RETURNING id
"""

INSERT_PARTS: Final = """
    INSERT INTO document_chunks (space_id, document_id, position, content, starts, ends, page)
    SELECT %(space_id)s, %(id)s, r.position, r.content, r.starts, r.ends, r.page
    FROM jsonb_to_recordset(%(rows)s) AS r (position integer, content text, starts integer, ends integer, page integer)
"""

TAKE_UP: Final = """
    UPDATE documents
    SET channel_ids = %(channel_ids)s, uploaded_by = %(uploaded_by)s, updated_at = %(now)s
    WHERE space_id = %(space_id)s AND id = %(id)s
"""

CHANGE_TERMS: Final = """
    UPDATE documents
    SET channel_ids = %(channel_ids)s, uploaded_by = %(uploaded_by)s, updated_at = %(now)s, revision = revision + 1
    WHERE space_id = %(space_id)s AND id = %(id)s
"""

FIND_UNEMBEDDED: Final = """
    SELECT c.id, c.content FROM document_chunks c
    JOIN documents d ON d.space_id = %(space_id)s AND d.id = c.document_id
    LEFT JOIN document_vectors v ON v.space_id = %(space_id)s AND v.chunk_id = c.id AND v.family_id = %(family_id)s
    WHERE c.space_id = %(space_id)s AND v.chunk_id IS NULL AND {which}
    ORDER BY d.updated_at DESC, c.document_id, c.position
    LIMIT %(limit)s
"""

COUNT_UNEMBEDDED: Final = """
    SELECT count(*) AS n FROM document_chunks c
    JOIN documents d ON d.space_id = %(space_id)s AND d.id = c.document_id
    LEFT JOIN document_vectors v ON v.space_id = %(space_id)s AND v.chunk_id = c.id AND v.family_id = %(family_id)s
    WHERE c.space_id = %(space_id)s AND v.chunk_id IS NULL AND {which}
"""

OF_ONE: Final = sql.SQL("c.document_id = %(id)s AND d.id = %(id)s")
OF_ALL: Final = sql.SQL("d.state = 'complete'")
"""What arrives is embedded by whoever hands it in."""

# A passage that is gone by now takes no vector, and one that got its vector from somebody else keeps that.
INSERT_VECTORS: Final = """
    INSERT INTO document_vectors (space_id, family_id, chunk_id, embedding)
    SELECT %(space_id)s, %(family_id)s, c.id, t.embedding
    FROM unnest(%(ids)s::bigint[], %(embeddings)b::halfvec[]) AS t (id, embedding)
    JOIN document_chunks c ON c.space_id = %(space_id)s AND c.id = t.id
    FOR KEY SHARE OF c
    ON CONFLICT (space_id, chunk_id, family_id) DO NOTHING
"""

COMPLETE: Final = """
    UPDATE documents SET state = 'complete', updated_at = %(now)s WHERE space_id = %(space_id)s AND id = %(id)s
"""

DROP_PARTS: Final = """
    DELETE FROM document_chunks WHERE space_id = %(space_id)s AND document_id = %(id)s
"""

MOVE_PARTS: Final = """
    UPDATE document_chunks SET document_id = %(id)s WHERE space_id = %(space_id)s AND document_id = %(arriving)s
"""

TAKE_OVER: Final = """
    UPDATE documents d
    SET channel_ids = a.channel_ids, media_type = a.media_type, bytes = a.bytes, content_hash = a.content_hash,
        parts = a.parts, uploaded_by = a.uploaded_by, revision = d.revision + 1, updated_at = %(now)s
    FROM documents a
    WHERE d.space_id = %(space_id)s AND d.id = %(id)s AND a.space_id = %(space_id)s AND a.id = %(arriving)s
"""

DROP_EMPTIED: Final = """
    DELETE FROM documents WHERE space_id = %(space_id)s AND id = %(arriving)s
"""

DELETE_DOCUMENT: Final = """
    DELETE FROM documents WHERE space_id = %(space_id)s AND id = %(id)s AND audience = ANY(%(audiences)s)
"""

ABANDONED_AFTER: Final = timedelta(days=1)
"""A document that nobody went on with for so long makes room when the next one comes."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document that was read: what it is, and its passages in order."""

    name: str
    scope: DocumentScope
    channel_ids: tuple[str, ...]
    uploaded_by: str | None
    media_type: str
    size: int
    content_hash: bytes
    parts: tuple[DocumentPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """The complete document of a name."""

    id: int
    content_hash: bytes
    channel_ids: tuple[str, ...]
    uploaded_by: str | None

    def is_as(self, new: NewDocument) -> bool:
        """Whether it has the channels and the uploader of `new`, too."""
        return self.channel_ids == new.channel_ids and self.uploaded_by == new.uploaded_by


async def find_named(tx: SpaceTransaction, scope: DocumentScope, name: str) -> Named | None:
    """The document of this name in a scope; one that is still arriving is none."""
    row = await tx.fetch_one(FIND_NAMED, {**scope_params(scope), "name": name})
    if row is None:
        return None
    return Named(row["id"], bytes(row["content_hash"]), tuple(row["channel_ids"]), row["uploaded_by"])


async def find_arriving(tx: SpaceTransaction, new: NewDocument) -> int | None:
    """The same file under the same name, of which something still has to be embedded."""
    params = {**scope_params(new.scope), "name": new.name, "content_hash": new.content_hash}
    row = await tx.fetch_one(FIND_ARRIVING, params)
    return row["id"] if row else None


async def drop_abandoned(tx: SpaceTransaction) -> None:
    """Removes what began to arrive and was left alone for a day. Needs the space's lock."""
    await tx.execute(DROP_ABANDONED, {"before": tx.now - ABANDONED_AFTER})


async def insert_arriving(tx: SpaceTransaction, new: NewDocument) -> int:
    """Stores a document with all its words, to be found by nobody yet. Needs the space's lock, and room."""
    params = {
        **scope_params(new.scope),
        "channel_ids": list(new.channel_ids),
        "name": new.name,
        "media_type": new.media_type,
        "bytes": new.size,
        "content_hash": new.content_hash,
        "parts": len(new.parts),
        "uploaded_by": new.uploaded_by,
    }
    row = await tx.fetch_one(INSERT_ARRIVING, params)
    assert row is not None
    rows = [
        {"position": one.position, "content": one.text, "starts": one.starts, "ends": one.ends, "page": one.page}
        for one in new.parts
    ]
    await tx.execute(INSERT_PARTS, {"id": row["id"], "rows": Jsonb(rows)})
    return int(row["id"])


async def take_up(tx: SpaceTransaction, document_id: int, new: NewDocument) -> None:
    """Goes on with a document that is arriving. Needs the space's lock."""
    await tx.execute(TAKE_UP, _terms(document_id, new))


async def change_terms(tx: SpaceTransaction, document_id: int, new: NewDocument) -> None:
    """The same file for other channels, or from somebody else. Needs the space's lock."""
    await tx.execute(CHANGE_TERMS, _terms(document_id, new))


async def find_unembedded(
    tx: SpaceTransaction, family_id: int, limit: int, *, document_id: int | None = None
) -> list[tuple[int, str]]:
    """Ids and words of passages without a vector of a family: of one document, or of all complete ones."""
    params = {"family_id": family_id, "limit": limit, "id": document_id}
    rows = await tx.fetch_all(_which(FIND_UNEMBEDDED, document_id), params)
    return [(row["id"], row["content"]) for row in rows]


async def insert_vectors(tx: SpaceTransaction, family_id: int, ids: Sequence[int], vectors: np.ndarray) -> int:
    """Adds vectors, each a normalised float32 row of the family's length; returns how many passages took one."""
    params = {"family_id": family_id, "ids": list(ids), "embeddings": [HalfVector(vector) for vector in vectors]}
    return await tx.execute(INSERT_VECTORS, params)


async def count_unembedded(tx: SpaceTransaction, family_id: int, *, document_id: int | None = None) -> int:
    """How many passages have no vector of a family: of one document, or of all complete ones."""
    params = {"family_id": family_id, "id": document_id}
    row = await tx.fetch_one(_which(COUNT_UNEMBEDDED, document_id), params)
    assert row is not None
    return int(row["n"])


async def complete(tx: SpaceTransaction, arriving: int, replaces: int | None) -> int:
    """Lets an arriving document be found, in the place of the one it replaces. Needs the space's lock.

    Returns:
        Its id: that of the replaced one, if there is one.
    """
    if replaces is None:
        await tx.execute(COMPLETE, {"id": arriving})
        return arriving
    params = {"id": replaces, "arriving": arriving}
    for statement in (DROP_PARTS, MOVE_PARTS, TAKE_OVER, DROP_EMPTIED):
        await tx.execute(statement, params)
    return replaces


async def delete_document(tx: SpaceTransaction, document_id: int, audience: str | None) -> bool:
    """Removes a document with its words and vectors, if this audience may see it."""
    return await tx.execute(DELETE_DOCUMENT, {"id": document_id, "audiences": audiences(audience)}) > 0


def _which(statement: LiteralString, document_id: int | None) -> sql.Composed:
    return sql.SQL(statement).format(which=OF_ALL if document_id is None else OF_ONE)


def _terms(document_id: int, new: NewDocument) -> dict[str, object]:
    return {"id": document_id, "channel_ids": list(new.channel_ids), "uploaded_by": new.uploaded_by}
