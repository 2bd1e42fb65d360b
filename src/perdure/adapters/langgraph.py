"""A store for LangGraph: namespaces, keys, JSON values, filters, search by meaning, times to live.

    store = PerdureStore(memory.space("ada"))
    graph = builder.compile(store=store)

Needs `pip install 'perdure[langgraph]'`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)
from langgraph.store.base import Item as LangGraphItem

from perdure.adapters.calling import AnySpace, Caller
from perdure.space import Space
from perdure.space_items import Answer, GetItem, Item, ListNamespaces, Operation, PutItem, SearchItems, SpaceItems

WHOLE: Final = "$"
"""The path of a whole value."""


class PerdureStore(BaseStore):
    """LangGraph's `BaseStore` in a space: an item belongs to the space and to the audience of its handle.

    A batch is one transaction: what it reads is what was there before it, and all of its writes are done, or none.

    Args:
        space: of `perdure.Memory`, handed in on its event loop, or of `perdure.sync.Memory`.
        fields: paths of what a value is found by, where `put` doesn't say it with `index`; none: by key and filters.
        ttl: how long items live by default, and whether reading them puts that off. An item whose time is over is not
            found any more, whatever `omit_expired` says.
    """

    supports_ttl = True

    def __init__(self, space: AnySpace, *, fields: Sequence[str] = (WHOLE,), ttl: TTLConfig | None = None) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._fields = tuple(fields)
        self._caller = Caller(space)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does operations in one transaction, from a thread that doesn't run the memory's event loop."""
        asked = [self._operation(op) for op in ops]

        async def work(space: Space) -> list[Answer]:
            return await SpaceItems.of(space).run(asked)

        return [_result(one, answer) for one, answer in zip(asked, self._caller.wait(work), strict=True)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Does operations in one transaction."""
        asked = [self._operation(op) for op in ops]

        async def work(space: Space) -> list[Answer]:
            return await SpaceItems.of(space).run(asked)

        return [_result(one, answer) for one, answer in zip(asked, await self._caller.call(work), strict=True)]

    def _operation(self, op: Op) -> Operation:
        match op:
            case GetOp(namespace, key, refresh):
                return GetItem(namespace, key, refresh)
            case PutOp(namespace, key, value, index, ttl):
                paths = self._fields if index is None else () if index is False else tuple(index)
                return PutItem(namespace, key, value, _words(value, paths), ttl)
            case SearchOp(prefix, wanted, limit, offset, query, refresh):
                return SearchItems(prefix, query, wanted, limit, offset, refresh)
            case ListNamespacesOp(conditions, max_depth, limit, offset):
                paths_of = {
                    kind: tuple(one.path for one in conditions or () if one.match_type == kind)
                    for kind in ("prefix", "suffix")
                }
                return ListNamespaces(paths_of["prefix"], paths_of["suffix"], max_depth, limit, offset)
            case _:
                raise ValueError(f"{type(op).__name__} is no operation of this store.")


def _words(value: object, paths: Sequence[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(
        text
        for path in paths
        for text in get_text_at_path(value, path if path == WHOLE else tokenize_path(path))
        if text.strip()
    )


def _result(asked: Operation, answer: Answer) -> Result:
    if isinstance(asked, SearchItems):
        assert isinstance(answer, tuple)
        return [_found(item) for item in answer if isinstance(item, Item)]
    if isinstance(asked, ListNamespaces):
        assert isinstance(answer, tuple)
        return [labels for labels in answer if isinstance(labels, tuple)]
    if not isinstance(answer, Item):
        return None
    return LangGraphItem(
        value=dict(answer.value),
        key=answer.key,
        namespace=answer.namespace,
        created_at=answer.created_at,
        updated_at=answer.updated_at,
    )


def _found(item: Item) -> SearchItem:
    return SearchItem(item.namespace, item.key, dict(item.value), item.created_at, item.updated_at, item.score)
