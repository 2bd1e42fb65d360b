"""Recalls over REST: sixteen clients at once ask a server in a process of its own, over loopback.

`wrk` asks where it is installed, since a client in Python takes as much of the machine as the server does. The embedder
knows its vectors beforehand, so that embedding takes nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

from benchmarks.corpus import Corpus
from benchmarks.measuring import measured, say, summary
from benchmarks.ranking import data_set
from benchmarks.recalling import MadeUpEmbedder, text_of
from benchmarks.server import BenchServer
from perdure.memory import Memory
from perdure.types import Family

SIZES: Final = {"S": (8_000, 384), "M": (100_000, 384), "L": (100_000, 384)}
SECONDS: Final = {"S": 8, "M": 20, "L": 30}
CLIENTS: Final = 16
QUERIES: Final = 120
SPACE: Final = "space 1"
WARM_UPS: Final = 6
_LUA: Final = """
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local at = 0
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", os.getenv("ROUTE"), {["Content-Type"] = "application/json"}, bodies[at])
end
done = function(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  local form = 'FIGURES {"requests": %d, "seconds": %f, "p50": %f, "p95": %f, "p99": %f, "failed": %d}'
  local ms = function(share) return latency:percentile(share) / 1e3 end
  io.stdout:write(string.format(form, summary.requests, summary.duration / 1e6, ms(50), ms(95), ms(99), failed))
end
"""


async def measure(server: BenchServer, size: str) -> dict[str, Any]:
    """Throughput and times of recalls, and what of the machine each took."""
    memories, dimensions = SIZES[size]
    async with data_set(server, memories, dimensions):
        pass
    with _serving(server, memories, dimensions) as (address, process):
        texts = [text_of(query) for query in _queries(memories, dimensions)]
        await _warm(address, texts)
        before = server.cpu_s(), _cpu_s(process)
        asked = await asyncio.to_thread(_wrk, address, texts, SECONDS[size], server.directory)
        found = asked if asked is not None else await _by_python(address, texts, SECONDS[size])
        after = server.cpu_s(), _cpu_s(process)
    count = max(1, found["requests"])
    row = {
        "memories": memories,
        "dimensions": dimensions,
        "clients": CLIENTS,
        "by": "wrk" if asked is not None else "httpx",
        "ms": {name: round(found[name], 2) for name in ("p50", "p95", "p99")},
        "per_second": round(found["requests"] / found["seconds"], 1),
        "failed": found["failed"],
        "database_cpu_ms": round(1000 * (after[0] - before[0]) / count, 2),
        "server_cpu_ms": round(1000 * (after[1] - before[1]) / count, 2),
        "load": round(os.getloadavg()[0], 1),
    }
    say(f"rest, {memories:,} x {dimensions}: {row}")
    return row


def _queries(memories: int, dimensions: int) -> list[Any]:
    return list(Corpus(memories, dimensions).queries(QUERIES, seed=11))


@contextmanager
def _serving(server: BenchServer, memories: int, dimensions: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    urls = server.urls(f"ranking_{memories}x{dimensions}")
    told = {"app": urls.app, "worker": urls.worker, "owner": urls.owner}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.rest", str(memories), str(dimensions)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(told) + "\n")
    process.stdin.flush()
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.terminate()
        process.wait(30)


async def _warm(address: str, texts: list[str]) -> None:
    """Every connection of the pool plans a statement a few times before it keeps the plan."""
    async with httpx.AsyncClient(base_url=address, timeout=120) as http:
        for _ in range(WARM_UPS):
            await asyncio.gather(*(http.post(_route(), json={"message": text}) for text in texts[: 2 * CLIENTS]))


def _wrk(address: str, texts: list[str], seconds: int, directory: Path) -> dict[str, Any] | None:
    program = shutil.which("wrk")
    if program is None:
        return None
    script, bodies = directory / "rest.lua", directory / "rest.jsonl"
    script.write_text(_LUA, "utf-8")
    bodies.write_text("".join(json.dumps({"message": text, "deadline_s": 60}) + "\n" for text in texts), "utf-8")
    command = [program, "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--timeout", "60s", "-s", str(script), address]
    done = subprocess.run(
        command, env=os.environ | {"BODIES": str(bodies), "ROUTE": _route()}, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.partition("FIGURES ")[2])
    return found


async def _by_python(address: str, texts: list[str], seconds: int) -> dict[str, Any]:
    took_ms: list[float] = []
    failed = 0
    with measured() as whole:
        async with httpx.AsyncClient(base_url=address, timeout=60) as http, asyncio.timeout(seconds + 60):
            loop = asyncio.get_running_loop()
            end = loop.time() + seconds

            async def client(first: int) -> None:
                nonlocal failed
                at = first
                while loop.time() < end:
                    with measured() as took:
                        answer = await http.post(_route(), json={"message": texts[at % len(texts)], "deadline_s": 60})
                    took_ms.append(took.ms)
                    failed += answer.status_code != httpx.codes.OK
                    at += CLIENTS

            await asyncio.gather(*(client(first) for first in range(CLIENTS)))
    return {"requests": len(took_ms), "seconds": whole.wall_s, "failed": failed, **summary(took_ms)}


def _route() -> str:
    return f"/v1/spaces/{quote(SPACE)}/recall"


def _cpu_s(process: subprocess.Popen[str]) -> float:
    import psutil  # noqa: PLC0415

    times = psutil.Process(process.pid).cpu_times()
    return float(times.user + times.system)


def serve(memories: int, dimensions: int) -> None:
    """The server of the measurement; its address is the first line that it prints."""
    from perdure.serve.app import create_app  # noqa: PLC0415 - an extra
    from perdure.serve.running import run  # noqa: PLC0415

    urls = json.loads(sys.stdin.readline())
    embedder = MadeUpEmbedder(Family("made up", "bench", "none", dimensions))
    embedder.vectors = {text_of(query): query.vector for query in _queries(memories, dimensions)}
    app = create_app(
        lambda: Memory.open(
            database_url=urls["app"],
            database_worker_url=urls["worker"],
            database_owner_url=urls["owner"],
            embedder=embedder,
            worker=False,
        )
    )
    asyncio.run(run(app, "127.0.0.1", 0, lambda address: print(address, flush=True)))


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
