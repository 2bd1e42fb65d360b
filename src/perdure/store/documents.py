"""Documents: looking at them. Every reader names the audience that asks; nothing is found by its id alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from perdure.document_types import Document, DocumentPart, DocumentScope, DocumentState
from perdure.store.database import SpaceTransaction

EVERYBODY: Final = ""
"""As server: the whole space; as audience: everybody in it."""

LIST_DOCUMENTS: Final = """
    SELECT d.id, d.server_id, d.persona_lineage_id, d.audience, d.channel_ids, d.name, d.media_type, d.bytes, d.parts,
           d.uploaded_by, d.state, d.revision, d.created_at, d.updated_at,
           (SELECT count(*) FROM document_chunks c JOIN document_vectors v ON v.chunk_id = c.id
            WHERE c.space_id = %(space_id)s AND v.space_id = %(space_id)s AND c.document_id = d.id
              AND v.family_id = %(family_id)s) AS embedded
    FROM documents d
    WHERE d.space_id = %(space_id)s AND d.audience = ANY(%(audiences)s)
      AND (%(id)s::bigint IS NULL OR d.id = %(id)s)
      AND (%(servers)s::text[] IS NULL OR d.server_id = ANY(%(servers)s::text[]))
      AND (%(lineages)s::bigint[] IS NULL OR d.persona_lineage_id = ANY(%(lineages)s::bigint[]))
    ORDER BY d.name, d.id
"""

READ_PARTS: Final = """
    SELECT c.position, c.content, c.starts, c.ends, c.page FROM document_chunks c
    WHERE c.space_id = %(space_id)s AND c.document_id = %(id)s
    ORDER BY c.position
"""

COUNT_DOCUMENTS: Final = """
    SELECT count(*) AS n FROM documents d WHERE d.space_id = %(space_id)s AND d.state = 'complete'
"""

# Of versions of one name only one will be left, and this one's are counted by whoever asks.
COUNT_IN_SCOPE: Final = """
    SELECT count(DISTINCT d.name) AS documents, coalesce(sum(d.parts), 0) AS parts FROM documents d
    WHERE d.space_id = %(space_id)s AND d.server_id = %(server_id)s AND d.persona_lineage_id = %(lineage)s
      AND d.audience = %(audience)s AND d.name <> %(name)s
"""


def scope_params(scope: DocumentScope) -> dict[str, object]:
    """A scope as statements name it."""
    return {
        "server_id": scope.server_id or EVERYBODY,
        "lineage": scope.lineage,
        "audience": scope.audience or EVERYBODY,
    }


def reach_of(scope: DocumentScope) -> dict[str, object]:
    """What is seen from a scope: its own documents, and those for more servers, lineages and people."""
    return {
        "servers": [EVERYBODY, *([scope.server_id] if scope.server_id else [])],
        "lineages": sorted({0, scope.lineage}),
        "audiences": audiences(scope.audience),
    }


def audiences(audience: str | None) -> list[str]:
    """Whose documents an audience may see (rules.audience says the same)."""
    return [EVERYBODY, *([audience] if audience else [])]


async def list_documents(
    tx: SpaceTransaction,
    family_id: int,
    audience: str | None,
    *,
    server_id: str | None = None,
    lineage: int | None = None,
    document_id: int | None = None,
) -> list[Document]:
    """Documents by name that this audience may see, arriving ones too; of one server or lineage, if it is named."""
    params = {
        "family_id": family_id,
        "audiences": audiences(audience),
        "servers": None if server_id is None else [server_id],
        "lineages": None if lineage is None else [lineage],
        "id": document_id,
    }
    return [document_of(row) for row in await tx.fetch_all(LIST_DOCUMENTS, params)]


async def read_document(
    tx: SpaceTransaction, family_id: int, document_id: int, audience: str | None
) -> Document | None:
    """One document, if this audience may see it."""
    found = await list_documents(tx, family_id, audience, document_id=document_id)
    return found[0] if found else None


async def read_parts(tx: SpaceTransaction, document_id: int) -> list[DocumentPart]:
    """The passages of a document in order. That it may be seen is the caller's to know."""
    return [
        DocumentPart(row["position"], row["content"], row["starts"], row["ends"], row["page"])
        for row in await tx.fetch_all(READ_PARTS, {"id": document_id})
    ]


async def count_documents(tx: SpaceTransaction) -> int:
    """How many documents the space holds, for whomever."""
    row = await tx.fetch_one(COUNT_DOCUMENTS)
    assert row is not None
    return int(row["n"])


async def count_in_scope(tx: SpaceTransaction, scope: DocumentScope, name: str) -> tuple[int, int]:
    """Documents of a scope and their passages, arriving ones too, without those of this name. Needs the space's lock
    where that decides anything."""
    row = await tx.fetch_one(COUNT_IN_SCOPE, {**scope_params(scope), "name": name})
    assert row is not None
    return int(row["documents"]), int(row["parts"])


def document_of(row: Mapping[str, Any]) -> Document:
    """A row of the table, with `embedded` besides."""
    return Document(
        id=row["id"],
        name=row["name"],
        media_type=row["media_type"],
        size=row["bytes"],
        parts=row["parts"],
        embedded=row["embedded"],
        scope=DocumentScope(row["server_id"] or None, row["persona_lineage_id"], row["audience"] or None),
        channel_ids=tuple(row["channel_ids"]),
        uploaded_by=row["uploaded_by"],
        state=DocumentState(row["state"]),
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
