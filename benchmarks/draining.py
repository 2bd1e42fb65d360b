"""Worker processes, and how they share a long queue: nothing lost, nothing twice, and how fast.

`python -m benchmarks.draining '{"urls": [...], "model": ...}'` is one worker; it ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from benchmarks import exchanges
from benchmarks.measuring import measured, say
from benchmarks.server import BenchServer, open_database
from perdure import Memory
from tests.doubles.chat_server import in_a_process
from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

WORKERS: Final = 2
SLOTS: Final = 4
"""Requests that each role of the model takes at a time, for each worker."""
SPACES: Final = 6
"""The first holds half of all exchanges, the others share the rest."""
POLL_S: Final = 0.1
LONGEST_S: Final = 1800
TEXTS: Final = {"verbatim": 2, "judged": 1}
"""What an exchange leaves: what both sides said, or the judge's summary."""


async def measure(server: BenchServer, count: int) -> dict[str, Any]:
    """`count` exchanges in six spaces, drained by two processes, kept verbatim and judged by the double."""
    found: dict[str, Any] = {"exchanges": count, "workers": WORKERS, "spaces": SPACES}
    found["verbatim"] = await _drained(server, count, None, TEXTS["verbatim"])
    with in_a_process() as model:
        found["judged"] = await _drained(server, count, model, TEXTS["judged"])
    return found


async def _drained(server: BenchServer, count: int, model: str | None, texts: int) -> dict[str, Any]:
    with server.passing("drained") as urls:
        async with open_database(urls) as database:
            for number in range(SPACES):
                space = await exchanges.make_space(database, f"space {number}")
                numbers = range(0, count, 2) if number == 0 else range(2 * number - 1, count, 2 * (SPACES - 1))
                await exchanges.enqueue(database, space.id, numbers)
        waiting = exchanges.pending(urls)
        assert waiting == count, f"{waiting} of {count} exchanges wait"
        server_cpu_s = -server.cpu_s()
        with workers(urls, model, WORKERS) as processes:
            worker_cpu_s = -_cpu_s(processes)
            with measured() as took:
                _wait_until_drained(urls, processes)
            worker_cpu_s += _cpu_s(processes)
            server_cpu_s += server.cpu_s()
        left = {row["texts"]: row["exchanges"] for row in exchanges.read(urls, exchanges.COUNT_LEFT)}
        (stored,) = exchanges.read(urls, exchanges.COUNT_STORED)
    found = {
        "seconds": round(took.wall_s, 1),
        "per_second": round(count / took.wall_s, 1),
        "worker_cpu_ms": round(1000 * worker_cpu_s / count, 2),
        "server_cpu_ms": round(1000 * server_cpu_s / count, 2),
        "model_calls": stored["calls"],
        "lost": sum(many for one, many in left.items() if one < texts),
        "doubled": sum(many for one, many in left.items() if one > texts) + max(0, stored["texts"] - texts * count),
        "failed": stored["failed"],
    }
    say(f"{count:,} exchanges, {'judged' if model else 'verbatim'}: {found}")
    return found


def _wait_until_drained(urls: ServerUrls, processes: list[subprocess.Popen[str]]) -> None:
    # Measured by the clock alone: the processes that work are others.
    for _ in range(round(LONGEST_S / POLL_S)):
        if not exchanges.pending(urls):
            return
        assert all(process.poll() is None for process in processes), "a worker has ended"
        time.sleep(POLL_S)
    raise AssertionError(f"{exchanges.pending(urls)} rows still wait after {LONGEST_S} s")


def _cpu_s(processes: list[subprocess.Popen[str]]) -> float:
    times = [psutil.Process(process.pid).cpu_times() for process in processes]
    return sum(one.user + one.system for one in times)


@contextmanager
def workers(urls: ServerUrls, model: str | None, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """So many worker processes at work, for as long as the block lasts; `model` is the double's address."""
    given = json.dumps({"urls": [urls.owner, urls.app, urls.worker], "model": model})
    command = [sys.executable, "-m", "benchmarks.draining", given]
    root = Path(__file__).parents[1]
    processes = [
        subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline(), "a worker did not start"
        yield processes
    finally:
        for process in processes:
            process.communicate()


async def _work(urls: list[str], model: str | None) -> None:
    owner, app, worker = urls
    async with Memory.open(
        database_url=app,
        database_worker_url=worker,
        database_owner_url=owner,
        embedder=HashedEmbedder(),
        worker=True,
        idle_drain_s=0,
        daily_call_budget="none",
        daily_token_budget="none",
        thinker_url=model,
        subagent_url=model,
        thinker_slots=SLOTS,
        subagent_slots=SLOTS,
    ):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_work(**json.loads(sys.argv[1])))
