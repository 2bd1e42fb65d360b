"""Half an hour of a server (`PERDURE_SOAK_S` sets another length): it grows neither in memory nor in connections."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import httpx
import psutil
import pytest

from tests.acceptance.cli_process import COMMAND, Perdure

SECONDS = float(os.environ.get("PERDURE_SOAK_S", "1800"))
CLIENTS = 4
SPACES = 20
SAMPLE_S = 2.0
GROWTH = 1.10
"""What a process may grow by between the second quarter and the last; caches fill in the first."""
SLACK_MB = 16.0
CONNECTIONS = 20
"""Pools of 8 and 2, and what a moment needs besides."""


@dataclass
class Samples:
    """What was seen of the server, sample by sample."""

    megabytes: list[float] = field(default_factory=list)
    connections: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    answered: int = 0
    failed: list[str] = field(default_factory=list)

    def quarter(self, number: int, values: list[float]) -> float:
        size = len(values) // 4
        return mean(values[(number - 1) * size : number * size])


@asynccontextmanager
async def serving(perdure: Perdure) -> AsyncIterator[tuple[str, psutil.Process]]:
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--json"], stdout=subprocess.PIPE, env=perdure.environment, text=True
    )
    assert process.stdout is not None
    try:
        told = ""
        while not told.strip().endswith("}"):
            told += process.stdout.readline()
        yield json.loads(told)["serving"], psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


async def live(http: httpx.AsyncClient, samples: Samples, number: int, until: float) -> None:
    """A client that does a bit of everything, in its spaces."""
    dice, loop = random.Random(number), asyncio.get_running_loop()
    while loop.time() < until:
        space = f"/v1/spaces/soak-{dice.randrange(SPACES)}"
        fact = dice.randrange(10_000)
        asked = dice.choice(
            [
                ("POST", f"{space}/recall", {"message": f"What about fact {fact}?"}),
                ("POST", f"{space}/recall", {"message": "hi"}),
                ("POST", f"{space}/context", {"message": f"Tell me of fact {fact}"}),
                ("POST", f"{space}/capture", {"user": f"Fact {fact} is new", "assistant": "Noted."}),
                ("POST", f"{space}/search", {"query": f"fact {fact}"}),
                ("POST", f"{space}/memories", {"text": f"Fact number {fact} of many"}),
                ("GET", f"{space}/memories", None),
                ("POST", f"{space}/memories", {"text": "", "salience": 99}),
            ]
        )
        answer = await http.request(asked[0], asked[1], json=asked[2])
        samples.answered += 1
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            samples.failed.append(answer.text)
    await http.get("/livez")


@pytest.mark.long
async def test_a_server_grows_neither_in_memory_nor_in_connections(tmp_path: Path) -> None:
    samples = Samples()
    async with serving(Perdure(tmp_path)) as (address, process):
        loop = asyncio.get_running_loop()
        until = loop.time() + SECONDS
        async with httpx.AsyncClient(base_url=address, timeout=60) as http:
            clients = [asyncio.create_task(live(http, samples, number, until)) for number in range(CLIENTS)]
            while loop.time() < until:
                await asyncio.sleep(SAMPLE_S)
                metrics = (await http.get("/metrics")).text
                held = [line for line in metrics.splitlines() if line.startswith("perdure_connections{")]
                samples.connections.append(
                    sum(float(line.rsplit(" ", 1)[1]) for line in held if 'state="open"' in line)
                )
                samples.megabytes.append(process.memory_info().rss / 1e6)
                samples.files.append(process.num_fds() if hasattr(process, "num_fds") else 0)
            await asyncio.gather(*clients)
    second, last = samples.quarter(2, samples.megabytes), samples.quarter(4, samples.megabytes)
    told = (
        f"{samples.answered} answers, {second:.0f} MB in the second quarter and {last:.0f} in the last, "
        f"at most {max(samples.connections):.0f} connections and {max(samples.files)} files"
    )
    print(told)
    assert samples.failed == []
    assert last <= GROWTH * second + SLACK_MB, told
    assert max(samples.connections) <= CONNECTIONS, told
    half = len(samples.files) // 2
    assert max(samples.files[half:]) <= max(samples.files[:half]) + CLIENTS, told
