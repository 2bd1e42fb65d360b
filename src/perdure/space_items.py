"""Items in a space: JSON values under a namespace and a key, as agent frameworks keep them beside memories.

    items = SpaceItems.of(space)
    await items.put(("ada", "settings"), "look", {"theme": "dark"}, words=["dark theme"])
    (found,) = await items.search(("ada",), query="what does the screen look like?")

They are the host's own state: kept as they are given, nothing is concluded from them, and they don't fade. An item
belongs to the audience of the handle that wrote it, and no other handle sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from perdure import door
from perdure.door import require_json
from perdure.errors import InvalidInput
from perdure.item_vectors import BATCH, embed_items
from perdure.rules.item_filters import namespace_pattern, read_filter
from perdure.space_handle import SpaceHandle
from perdure.store import items as store
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.items import Item, NewItem, Reach
from perdure.text import clean, passages, require_text, truncate_chars

__all__ = ["Answer", "GetItem", "Item", "ListNamespaces", "Operation", "PutItem", "SearchItems", "SpaceItems"]

MAX_VALUE_BYTES: Final = 1024 * 1024
MAX_LABELS: Final = 32
MAX_NAMESPACE_BYTES: Final = 1024
MAX_KEY_BYTES: Final = 512
MAX_PASSAGES: Final = 64
"""Passages that an item is found by, of 1000 characters at most; what is beyond them is kept, and not found."""
MAX_OPERATIONS: Final = 1000
MAX_PAGE: Final = 10_000
MAX_OFFSET: Final = 1_000_000
MAX_TTL_MINUTES: Final = 100 * 366 * 24 * 60
MAX_EMBEDDED: Final = 100_000
QUERY_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class GetItem:
    """Asks for one item. `refresh`: if it has a time to live, that begins anew."""

    namespace: tuple[str, ...]
    key: str
    refresh: bool = True


@dataclass(frozen=True, slots=True)
class SearchItems:
    """Asks for items below a namespace; see `SpaceItems.search`."""

    prefix: tuple[str, ...] = ()
    query: str | None = None
    filter: Mapping[str, object] | None = None
    limit: int = 10
    offset: int = 0
    refresh: bool = True


@dataclass(frozen=True, slots=True)
class ListNamespaces:
    """Asks for namespaces; see `SpaceItems.namespaces`."""

    prefixes: tuple[tuple[str, ...], ...] = ()
    suffixes: tuple[tuple[str, ...], ...] = ()
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class PutItem:
    """Writes an item, or deletes it (`value` None); see `SpaceItems.put`."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, object] | None
    words: tuple[str, ...] = ()
    ttl_minutes: float | None = None


Operation = GetItem | SearchItems | ListNamespaces | PutItem
Answer = Item | tuple[Item, ...] | tuple[tuple[str, ...], ...] | None


