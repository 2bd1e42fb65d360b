"""What one caller can do with documents in a space: hand files in, look them up, replace and delete them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from perdure import documents, door
from perdure.document_types import AddedDocument, Document, DocumentHit, DocumentScope, DocumentText
from perdure.documents import MAX_HITS, Incoming, Progress
from perdure.errors import InvalidInput
from perdure.fact_types import Persona
from perdure.space_facts import lineage_of, read_channels
from perdure.space_memories import SpaceMemories
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.document_writing import delete_document
from perdure.store.documents import list_documents, read_parts
from perdure.store.spaces import SpaceRow
from perdure.text import clean, require_text, truncate_chars

QUERY_CHARS = 1000
MAX_FOUND = 100
MAX_EMBEDDED = 100_000


class SpaceDocuments(SpaceMemories):
    """A handle on one space, with documents. They don't fade, and nothing is concluded from them."""

    async def add_document(
        self,
        source: Path | bytes | str,
        *,
        name: str | None = None,
        media_type: str | None = None,
        encoding: str | None = None,
        server: str | None = None,
        persona: Persona | None = None,
        channels: Iterable[str] | str = (),
        uploaded_by: str | None = None,
        progress: Progress | None = None,
    ) -> AddedDocument:
        """Takes a file in: text, Markdown, HTML or PDF. It is found as soon as this returns, and not before.

        In the scope (server, persona, and the audience of this handle) a name is there once: another file of the same
        name takes the place of the one before, the same file changes nothing. Interrupted, call it again with the same
        file: it goes on where it stopped.

        Args:
            source: the path of a file, its bytes, or a text.
            name: 1..200 bytes, needed unless `source` is a path. Its ending helps to tell the format.
            media_type: text/plain, text/markdown, text/html or application/pdf; told by contents and name if missing.
            encoding: of a text that is neither UTF-8 nor UTF-16, such as cp1252.
            server: id of the server that it is for; None is the whole space.
            persona: who is to know it; None is every persona.
            channels: ids of the channels it may be shown in; none: everywhere.
            uploaded_by: the id of who brought it, which `forget_person` takes away.
            progress: gets how many passages are done, and of how many.

        Returns:
            Status added, replaced, changed (the same file for other channels) or already_known, and the document.

        Raises:
            InvalidInput: too large, or nothing that can be read. ScopeFull: the scope holds all that it may.
            EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable: call again. Conflict: deleted meanwhile.
        """
        title = _name(source.name if name is None and isinstance(source, Path) else name)
        scope = self._document_scope(server, persona)
        channel_ids = read_channels(channels)
        by = door.optional_name(uploaded_by, "uploaded_by")
        codec = None if encoding is None else door.require_name(encoding, "encoding")
        data = await self._contents(source, title)
        kind = documents.media_type_of(title, data, media_type)
        return await self._take_in(Incoming(title, data, kind, scope, channel_ids, by, codec), progress)

    async def replace_document(
        self,
        document_id: int,
        source: Path | bytes | str,
        *,
        media_type: str | None = None,
        encoding: str | None = None,
        progress: Progress | None = None,
    ) -> AddedDocument:
        """Puts another file in the place of a document, which keeps its id, name, scope and channels.

        What was there before is found until the new file is in. Raises what `add_document` does, and NotFound.
        """
        before = (await self.document(document_id)).document
        codec = None if encoding is None else door.require_name(encoding, "encoding")
        data = await self._contents(source, before.name)
        kind = documents.media_type_of(before.name, data, media_type)
        return await self._take_in(
            Incoming(before.name, data, kind, before.scope, before.channel_ids, before.uploaded_by, codec), progress
        )

    async def documents(self, *, server: str | None = None, persona: Persona | None = None) -> tuple[Document, ...]:
        """Documents by name, those that are still arriving too; of one server or persona, if it is given."""
        server_id = None if server is None else door.require_key(server, "server")
        lineage = None if persona is None else lineage_of(persona)
        space = await self._memory.find_space(self.name)
        if space is None:
            return ()
        family_id = self._resources.family.id

        async def read(tx: SpaceTransaction) -> tuple[Document, ...]:
            return tuple(await list_documents(tx, family_id, self.audience, server_id=server_id, lineage=lineage))

        return await self._in(space, read)

    async def document(self, document_id: int) -> DocumentText:
        """One document with its passages. Raises NotFound if it is not there for this audience."""
        wanted = door.require_id(document_id)
        space = await self._require_space()

        async def read(tx: SpaceTransaction) -> DocumentText:
            found = await documents.require_document(tx, self._resources, wanted, self.audience)
            return DocumentText(found, tuple(await read_parts(tx, wanted)))

        return await self._in(space, read)

    async def delete_document(self, document_id: int) -> Document:
        """Removes a document with all its words and vectors, for good, and returns what it was.

        Raises:
            NotFound: it is not there for this audience.
        """
        wanted = door.require_id(document_id)
        space = await self._require_space()

        async def write(tx: SpaceTransaction) -> Document:
            found = await documents.require_document(tx, self._resources, wanted, self.audience)
            await delete_document(tx, wanted, self.audience)
            await note(tx, "delete_document", [wanted])
            return found

        return await self._in(space, write)

    async def search_documents(
        self,
        query: str,
        *,
        server: str | None = None,
        persona: Persona | None = None,
        channel: str | None = None,
        limit: int = MAX_HITS,
    ) -> tuple[DocumentHit, ...]:
        """The passages that a query is near to, nearest first; none that only happen to be the nearest.

        Args:
            query: what to look for; its first 1000 characters count.
            server, persona, channel: from where it is asked: what is for others is not found.
            limit: passages at most, 1..100 (mission: 6).

        Raises:
            InvalidInput, EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable.
        """
        text = truncate_chars(require_text(query, "query").strip(), QUERY_CHARS)
        scope = self._document_scope(server, persona)
        channel_id = None if channel is None else door.require_key(channel, "channel")
        most = door.require_number(limit, "limit", 1, MAX_FOUND)
        space = await self._memory.find_space(self.name)
        if space is None:
            return ()
        if not await documents.any_in_scope(
            self._resources,
            space,
            server_id=scope.server_id,
            lineage=scope.lineage,
            channel_id=channel_id,
            audience=self.audience,
        ):
            return ()
        vectors = await self._resources.embedder.embed([text], "query")
        return await documents.search(
            self._resources,
            space,
            vectors[0],
            server_id=scope.server_id,
            lineage=scope.lineage,
            channel_id=channel_id,
            audience=self.audience,
            limit=most,
        )

    async def embed_documents(self, *, limit: int | None = None, progress: Progress | None = None) -> int:
        """Embeds what the embedder at hand has not embedded yet, of all audiences: needed once after it was changed.

        Args:
            limit: passages at most, 1..100000; None is all. progress: gets how many are done, and of how many.

        Returns:
            How many passages can be found now that couldn't before.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable: what is done stays.
        """
        most = None if limit is None else door.require_number(limit, "limit", 1, MAX_EMBEDDED)
        space = await self._memory.find_space(self.name)
        if space is None:
            return 0
        return await documents.embed_missing(self._resources, space, limit=most, progress=progress)

    def _document_scope(self, server: str | None, persona: Persona | None) -> DocumentScope:
        server_id = None if server is None else door.require_key(server, "server")
        return DocumentScope(server_id, lineage_of(persona), self.audience)

    async def _take_in(self, incoming: Incoming, progress: Progress | None) -> AddedDocument:
        async def make_space() -> SpaceRow:
            return await self._memory.ensure_space(self.name)

        return await documents.take_in(self._resources, make_space, incoming, progress)

    async def _contents(self, source: object, name: str) -> bytes:
        most = self._resources.settings.max_document_bytes
        if isinstance(source, Path):
            data = await asyncio.to_thread(_read, source, most)
        elif isinstance(source, str):
            data = clean(source, "document").encode()
        elif isinstance(source, bytes):
            data = source
        else:
            raise InvalidInput("document", source, "it has to be the path of a file, its bytes, or a text")
        if not data:
            raise InvalidInput("document", name, "it is empty")
        if len(data) > most:
            limit = f"it has more than {most:,} bytes (setting max_document_bytes)"
            raise InvalidInput("document", name, limit)
        return data


def _name(name: object) -> str:
    if name is None:
        raise InvalidInput("name", name, "a document that is not a file on disk needs a name")
    return door.without_secrets(door.require_name(name, "name"))


def _read(path: Path, most: int) -> bytes:
    """At most one byte more than may be taken in."""
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise InvalidInput("document", str(path), f"it can't be opened: {error.strerror}") from None
