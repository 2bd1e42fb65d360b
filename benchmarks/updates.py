"""State updates: a thousand memories of one space in one statement, as a retrieval's boost and as an hour's decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg

from benchmarks.measuring import measured, say, summary
from benchmarks.server import BenchServer, open_database
from perdure.store.database import Database, SpaceTransaction

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

ROWS: Final = 1000
ROUNDS: Final = 20

SPREAD_SALIENCE: Final = """
    UPDATE memory_state
    SET salience = 1 + memory_id * 7919 %% 9000 / 1000.0, usefulness_score = memory_id %% 100 / 100.0
    WHERE space_id = %(space_id)s
"""

BOOST: Final = """
    UPDATE memory_state
    SET retrieval_count = retrieval_count + 1, last_retrieved_at = %(now)s,
        salience = least(10, salience + 0.3 * (1 - salience / 10))
    WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

# 0.977 a day, the mission's rate.
DECAY_OF_AN_HOUR: Final = """
    UPDATE memory_state
    SET salience = greatest(1, salience * power(0.977, 1 / 24.0::double precision)::real), decayed_at = %(now)s
    WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

READ_IDS: Final = """
    SELECT memory_id FROM memory_state WHERE space_id = %(space_id)s ORDER BY memory_id
"""

FLUSH: Final = """
    SELECT pg_stat_force_next_flush()
"""

READ_HOT: Final = """
    SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'memory_state'
"""


_Work = tuple[LiteralString, npt.NDArray[np.int64]]
"""A statement, and the ids of the memories that it may be about."""


async def measure(server: BenchServer, urls: ServerUrls, space_id: int) -> dict[str, Any]:
    """Times of both statements and the share of HOT updates, which touch no index."""
    with psycopg.connect(urls.owner, autocommit=True) as owner:
        owner.execute(SPREAD_SALIENCE, {"space_id": space_id})
        owner.execute("VACUUM (FULL, ANALYZE) memory_state")
        async with open_database(urls, pool_size=1) as database:
            rows = await database.in_space(space_id, lambda tx: tx.fetch_all(READ_IDS))
            ids = np.array([row["memory_id"] for row in rows])
            found = {
                "boost": await _rounds(server, database, owner, space_id, (BOOST, ids)),
                "decay": await _rounds(server, database, owner, space_id, (DECAY_OF_AN_HOUR, ids)),
            }
    for name, figures in found.items():
        say(f"{ROWS:,} updates, {name}: {figures['ms']['p50']:.1f} ms, {figures['hot_share']:.0%} HOT")
    return {"rows": ROWS, "memories": len(ids), **found}


async def _rounds(
    server: BenchServer, database: Database, owner: psycopg.Connection[Any], space_id: int, work: _Work
) -> dict[str, Any]:
    statement, ids = work
    random = np.random.default_rng(5)
    before = await _hot(database, owner, space_id)
    times = []
    cpu_s = -server.cpu_s()
    for _ in range(ROUNDS):
        chosen = random.choice(ids, ROWS, replace=False).tolist()

        async def update(tx: SpaceTransaction, chosen: list[int] = chosen) -> int:
            return await tx.execute(statement, {"ids": chosen})

        with measured() as took:
            changed = await database.in_space(space_id, update)
        assert changed == ROWS
        times.append(took.ms)
    cpu_s += server.cpu_s()
    after = await _hot(database, owner, space_id)
    share = (after[1] - before[1]) / (after[0] - before[0])
    return {"ms": summary(times), "server_cpu_ms": round(1000 * cpu_s / ROUNDS, 1), "hot_share": round(share, 3)}


async def _hot(database: Database, owner: psycopg.Connection[Any], space_id: int) -> tuple[int, int]:
    """Updates of memory_state so far, and how many of them were HOT. The pool's only connection hands in its own."""
    await database.in_space(space_id, lambda tx: tx.fetch_all(FLUSH))
    row = owner.execute(READ_HOT).fetchone()
    assert row is not None
    return row[0], row[1]
