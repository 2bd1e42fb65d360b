"""What documents are to those who hand them in and look them up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perdure.types import Id


class DocumentState(StrEnum):
    """`arriving`: some of it has no vector yet, and none of it is found."""

    ARRIVING = "arriving"
    COMPLETE = "complete"


class AddedStatus(StrEnum):
    """What came of handing in a document; `changed`: the same file, for other channels or from somebody else."""

    ADDED = "added"
    REPLACED = "replaced"
    CHANGED = "changed"
    ALREADY_KNOWN = "already_known"


@dataclass(frozen=True, slots=True)
class DocumentScope:
    """Where documents belong, or from where they are looked for.

    `server_id` None is the whole space, `lineage` 0 every persona, `audience` None everybody in the space. Within one
    scope a name is there once.
    """

    server_id: str | None = None
    lineage: int = 0
    audience: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A document without its text. `size` is that of the file in bytes; no `channel_ids`: every channel.

    `parts` counts its passages, `embedded` those with a vector of the embedder at hand: the others are not found.
    """

    id: Id
    name: str
    media_type: str
    size: int
    parts: int
    embedded: int
    scope: DocumentScope
    channel_ids: tuple[str, ...]
    uploaded_by: str | None
    state: DocumentState
    revision: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A passage: the `position`th, 1 being the first; characters `starts` to `ends` of the text; `page` as in a PDF."""

    position: int
    text: str
    starts: int
    ends: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document and its passages in order; neighbours overlap."""

    document: Document
    parts: tuple[DocumentPart, ...]


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A passage that a query has found: the `position`th of `parts`, 1 being the first.

    `cosine` is -1..1, `similarity` the same on the scale that all embedding families share (0 unrelated, 1 identical).
    """

    document_id: Id
    name: str
    position: int
    parts: int
    text: str
    starts: int
    ends: int
    page: int | None
    cosine: float
    similarity: float


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """What came of handing in a document, and the document as it is now."""

    status: AddedStatus
    document: Document
