"""A process of its own that teaches facts when it is told to begin, and prints what came of each.

Called with the URLs of the application and worker roles, the name of a space, and how many facts to teach.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter

from perdure import Memory
from tests.doubles.embedder import HashedEmbedder
from tests.integration.test_facts_create import TURN, about_server


async def main(app: str, worker: str, name: str, count: int) -> None:
    opening = Memory.open(database_url=app, database_worker_url=worker, embedder=HashedEmbedder(), worker=False)
    async with opening as memory:
        space = memory.space(name)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        calls = (
            space.create_long_term_memory(TURN, about_server(f"fact {number} of {os.getpid()}"))
            for number in range(count)
        )
        outcomes = await asyncio.gather(*calls)
        for status, times in Counter(outcome.status.value for outcome in outcomes).items():
            print(status, times, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
