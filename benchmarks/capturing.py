"""Capture while eight callers do it at once: what a turn waits for when it hands in its exchange."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from benchmarks.importing import Prepared
from benchmarks.measuring import measured, say, summary
from perdure import Memory

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

CALLERS: Final = 8
EACH: Final = 100
REPLY: Final = "That sounds good. Shall I put it on the list for Saturday, or would you rather decide tomorrow?"


async def measure(urls: ServerUrls, prepared: Prepared) -> dict[str, Any]:
    """Time of one `space.capture` in ms, with a database connection for each caller and no worker beside them."""
    times: list[float] = []
    async with Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=prepared.embedder,
        worker=False,
    ) as memory:
        space = memory.space("captured")

        async def caller(number: int, count: int, kept: list[float]) -> None:
            for turn in range(count):
                user = prepared.messages[number * EACH + turn].text
                with measured() as took:
                    await space.capture(user, REPLY, conversation_id=f"conversation {number}")
                kept.append(took.ms)

        await asyncio.gather(*(caller(number, 10, []) for number in range(CALLERS)))
        with measured() as all_of_it:
            await asyncio.gather(*(caller(number, EACH, times) for number in range(CALLERS)))
    found = {
        "callers": CALLERS,
        "captures": len(times),
        "per_second": round(len(times) / all_of_it.wall_s, 1),
        "ms": summary(times),
    }
    say(f"capture, {CALLERS} callers at once: {found['ms']}")
    return found
