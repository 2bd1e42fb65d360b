"""The same surface for code without an event loop.

    from perdure.sync import Memory

    with Memory.open() as memory:
        ada = memory.space("ada")
        ada.save("Ada is allergic to peanuts")

Every call runs on one event loop in a thread of its own, so the worker goes on between calls and the objects may be
used from any thread.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from perdure.memory import Memory as AsyncMemory
from perdure.space import Space as AsyncSpace
from perdure.store.spaces import SpaceRow

P = ParamSpec("P")
T = TypeVar("T")


class _Loop:
    """An event loop that runs in a daemon thread until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="perdure-sync", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _blocking(
    method: Callable[Concatenate[AsyncSpace, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Space, P], T]:
    """The method of the async class, run to its end; name, arguments and docstring stay the same."""

    @functools.wraps(method)
    def call(self: Space, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(method(self._inner, *args, **kwargs))

    return call


class Space:
    """The blocking twin of `perdure.Space`: the same methods, without `await`."""

    def __init__(self, inner: AsyncSpace, loop: _Loop) -> None:
        self._inner = inner
        self._loop = loop

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def audience(self) -> str | None:
        return self._inner.audience

    recall = _blocking(AsyncSpace.recall)
    capture = _blocking(AsyncSpace.capture)
    drain = _blocking(AsyncSpace.drain)
    save = _blocking(AsyncSpace.save)
    search = _blocking(AsyncSpace.search)
    get = _blocking(AsyncSpace.get)
    evidence = _blocking(AsyncSpace.evidence)
    history = _blocking(AsyncSpace.history)
    list = _blocking(AsyncSpace.list)
    update = _blocking(AsyncSpace.update)
    pin = _blocking(AsyncSpace.pin)
    forget = _blocking(AsyncSpace.forget)
    import_messages = _blocking(AsyncSpace.import_messages)
    stats = _blocking(AsyncSpace.stats)
    failed = _blocking(AsyncSpace.failed)
    failed_context = _blocking(AsyncSpace.failed_context)
    replay_failed = _blocking(AsyncSpace.replay_failed)
    drop_failed = _blocking(AsyncSpace.drop_failed)


class Memory:
    """The blocking twin of `perdure.Memory`."""

    def __init__(self, open_inner: Callable[[], AsyncMemory]) -> None:
        self._closed = False
        self._loop = _Loop()
        try:
            self._inner = open_inner()
            self._loop.run(self._enter())
        except BaseException:
            self._loop.close()
            raise

    @classmethod
    def open(cls, **options: Any) -> Memory:
        """Opens everything; takes the arguments of `perdure.Memory.open`."""
        return cls(lambda: AsyncMemory.open(**options))

    def space(self, name: str, *, audience: str | None = None) -> Space:
        """A handle on a space; see `perdure.Memory.space`."""
        return Space(self._inner.space(name, audience=audience), self._loop)

    def spaces(self) -> tuple[SpaceRow, ...]:
        """All spaces by name."""
        return self._loop.run(self._inner.spaces())

    def close(self) -> None:
        """Closes everything; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._loop.run(self._inner.close())
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _enter(self) -> None:
        await self._inner.__aenter__()
