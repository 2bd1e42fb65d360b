"""A deadline that holds although what it cuts off can't end at once.

Cancelling a query of a server that is frozen, or behind a network that swallows packets, takes psycopg ten seconds: it
asks the server to cancel, and waits for the query's end. A turn can't wait for that, so it leaves the work behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

GRACE_S: Final = 1.0
"""How long work that was left behind may take to end in good order; then its connection is closed as it is."""

# An event loop holds its tasks weakly.
_left_behind: set[asyncio.Task[Any]] = set()


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`. Raises TimeoutError after `seconds`, whether `work` can be cancelled by then or not."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except BaseException:
        _leave(task)
        raise
    if not done:
        _leave(task)
        raise TimeoutError
    return task.result()


def _leave(task: asyncio.Task[Any]) -> None:
    task.cancel()
    _left_behind.add(task)
    task.add_done_callback(_forget)
    # A second cancellation makes psycopg close the connection, and the pool open another one.
    task.get_loop().call_later(GRACE_S, task.cancel)


def _forget(task: asyncio.Task[Any]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()