class SpaceItems(SpaceHandle):
    """A handle on the items of one space and audience."""

    async def get(self, namespace: Sequence[str], key: str, *, refresh: bool = True) -> Item | None:
        """The item under a key, or None. `refresh`: if it has a time to live, that begins anew."""
        (found,) = await self.run([GetItem(tuple(namespace), key, refresh)])
        assert found is None or isinstance(found, Item)
        return found

    async def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, object],
        *,
        words: Iterable[str] = (),
        ttl_minutes: float | None = None,
    ) -> None:
        """Keeps a value; what was under its key before is gone.

        Args:
            namespace: 1..32 labels without dots, 1 KiB in all. key: 1..512 bytes.
            value: an object of JSON, at most 1 MiB. A NUL or half a surrogate pair in it is dropped.
            words: what it is to be found by; none: it is found by its key and by filters.
            ttl_minutes: how long it lives from when it was last written or read; None: until it is deleted.

        Raises:
            InvalidInput, EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable: nothing was written.
        """
        await self.run([PutItem(tuple(namespace), key, value, tuple(words), ttl_minutes)])

    async def delete(self, namespace: Sequence[str], key: str) -> None:
        """Deletes an item for good, if it is there."""
        await self.run([PutItem(tuple(namespace), key, None)])

    async def search(
        self,
        prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, object] | None = None,  # noqa: A002 - the word of those who ask
        limit: int = 10,
        offset: int = 0,
        refresh: bool = True,
    ) -> tuple[Item, ...]:
        """Items below a namespace, nearest to the query first, or without one by latest change.

        Those that have no words, or none of the embedder at hand, come last.

        Args:
            prefix: labels that the namespace begins with; none: all items of this audience.
            filter: what the values hold, by equality or by $eq, $ne, $gt, $gte, $lt, $lte; see `rules.item_filters`.
            limit: 1..10,000. offset: 0..1,000,000.
            refresh: the time to live of what is found begins anew.
        """
        (found,) = await self.run([SearchItems(tuple(prefix), query, filter, limit, offset, refresh)])
        return found  # type: ignore[return-value]

    async def namespaces(
        self,
        *,
        prefixes: Sequence[Sequence[str]] = (),
        suffixes: Sequence[Sequence[str]] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> tuple[tuple[str, ...], ...]:
        """Namespaces that hold an item, in order; each fits all prefixes and suffixes, in which `*` is any label.

        max_depth: they are cut to so many labels, and each comes once.
        """
        asked = ListNamespaces(tuple(map(tuple, prefixes)), tuple(map(tuple, suffixes)), max_depth, limit, offset)
        (found,) = await self.run([asked])
        return found  # type: ignore[return-value]

    async def run(self, operations: Sequence[Operation]) -> list[Answer]:
        """Does up to 1000 operations in one transaction: all of them, or none.

        What is read is what was there before; of two writes to one key the later one counts.

        Returns:
            The answers in order; None for what writes.
        """
        asked = [_checked(each) for each in door.require_list(operations, "operations")]
        if len(asked) > MAX_OPERATIONS:
            raise InvalidInput("operations", len(asked), f"at most {MAX_OPERATIONS:,} are done at once")
        writes = {(each.namespace, each.key): each for each in asked if isinstance(each, PutItem)}
        made = [_new(each) for _, each in sorted(writes.items()) if each.value is not None]
        gone = [where for where, each in sorted(writes.items()) if each.value is None]
        find, make = self._memory.find_space, self._memory.ensure_space
        space = await (make if made else find)(self.name)
        if space is None:
            return [() if isinstance(each, SearchItems | ListNamespaces) else None for each in asked]
        queries = await self._embed_queries(asked)
        vectors = await self._embed([words for item in made for words in item.passages])

        async def work(tx: SpaceTransaction) -> list[Answer]:
            answers = [await self._read(tx, each, queries) for each in asked]
            await self._write(tx, made, gone, vectors)
            return answers

        return await self._in(space, work)

    async def embed(self, *, limit: int = MAX_EMBEDDED) -> int:
        """Embeds what has no vector of the embedder at hand, after another one was configured; returns how much."""
        most = door.require_number(limit, "limit", 1, MAX_EMBEDDED)
        space = await self._memory.find_space(self.name)
        return 0 if space is None else await embed_items(self._resources, space, limit=most)

    async def _read(self, tx: SpaceTransaction, asked: Operation, queries: Mapping[str, np.ndarray]) -> Answer:
        if isinstance(asked, GetItem):
            found = await store.read_item(tx, self.audience, asked.namespace, asked.key)
            await store.put_off(tx, [found] if found and asked.refresh else [])
            return found
        if isinstance(asked, SearchItems):
            reach = Reach(asked.prefix, read_filter(asked.filter or {}), asked.limit, asked.offset)
            if asked.query is None:
                listed = await store.list_items(tx, self.audience, reach)
            else:
                listed = await store.nearest_items(
                    tx, self.audience, reach, self._resources.family.id, queries[asked.query]
                )
            await store.put_off(tx, listed if asked.refresh else [])
            return tuple(listed)
        if isinstance(asked, ListNamespaces):
            patterns = [namespace_pattern(path) for path in asked.prefixes if path]
            patterns += [namespace_pattern(path, at_end=True) for path in asked.suffixes if path]
            depth = asked.max_depth or MAX_LABELS
            named = await store.list_namespaces(
                tx, self.audience, patterns, depth=depth, limit=asked.limit, offset=asked.offset
            )
            return tuple(named)
        return None

    async def _write(
        self,
        tx: SpaceTransaction,
        made: Sequence[NewItem],
        gone: Sequence[tuple[tuple[str, ...], str]],
        vectors: np.ndarray,
    ) -> None:
        if not made and not gone:
            return
        await store.sweep(tx)
        places: list[tuple[int, int]] = []
        put = []
        for item in made:
            put.append(await store.put_item(tx, self.audience, item))
            places += [(put[-1], position) for position in range(len(item.passages))]
        await store.insert_vectors(tx, self._resources.family.id, places, vectors)
        deleted = [await store.delete_item(tx, self.audience, *where) for where in gone]
        if put:
            await note(tx, "put_items", put)
        if found := [item_id for item_id in deleted if item_id is not None]:
            await note(tx, "delete_items", found)

    async def _embed_queries(self, asked: Sequence[Operation]) -> dict[str, np.ndarray]:
        texts = list(dict.fromkeys(one.query for one in asked if isinstance(one, SearchItems) and one.query))
        if not texts:
            return {}
        vectors = await self._resources.embedder.embed([truncate_chars(text, QUERY_CHARS) for text in texts], "query")
        return dict(zip(texts, vectors, strict=True))

    async def _embed(self, texts: Sequence[str]) -> np.ndarray:
        embedder = self._resources.embedder
        batches = [await embedder.embed(texts[at : at + BATCH], "document") for at in range(0, len(texts), BATCH)]
        return np.concatenate(batches) if batches else np.empty((0, embedder.family.dimensions), np.float32)


def _checked(asked: object) -> Operation:
    """An operation whose parts are all within their limits."""
    if isinstance(asked, GetItem):
        door.require_flag(asked.refresh, "refresh")
        return GetItem(_namespace(asked.namespace), _key(asked.key), asked.refresh)
    if isinstance(asked, PutItem):
        ttl = asked.ttl_minutes
        if ttl is not None and not (isinstance(ttl, int | float) and 0 < ttl <= MAX_TTL_MINUTES):
            raise InvalidInput("ttl_minutes", ttl, "it has to be a number of minutes above 0, at most 100 years")
        value = None if asked.value is None else require_json(asked.value, "value", MAX_VALUE_BYTES)
        return PutItem(_namespace(asked.namespace), _key(asked.key), value, asked.words, ttl)
    if isinstance(asked, SearchItems):
        return SearchItems(
            _labels(asked.prefix, "prefix"),
            require_text(asked.query, "query") if asked.query and asked.query.strip() else None,
            _filter(asked.filter),
            door.require_number(asked.limit, "limit", 1, MAX_PAGE),
            door.require_number(asked.offset, "offset", 0, MAX_OFFSET),
            door.require_flag(asked.refresh, "refresh"),
        )
    if isinstance(asked, ListNamespaces):
        depth = asked.max_depth
        return ListNamespaces(
            tuple(_labels(path, "prefix") for path in asked.prefixes),
            tuple(_labels(path, "suffix") for path in asked.suffixes),
            None if depth is None else door.require_number(depth, "max_depth", 1, MAX_LABELS),
            door.require_number(asked.limit, "limit", 1, MAX_PAGE),
            door.require_number(asked.offset, "offset", 0, MAX_OFFSET),
        )
    raise InvalidInput("operations", asked, "it is no operation on items")


def _filter(wanted: object) -> dict[str, object]:
    if wanted is None:
        return {}
    asked = require_json(wanted, "filter", MAX_VALUE_BYTES)
    try:
        read_filter(asked)
    except ValueError as error:
        raise InvalidInput("filter", wanted, str(error)) from None
    return asked


def _namespace(value: object) -> tuple[str, ...]:
    labels = _labels(value, "namespace")
    if not labels:
        raise InvalidInput("namespace", value, "it needs at least one label")
    return labels


def _labels(value: object, field: str) -> tuple[str, ...]:
    labels = tuple(door.require_list(value, field))
    for label in labels:
        if not isinstance(label, str) or not label or store.DOT in label or clean(label) != label:
            raise InvalidInput(field, value, "its labels have to be texts without dots and control characters")
    if len(labels) > MAX_LABELS or len(store.DOT.join(labels).encode()) > MAX_NAMESPACE_BYTES:
        raise InvalidInput(field, value, f"at most {MAX_LABELS} labels of {MAX_NAMESPACE_BYTES:,} bytes are taken")
    return labels


def _key(value: object) -> str:
    if not isinstance(value, str) or clean(value) != value or not 1 <= len(value.encode()) <= MAX_KEY_BYTES:
        raise InvalidInput("key", value, f"it has to be text of 1 to {MAX_KEY_BYTES} bytes without control characters")
    return value


def _new(asked: PutItem) -> NewItem:
    assert asked.value is not None
    found: list[str] = []
    for text in door.require_list(asked.words, "words"):
        whole = clean(text, "words")
        found += [whole[each.start : each.end] for each in passages(whole[: MAX_PASSAGES * 1000])]
    return NewItem(asked.namespace, asked.key, asked.value, tuple(found[:MAX_PASSAGES]), asked.ttl_minutes)
