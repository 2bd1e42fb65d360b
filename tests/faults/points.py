"""Fault points: the places between two round trips to the database, the embedder or a model, and amid each of them.

A statement has up to three: before it is sent, sent but not answered (the server may carry it out, nobody hears of
it), and answered. What is after one statement is before the next, so that place counts once. `install` wraps the
driver's own waiting, through which every statement passes, COMMIT and ROLLBACK too, and the HTTP client's sending.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import aiohttp
import psycopg
from yarl import URL

from tests.doubles.embedder import HashedEmbedder

READY_TO_READ = 1
"""psycopg's Wait.R: all is sent, now it waits for the answer."""

Strike = Callable[[str, int], None]
"""Called at the chosen point with its label and the process id of the server's end of the connection (0: no server)."""


class FaultPoints:
    """Counts the points that are passed while armed, and strikes once, when `at` of them lie behind."""

    def __init__(self, at: int | None, strike: Strike) -> None:
        self.labels: list[str] = []
        self.armed = False
        self._at = at
        self._strike = strike
        self._answered = False

    def reach(self, where: str, what: str, backend: int = 0) -> None:
        """One point; `where` is before, amid or after."""
        if not self.armed:
            return
        if where == "before" and self._answered:
            return
        self._answered = where == "after"
        label = f"{where} {what}"
        self.labels.append(label)
        if len(self.labels) - 1 == self._at:
            self._strike(label, backend)


def install(points: FaultPoints) -> None:
    """Makes every round trip of this process pass `points`."""
    original_wait = psycopg.AsyncConnection.wait
    original_request = aiohttp.ClientSession._request
    original_embed = HashedEmbedder.embed

    async def wait(self: Any, gen: Generator[Any, Any, Any], *args: Any, **named: Any) -> Any:
        what, backend = statement_of(gen), self.info.backend_pid
        points.reach("before", what, backend)
        answer = await original_wait(self, _tapped(gen, lambda: points.reach("amid", what, backend)), *args, **named)
        points.reach("after", what, backend)
        return answer

    async def request(self: Any, method: str, url: str, **named: Any) -> aiohttp.ClientResponse:
        what = f"{method} {URL(url).path}"
        points.reach("before", what)
        response = await original_request(self, method, url, **named)
        points.reach("after", what)
        return response

    async def embed(self: Any, *args: Any) -> Any:
        points.reach("before", "embedding")
        vectors = await original_embed(self, *args)
        points.reach("after", "embedding")
        return vectors

    psycopg.AsyncConnection.wait = wait  # type: ignore[method-assign]
    aiohttp.ClientSession._request = request  # type: ignore[method-assign, assignment]
    HashedEmbedder.embed = embed  # type: ignore[method-assign, assignment]


def statement_of(gen: Generator[Any, Any, Any]) -> str:
    """What a generator of the driver is about to do: the beginning of its statement, or COMMIT, or ROLLBACK."""
    frame = gen.gi_frame  # type: ignore[attr-defined]
    query = frame.f_locals.get("query") if frame else None
    if query is None:
        return str(gen.__name__).strip("_").removesuffix("_gen").upper()  # type: ignore[attr-defined]
    if isinstance(query, bytes):
        query = query.decode()
    text = query if isinstance(query, str) else query.as_string(None)
    return " ".join(text.split())[:70]


def _tapped(gen: Generator[Any, Any, Any], sent: Callable[[], None]) -> Generator[Any, Any, Any]:
    """`gen`, telling `sent` when it waits for an answer for the first time."""
    told = False
    try:
        state = next(gen)
        while True:
            if state == READY_TO_READ and not told:
                told = True
                sent()
            try:
                ready = yield state
            except BaseException as error:
                state = gen.throw(error)
            else:
                state = gen.send(ready)
    except StopIteration as stop:
        return stop.value
    finally:
        gen.close()
