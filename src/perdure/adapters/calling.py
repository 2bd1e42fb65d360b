"""Calling a space from wherever a framework runs its code: on the loop of the memory, on another one, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from perdure import sync
from perdure.errors import PerdureError
from perdure.space import Space

T = TypeVar("T")
Work = Callable[[Space], Coroutine[Any, Any, T]]
AnySpace = Space | sync.Space


class Caller:
    """Calls a space. One of `perdure.Memory` has to be handed in on the event loop that its memory was opened on.

    One of `perdure.sync.Memory` may be used from any thread and any loop.
    """

    def __init__(self, space: AnySpace) -> None:
        if not isinstance(space, Space | sync.Space):
            raise PerdureError(
                f"A {type(space).__module__}.{type(space).__name__} is no space that an adapter can use.",
                hint="Hand in memory.space(...) of perdure.Memory or perdure.sync.Memory.",
            )
        self._space = space
        self._home = None if isinstance(space, sync.Space) else _running_loop()

    async def call(self, work: Work[T]) -> T:
        """What comes of `work`, awaited on any loop."""
        if not isinstance(self._space, sync.Space) and asyncio.get_running_loop() is self._home:
            return await work(self._space)
        return await asyncio.to_thread(self.wait, work)

    def wait(self, work: Work[T]) -> T:
        """What comes of `work`; the thread waits for it.

        Raises:
            PerdureError: it is the thread of the loop that would have to do the work.
        """
        if isinstance(self._space, sync.Space):
            return self._space.run(work)
        home = self._home
        assert home is not None
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is home:
            raise PerdureError(
                "This thread runs the event loop of the memory, and would wait for itself.",
                hint="Call the async method, or hand in a space of perdure.sync.Memory.",
            )
        return asyncio.run_coroutine_threadsafe(work(self._space), home).result()


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise PerdureError(
            "A space of perdure.Memory is handed in where no event loop runs.",
            hint="Do it inside `async with Memory.open()`, or hand in a space of perdure.sync.Memory.",
        ) from None
