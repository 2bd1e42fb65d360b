"""Documents as people and `--json` see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.as_data import Data
from perdure.cli.printing import local, moment
from perdure.cli.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perdure.cli.printing import Screen
    from perdure.document_types import AddedDocument, Document, DocumentHit, DocumentPart, DocumentText

TOLD = {
    "added": "is in",
    "replaced": "takes the place of the one before",
    "changed": "was in, and has other channels or another uploader now",
    "already_known": "was in already",
}
HEADS = ("id", "name", "parts", "found", "bytes", "server", "lineage", "channels", "state", "changed")


def document_data(document: Document) -> Data:
    """A document without its text."""
    return {
        "id": str(document.id),
        "name": document.name,
        "media_type": document.media_type,
        "bytes": document.size,
        "parts": document.parts,
        "embedded": document.embedded,
        "server": document.scope.server_id,
        "lineage": document.scope.lineage,
        "audience": document.scope.audience,
        "channels": list(document.channel_ids),
        "uploaded_by": document.uploaded_by,
        "state": document.state.value,
        "revision": document.revision,
        "created_at": moment(document.created_at),
        "updated_at": moment(document.updated_at),
    }


def document_row(document: Document) -> tuple[str, ...]:
    """A line of a list, under `HEADS`."""
    return (
        str(document.id),
        document.name,
        f"{document.parts:,}",
        f"{document.embedded:,}",
        f"{document.size:,}",
        document.scope.server_id or "-",
        str(document.scope.lineage or "-"),
        ", ".join(document.channel_ids) or "-",
        document.state.value,
        local(document.updated_at),
    )


def added_line(added: AddedDocument) -> str:
    """What became of a file that was handed in."""
    document = added.document
    return f"#{document.id} {document.name} {TOLD[added.status]} ({counted(document.parts, 'passage')})."


def part_data(part: DocumentPart) -> Data:
    """A passage."""
    return {"position": part.position, "page": part.page, "starts": part.starts, "ends": part.ends, "text": part.text}


def show_document(screen: Screen, found: DocumentText) -> None:
    """A document with its passages."""
    document = found.document
    screen.line((f"#{document.id}", "bold cyan"), f" {document.name}  {document.media_type}, {document.size:,} bytes")
    for part in found.parts:
        screen.line("")
        screen.line((place(part.position, document.parts, part.page), "dim"))
        screen.line(part.text, indent=3)


def hit_data(hit: DocumentHit) -> Data:
    """A passage that was found."""
    return {
        "document": str(hit.document_id),
        "name": hit.name,
        "position": hit.position,
        "parts": hit.parts,
        "page": hit.page,
        "starts": hit.starts,
        "ends": hit.ends,
        "cosine": hit.cosine,
        "similarity": hit.similarity,
        "text": hit.text,
    }


def show_hits(screen: Screen, hits: Iterable[DocumentHit]) -> None:
    """What was found by document, the one with the nearest passage first; within one in the order of reading."""
    grouped: dict[int, list[DocumentHit]] = {}
    for hit in hits:
        grouped.setdefault(hit.document_id, []).append(hit)
    for document_id, passages in grouped.items():
        screen.line((f"#{document_id}", "bold cyan"), f" {passages[0].name}")
        for hit in sorted(passages, key=lambda each: each.position):
            screen.line(
                (f"{place(hit.position, hit.parts, hit.page)}, similarity {hit.similarity:.2f}", "dim"), indent=3
            )
            screen.line(hit.text, indent=3)
        screen.line("")


def place(position: int, parts: int, page: int | None) -> str:
    """Where a passage stands.

    >>> place(2, 7, None), place(2, 7, 4)
    ('passage 2 of 7', 'passage 2 of 7, page 4')
    """
    return f"passage {position} of {parts}" + (f", page {page}" if page else "")
