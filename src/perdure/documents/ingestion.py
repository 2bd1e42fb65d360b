"""Taking a document in: read, stored with all its words, embedded bit by bit, and then found as a whole.

Whoever is interrupted hands the same file in again and goes on where it stopped; two who hand it in at once share the
work. Until the last passage has its vector, what was there before is found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from perdure.document_types import AddedDocument, AddedStatus, Document, DocumentPart, DocumentScope
from perdure.documents.filling import Progress, embed_missing
from perdure.documents.formats import MediaType
from perdure.documents.reading import read_parts
from perdure.documents.refusing import Refused
from perdure.errors import Conflict, InvalidInput, NotFound, ScopeFull
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.document_writing import (
    NewDocument,
    change_terms,
    complete,
    count_unembedded,
    drop_abandoned,
    find_arriving,
    find_named,
    insert_arriving,
    take_up,
)
from perdure.store.documents import count_in_scope, read_document
from perdure.store.spaces import SpaceRow, lock_space

DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file as it is handed in, checked but for its contents. `encoding`: of text; told by its bytes if None."""

    name: str
    data: bytes
    media_type: MediaType
    scope: DocumentScope
    channel_ids: tuple[str, ...] = ()
    uploaded_by: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class _Claimed:
    """What a document was found to be; `status` is None while it is arriving."""

    id: int
    status: AddedStatus | None


async def take_in(
    resources: Resources,
    make_space: Callable[[], Awaitable[SpaceRow]],
    incoming: Incoming,
    progress: Progress | None = None,
) -> AddedDocument:
    """Adds a document, or puts it in the place of the one of this name in its scope.

    Args:
        make_space: asked for the space once the file is read, so that one which can't be read leaves no empty space.

    Raises:
        InvalidInput: the file can't be read. ScopeFull: there is no room. Conflict: it was deleted while it arrived.
        EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable: hand it in again, and it goes on where it stopped.
    """
    new = await _read(resources, incoming)
    space = await make_space()

    async def claim(tx: SpaceTransaction) -> _Claimed:
        return await _claim(tx, resources, new)

    claimed = await resources.database.in_space(space.id, claim, writer=True)
    while True:
        await embed_missing(resources, space, document_id=claimed.id, total=len(new.parts), progress=progress)
        added = await _finish(resources, space, new, claimed)
        if added is not None:
            return added


async def _read(resources: Resources, incoming: Incoming) -> NewDocument:
    settings = resources.settings
    try:
        async with resources.reading:
            parts = await read_parts(
                incoming.data,
                incoming.media_type,
                most_parts=settings.max_document_chunks,
                timeout_s=settings.document_timeout_s,
                encoding=incoming.encoding,
            )
    except Refused as error:
        raise InvalidInput("document", incoming.name, error.limit) from None
    return NewDocument(
        name=incoming.name,
        scope=incoming.scope,
        channel_ids=incoming.channel_ids,
        uploaded_by=incoming.uploaded_by,
        media_type=incoming.media_type.value,
        size=len(incoming.data),
        content_hash=_digest(incoming.media_type, parts),
        parts=tuple(parts),
    )


def _digest(media_type: MediaType, parts: Sequence[DocumentPart]) -> bytes:
    """Of what is kept, not of the file: that may hold secrets, which a digest would let somebody guess."""
    digest = hashlib.blake2b(media_type.encode(), digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(f"\0{part.starts} {part.page} {part.text}".encode())
    return digest.digest()


async def _claim(tx: SpaceTransaction, resources: Resources, new: NewDocument) -> _Claimed:
    await lock_space(tx)
    await drop_abandoned(tx)
    named = await find_named(tx, new.scope, new.name)
    if named is not None and named.content_hash == new.content_hash:
        if named.is_as(new):
            return _Claimed(named.id, AddedStatus.ALREADY_KNOWN)
        await change_terms(tx, named.id, new)
        return _Claimed(named.id, AddedStatus.CHANGED)
    arriving = await find_arriving(tx, new)
    if arriving is not None:
        await take_up(tx, arriving, new)
        return _Claimed(arriving, None)
    await _require_room(tx, resources, new)
    return _Claimed(await insert_arriving(tx, new), None)


async def _require_room(tx: SpaceTransaction, resources: Resources, new: NewDocument) -> None:
    settings = resources.settings
    documents, parts = await count_in_scope(tx, new.scope, new.name)
    if documents >= settings.max_documents:
        raise ScopeFull(
            f"There are {documents:,} documents in this scope, which is all that it may hold.",
            hint="Delete one, or raise PERDURE_MAX_DOCUMENTS.",
        )
    if parts + len(new.parts) > settings.max_document_chunks:
        raise ScopeFull(
            f"{new.name!r} has {len(new.parts):,} passages, and the documents of this scope {parts:,}:"
            f" together more than {settings.max_document_chunks:,}.",
            hint="Delete one, hand in a shorter one, or raise PERDURE_MAX_DOCUMENT_CHUNKS.",
        )


async def _finish(resources: Resources, space: SpaceRow, new: NewDocument, claimed: _Claimed) -> AddedDocument | None:
    """Lets a document be found that has all its vectors; None if one is missing after all."""

    async def write(tx: SpaceTransaction) -> AddedDocument | None:
        status, document_id = claimed.status, claimed.id
        if status is None:
            await lock_space(tx)
            named = await find_named(tx, new.scope, new.name)
            arriving = await find_arriving(tx, new)
            if arriving is None:
                # Somebody else who handed in the same file was there first.
                if named is None or named.content_hash != new.content_hash:
                    raise Conflict(
                        f"Document {new.name!r} was deleted while it arrived.", hint="Add it again if it is wanted."
                    )
                status, document_id = AddedStatus.ALREADY_KNOWN, named.id
            elif await count_unembedded(tx, resources.family.id, document_id=arriving):
                return None
            else:
                status = AddedStatus.ADDED if named is None else AddedStatus.REPLACED
                document_id = await complete(tx, arriving, named.id if named else None)
        if status is not AddedStatus.ALREADY_KNOWN:
            await note(tx, "replace_document" if status is AddedStatus.REPLACED else "add_document", [document_id])
        return AddedDocument(status, await require_document(tx, resources, document_id, new.scope.audience))

    return await resources.database.in_space(space.id, write, writer=claimed.status is None)


async def require_document(
    tx: SpaceTransaction, resources: Resources, document_id: int, audience: str | None
) -> Document:
    """The document of this id. Raises NotFound if it is not there for this audience."""
    found = await read_document(tx, resources.family.id, document_id, audience)
    if found is None:
        raise NotFound(f"There is no document {document_id}.", hint="`perdure documents list` shows the ids.")
    return found
