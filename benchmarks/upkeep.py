"""One tick of upkeep over many spaces, each statement by itself, and what recall takes meanwhile."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import psycopg
import psycopg.sql

from benchmarks.corpus import EPOCH, Corpus, load_batch
from benchmarks.measuring import CLOCK, measured, say, summary
from benchmarks.server import BenchServer
from perdure import Memory
from perdure.chores import Chores
from perdure.clock import SimulatedClock
from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

SPACES: Final = {"S": 20, "M": 200, "L": 1000}
EACH: Final = 1000
"""Memories of a space."""
DIMENSIONS: Final = 384
IDLE: Final = timedelta(days=30)
"""How long nobody has kept the spaces up: every row has to be written."""
RECALLS: Final = 150
PAUSE_S: Final = 0.05
"""Between two recalls, as a host makes them; meanwhile as long as the tick lasts."""
QUESTION: Final = "what was that about the harbour and the tax office again"

# The first space is made up; the others are copies of it, without words: upkeep doesn't look at them.
COPY_MEMORIES: Final = """
    INSERT INTO memories (space_id, id, summary, search_text, source, trust, speaker)
    SELECT n, m.id + n * %(step)s, left(m.summary, 40), 'm', m.source, m.trust, m.speaker
    FROM memories m, generate_series(%(first)s::bigint, %(last)s::bigint) AS n
    WHERE m.space_id = %(from)s ORDER BY n, m.id
"""

COPY_STATE: Final = """
    INSERT INTO memory_state (space_id, memory_id, memory_type, salience, usefulness_score, confidence,
        retrieval_count, created_at, source_date, decayed_at, regressed_at, superseded_by, superseded_at, sketch,
        signature)
    SELECT n, m.memory_id + n * %(step)s, m.memory_type, m.salience, m.usefulness_score, m.confidence,
        m.retrieval_count, m.created_at, m.source_date, m.decayed_at, m.regressed_at,
        m.superseded_by + n * %(step)s, m.superseded_at, m.sketch, m.signature
    FROM memory_state m, generate_series(%(first)s::bigint, %(last)s::bigint) AS n
    WHERE m.space_id = %(from)s ORDER BY n, m.memory_id
"""

COPY_VECTORS: Final = """
    INSERT INTO memory_vectors (space_id, family_id, memory_id, embedding)
    SELECT n, m.family_id, m.memory_id + n * %(step)s, m.embedding
    FROM memory_vectors m, generate_series(%(first)s::bigint, %(last)s::bigint) AS n
    WHERE m.space_id = %(from)s ORDER BY n, m.memory_id
"""

MAKE_SPACES: Final = """
    INSERT INTO spaces (id, name, created_at)
    SELECT n, 'space ' || n, %(now)s FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
"""

MAKE_STATES: Final = """
    INSERT INTO space_state (space_id, family_id, memories, terms)
    SELECT n, s.family_id, s.memories, s.terms
    FROM space_state s, generate_series(%(first)s::bigint, %(last)s::bigint) AS n WHERE s.space_id = %(from)s
"""


async def measure(server: BenchServer, size: str) -> dict[str, Any]:
    """Seconds and statements of one tick in `SPACES[size]` spaces, and recall's times alone and meanwhile."""
    spaces = SPACES[size]
    with server.passing("kept_up") as urls:
        async with _loaded(urls, spaces) as memory:
            alone = await _recalls(memory, spaces, asyncio.Event())
            done = asyncio.Event()
            meanwhile = asyncio.create_task(_recalls(memory, spaces, done, most=math.inf))
            server_cpu_s = -server.cpu_s()
            with _statements() as statements, measured() as took:
                kept_up = await Chores(memory.resources, "bench", done.is_set).keep_up(until=math.inf)
            server_cpu_s += server.cpu_s()
            done.set()
            beside = await meanwhile
    assert kept_up >= spaces, f"{kept_up} of {spaces} spaces were kept up"
    slowest = max(statements, key=lambda one: one[0])
    found = {
        "spaces": spaces,
        "memories": spaces * EACH,
        "seconds": round(took.wall_s, 1),
        "python_cpu_s": round(took.cpu_s, 1),
        "server_cpu_s": round(server_cpu_s, 1),
        "statements": len(statements),
        "statement_ms": summary([ms for ms, _ in statements]),
        "slowest_ms": round(slowest[0], 1),
        "slowest": slowest[1],
        "recall_ms": {"alone": summary(alone), "meanwhile": summary(beside), "recalls": len(beside)},
    }
    say(f"upkeep: {found}")
    return found


@asynccontextmanager
async def _loaded(urls: ServerUrls, spaces: int) -> AsyncIterator[Memory]:
    async with Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=HashedEmbedder(DIMENSIONS),
        worker=False,
        clock=SimulatedClock(EPOCH + IDLE),
    ) as memory:
        with measured() as took:
            first = await memory.ensure_space("space 0")
            await memory.space("space 0").save("The first memory makes the family.")
            with psycopg.connect(urls.owner, autocommit=True) as owner:
                for start, batch in enumerate(Corpus(EACH, DIMENSIONS).batches()):
                    load_batch(owner, first.id, memory.resources.family.id, 1000 + start * len(batch), batch)
                step = 10 * EACH
                for begin in range(1, spaces, 20):
                    last = min(begin + 19, spaces - 1)
                    params = {"from": first.id, "first": begin + 1000, "last": last + 1000, "step": step, "now": EPOCH}
                    for statement in (MAKE_SPACES, MAKE_STATES, COPY_MEMORIES, COPY_STATE, COPY_VECTORS):
                        owner.execute(statement, params)
                owner.execute("VACUUM ANALYZE")
        say(f"{spaces} spaces of {EACH:,} memories loaded in {took.wall_s:.0f} s.")
        yield memory


async def _recalls(memory: Memory, spaces: int, done: asyncio.Event, most: float = RECALLS) -> list[float]:
    """Times of recalls in one space after the other, in ms, until it is done or there were `most`."""
    times: list[float] = []
    names = ["space 0", *(f"space {n + 1000}" for n in range(1, spaces))]
    while not done.is_set() and len(times) < most:
        space = memory.space(names[len(times) * 7 % len(names)])
        with measured() as took:
            await space.recall(QUESTION)
        times.append(took.ms)
        await asyncio.sleep(PAUSE_S)
    return times


@contextmanager
def _statements() -> Iterator[list[tuple[float, str]]]:
    """What each statement of this process took, in ms by the clock, with its beginning: recall's are among them."""
    times: list[tuple[float, str]] = []
    original = psycopg.AsyncCursor.execute

    async def execute(self: Any, query: Any, *args: Any, **named: Any) -> Any:
        begun = CLOCK.monotonic()
        answer = await original(self, query, *args, **named)
        took_ms = 1000 * (CLOCK.monotonic() - begun)
        text = query.as_string(None) if isinstance(query, psycopg.sql.Composable) else str(query)
        times.append((took_ms, " ".join(text.split())[:60]))
        return answer

    psycopg.AsyncCursor.execute = execute  # type: ignore[method-assign]
    try:
        yield times
    finally:
        psycopg.AsyncCursor.execute = original  # type: ignore[method-assign]
