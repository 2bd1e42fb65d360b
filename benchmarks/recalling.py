"""Recall as a host calls it, at several sizes: alone, by eight callers at once, and while somebody writes.

The embedder knows its vectors beforehand, so that embedding takes nothing. Processor time is that of this process and
of the server's together.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final
from zlib import crc32

import numpy as np
import psutil
import psycopg

from benchmarks.corpus import Corpus, Query
from benchmarks.crowd import FIRST_SPACE, OF_A_SPACE, indexes
from benchmarks.importing import prepare
from benchmarks.measuring import measured, say, summary
from benchmarks.ranking import DataSet, data_set
from benchmarks.server import BenchServer
from perdure import Memory, Space
from perdure.embedding import Calibration, Kind, Matrix
from perdure.types import Family

SIZES: Final = {
    "S": ((1_000, 384), (8_000, 384)),
    "M": ((1_000, 384), (10_000, 384), (100_000, 384)),
    "L": ((1_000, 384), (10_000, 384), (100_000, 384), (1_000_000, 384), (100_000, 2560)),
}
"""Memories and dimensions. The largest of 384 dimensions has the many small spaces beside it."""

SPACES: Final = {"S": 200, "M": 10_000, "L": 10_000}
LOOKED_INTO: Final = 40
"""Of the many spaces, how many are asked."""

QUERIES: Final = 120
WARM_UP: Final = 20
WARM_UPS: Final = 8
CLIENTS: Final = 8
WRITES_A_SECOND: Final = 50
AT_ONCE: Final = 5
LIMIT: Final = 10
PATIENCE_S: Final = 60


@dataclass
class MadeUpEmbedder:
    """An `Embedder` that knows the vectors of the queries; every other text points somewhere of its own."""

    family: Family
    vectors: dict[str, Matrix] = field(default_factory=dict)
    calibration: Calibration | None = None

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        return np.stack([self.vectors[text] if text in self.vectors else self._elsewhere(text) for text in texts])

    async def close(self) -> None:
        return None

    def _elsewhere(self, text: str) -> Matrix:
        found = np.random.default_rng(crc32(text.encode())).standard_normal(self.family.dimensions, dtype=np.float32)
        unit: Matrix = found / np.linalg.norm(found)
        return unit


def text_of(query: Query) -> str:
    """A made-up query as somebody would type it."""
    return " ".join((*query.terms, *(key for key in query.entity_keys if " " in key)))


async def measure(server: BenchServer, size: str) -> dict[str, Any]:
    """Every size, then the many small spaces beside the largest."""
    found: dict[str, Any] = {"clients": CLIENTS, "writes_a_second": WRITES_A_SECOND, "spaces": [], "many": None}
    beside = max(memories for memories, dimensions in SIZES[size] if dimensions == SIZES[size][0][1])
    for memories, dimensions in SIZES[size]:
        crowded = memories == beside and dimensions == SIZES[size][0][1]
        async with data_set(server, memories, dimensions, crowd=SPACES[size] if crowded else 0) as data:
            found["spaces"].append(
                {"memories": memories, "dimensions": dimensions, **data.facts} | _sizes(server, data)
            )
            if crowded:
                found["many"] = await _many(server, data, SPACES[size], _indexes_alone(server, size))
        found["spaces"][-1] |= await _in_space(server, memories, dimensions)
    return found


async def _in_space(server: BenchServer, memories: int, dimensions: int) -> dict[str, Any]:
    corpus = Corpus(memories, dimensions)
    queries = corpus.queries(WARM_UP + QUERIES, seed=11)
    texts = [text_of(query) for query in queries]
    embedder = MadeUpEmbedder(Family("made up", "bench", "none", dimensions))
    embedder.vectors = {text: query.vector for text, query in zip(texts, queries, strict=True)}
    async with _memory(server, f"ranking_{memories}x{dimensions}", embedder) as memory:
        space = memory.space("space 1")

        async def recall(text: str) -> None:
            found = await space.recall(text, deadline_s=PATIENCE_S)
            assert not found.degraded, found.degraded

        async def search(text: str) -> None:
            found = await space.search(text, limit=LIMIT, plain=True)
            assert not found.degraded, found.degraded

        # Every connection of the pool plans a statement a few times before it keeps the plan.
        for ask in (recall, search):
            await _asked(server, ask, texts[:WARM_UP] * WARM_UPS, CLIENTS)
        asked = texts[WARM_UP:]
        alone = await _asked(server, recall, asked, 1)
        searched = await _asked(server, search, asked, 1)
        together = await _asked(server, recall, asked * 2, CLIENTS)
        async with _writing(space):
            beside = await _asked(server, recall, asked * 2, CLIENTS)
    rows = {"recall": alone, "search": searched, "together": together, "beside_a_writer": beside}
    for name, row in rows.items():
        say(f"{memories:,} x {dimensions}, {name}: {row}")
    return rows


async def _asked(
    server: BenchServer, ask: Callable[[str], Awaitable[None]], texts: Sequence[str], clients: int
) -> dict[str, Any]:
    """Times of each in ms, how many a second, and processor time of each in ms."""
    took_ms: list[float] = []
    waiting = iter(texts)

    async def client() -> None:
        for text in waiting:
            with measured() as took:
                await ask(text)
            took_ms.append(took.ms)

    before = server.cpu_s()
    with measured() as whole:
        await asyncio.gather(*(client() for _ in range(clients)))
    server_s = server.cpu_s() - before
    return {
        "ms": summary(took_ms),
        "per_second": round(len(took_ms) / whole.wall_s, 1),
        "client_cpu_ms": round(1000 * whole.cpu_s / len(took_ms), 2),
        "server_cpu_ms": round(1000 * server_s / len(took_ms), 2),
        "load": round(os.getloadavg()[0], 1),
    }


@asynccontextmanager
async def _writing(space: Space) -> AsyncIterator[None]:
    """Adds memories to the space, the same number in each second, while the block runs."""
    messages = prepare(2_000).messages
    stop = asyncio.Event()

    async def write() -> None:
        pause = AT_ONCE / WRITES_A_SECOND
        for start in range(0, len(messages), AT_ONCE):
            with measured() as took:
                await space.import_messages(messages[start : start + AT_ONCE], source=f"bench {os.getpid()}")
            try:
                async with asyncio.timeout(max(0.0, pause - took.wall_s)):
                    await stop.wait()
            except TimeoutError:
                continue
            return

    writer = asyncio.create_task(write())
    try:
        yield
    finally:
        stop.set()
        await writer


@asynccontextmanager
async def _memory(server: BenchServer, name: str, embedder: MadeUpEmbedder) -> AsyncIterator[Memory]:
    urls = server.urls(name)
    async with Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=embedder,
        worker=False,
    ) as memory:
        yield memory


def _sizes(server: BenchServer, data: DataSet) -> dict[str, Any]:
    """Bytes of the database and of the vectors' index, and memory of the server's processes (shared pages once)."""
    urls = server.urls(f"ranking_{data.spaces[1].size}x{data.spaces[1].dimensions}")
    with psycopg.connect(urls.owner, autocommit=True) as owner:
        row = owner.execute(
            "SELECT pg_database_size(current_database()), pg_relation_size(%s::regclass)", (data.family.index_name,)
        ).fetchone()
    assert row is not None
    return {"database_mb": round(row[0] / 1e6), "index_mb": round(row[1] / 1e6), "client_mb": round(_resident() / 1e6)}


def _resident() -> int:
    used: int = psutil.Process().memory_info().rss
    return used


def _indexes_alone(server: BenchServer, size: str) -> int:
    """How many indexes the smallest set has, which no small spaces lie beside."""
    memories, dimensions = SIZES[size][0]
    return indexes(server.urls(f"ranking_{memories}x{dimensions}").owner)


async def _many(server: BenchServer, data: DataSet, count: int, indexes_alone: int) -> dict[str, Any]:
    """Small spaces beside the large one: whether each is answered in full, and how many indexes there are."""
    large = data.spaces[1]
    name = f"ranking_{large.size}x{large.dimensions}"
    urls = server.urls(name)
    took_ms, same, exact = [], [], 0
    queries = large.queries(LOOKED_INTO, seed=12)
    embedder = MadeUpEmbedder(Family("made up", "bench", "none", large.dimensions))
    embedder.vectors = {text_of(query): query.vector for query in queries}
    async with _memory(server, name, embedder) as memory:
        for place, query in enumerate(queries):
            space = memory.space(f"space {FIRST_SPACE + place * count // LOOKED_INTO}")
            for tags in ((), ("tag",)):
                with measured() as took:
                    found = await space.search(text_of(query), tags=tags, limit=LIMIT, plain=True)
                took_ms.append(took.ms)
                oracle = await space.search(text_of(query), tags=tags, limit=LIMIT, plain=True, exact=True)
                same.append([hit.memory.id for hit in found.hits] == [hit.memory.id for hit in oracle.hits])
                exact += found.path == "exact"
    row = {
        "spaces": count,
        "memories_each": OF_A_SPACE,
        "beside": large.size,
        "asked": len(same),
        "as_the_oracle": mean(same),
        "exact": exact / len(same),
        "search_ms": summary(took_ms),
        "indexes_before": indexes_alone,
        "indexes_after": indexes(urls.owner),
    }
    say(f"{count:,} spaces of {OF_A_SPACE}: {row}")
    return row
