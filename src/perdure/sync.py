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
import inspect
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from perdure.memory import Memory as AsyncMemory
from perdure.space import Space as AsyncSpace

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


class Space:
    """The blocking twin of `perdure.Space`: the same methods, without `await`."""

    def __init__(self, inner: AsyncSpace, loop: _Loop) -> None:
        self._inner = inner
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute

        @functools.wraps(attribute)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._loop.run(attribute(*args, **kwargs))

        return call


class Memory:
    """The blocking twin of `perdure.Memory`."""

    def __init__(self, open_inner: Callable[[], AsyncMemory]) -> None:
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

    def close(self) -> None:
        """Closes everything; safe to call twice."""
        if self._loop is not None:
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
