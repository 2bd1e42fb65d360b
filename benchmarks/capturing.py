"""Capture while eight callers do it at once: what a turn waits for when it hands in its exchange."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from benchmarks import exchanges
from benchmarks.draining import workers
from benchmarks.importing import prepare
from benchmarks.measuring import measured, say, summary
from benchmarks.server import BenchServer, open_database
from perdure import Memory
from tests.doubles.chat_server import in_a_process
from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

CALLERS: Final = 8
EACH: Final = 100
ROUNDS: Final = 3
BACKLOG: Final = 4000
SERVED_S: Final = 0.1
"""How long the model takes for an answer where it is a quick one on hardware of its own."""
REPLY: Final = "That sounds good. Shall I put it on the list for Saturday, or would you rather decide tomorrow?"
LAYOUTS: Final = {"one space": 1, "eight spaces": CALLERS}
WORKERS: Final = {"no worker": None, "busy worker": SERVED_S, "worker and model on the same cores": 0.0}
"""What happens beside: nothing, or a worker in a process of its own that drains a backlog with a model in a third one,
which answers after so many seconds."""


async def measure(server: BenchServer) -> dict[str, Any]:
    """Times of one `space.capture` in ms, by what goes on beside it and by how many spaces the callers use."""
    texts = [message.text for message in prepare(CALLERS * EACH).messages]
    times: dict[str, dict[str, list[float]]] = {name: {layout: [] for layout in LAYOUTS} for name in WORKERS}
    cpu_ms: list[float] = []
    with server.passing("captured") as urls:
        async with _memory(urls) as memory:
            await _fill(urls)
            for turn in range(ROUNDS):
                for name, delay_s in WORKERS.items():
                    with _beside(urls, delay_s):
                        for layout, spaces in LAYOUTS.items():
                            found, cpu_s = await _round(memory, texts, spaces, warm=turn == 0)
                            times[name][layout] += found
                            if delay_s is None:
                                cpu_ms.append(1000 * cpu_s / len(found))
            backlog = exchanges.pending(urls)
            assert backlog, "the worker had nothing more to do"
    rows = [
        {"beside": name, "layout": layout, "captures": len(kept), "ms": summary(kept)}
        for name, of in times.items()
        for layout, kept in of.items()
    ]
    for row in rows:
        say(f"capture, {CALLERS} callers, {row['layout']}, {row['beside']}: {row['ms']}")
    return {"callers": CALLERS, "cpu_ms": round(sum(cpu_ms) / len(cpu_ms), 3), "rows": rows}


async def _round(memory: Memory, texts: list[str], spaces: int, *, warm: bool) -> tuple[list[float], float]:
    times: list[float] = []

    async def caller(number: int, count: int, kept: list[float]) -> None:
        space = memory.space(f"captured {number % spaces}")
        for turn in range(count):
            with measured() as took:
                await space.capture(texts[number * EACH + turn], REPLY, conversation_id=f"conversation {number}")
            kept.append(took.ms)

    # The connections of the pool are made, and statements prepared on them.
    await asyncio.gather(*(caller(number, 20 if warm else 5, []) for number in range(CALLERS)))
    with measured() as all_of_it:
        await asyncio.gather(*(caller(number, EACH, times) for number in range(CALLERS)))
    return times, all_of_it.cpu_s


@asynccontextmanager
async def _memory(urls: ServerUrls) -> AsyncIterator[Memory]:
    async with Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=HashedEmbedder(),
        worker=False,
    ) as memory:
        yield memory


async def _fill(urls: ServerUrls) -> None:
    """Four spaces with a backlog that lasts longer than all rounds."""
    async with open_database(urls) as database:
        for number in range(4):
            space = await exchanges.make_space(database, f"backlog {number}")
            await exchanges.enqueue(database, space.id, range(number, BACKLOG, 4))


@contextmanager
def _beside(urls: ServerUrls, delay_s: float | None) -> Iterator[None]:
    if delay_s is None:
        yield
        return
    with in_a_process(delay_s=delay_s) as model, workers(urls, model, 1):
        yield
