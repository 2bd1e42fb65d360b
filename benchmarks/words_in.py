"""Words in: what a capture takes, what a drain costs, and two workers on one long queue."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from benchmarks import capturing, draining, overhead
from benchmarks.server import BenchServer

PENDING: Final = 10_000
PENDING_SMALL: Final = 1_000
"""For size S, which has to be done in minutes."""


def measure(server: BenchServer, size: str) -> dict[str, Any]:
    """All three, each on a database of its own."""
    return {
        "capture": asyncio.run(capturing.measure(server)),
        "overhead": overhead.measure(server),
        "drain": asyncio.run(draining.measure(server, PENDING_SMALL if size == "S" else PENDING)),
    }
