"""An erasure whose process is killed is gone on with by the next one, or by two at once."""

from __future__ import annotations

import asyncio
import secrets
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from perdure import Memory, Message
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.dumping import rows_of, tables_with

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

MANY = 160
ERASE = """
import asyncio, sys
from perdure import Memory
from perdure.ingest import forgetting_space
from tests.doubles.embedder import HashedEmbedder

async def main(app, worker, owner, space, what):
    forgetting_space.BATCH = 100
    told = lambda done: print(done, flush=True)
    async with Memory.open(
        database_url=app, database_worker_url=worker, database_owner_url=owner, embedder=HashedEmbedder(), worker=False
    ) as memory:
        if what == "space":
            receipt = await memory.forget_space(space, progress=told)
        else:
            receipt = await memory.space(space).forget_source("import:chats", progress=told)
        print("erased", receipt.removed.get("memories", 0), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def erasing(urls: ServerUrls, space: str, what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ERASE, urls.app, urls.worker, urls.owner, space, what]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def erased_by(process: subprocess.Popen[str]) -> int:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    return int(out.splitlines()[-1].removeprefix("erased "))


@pytest.mark.parametrize("what", ["source", pytest.param("space", marks=pytest.mark.long)])
async def test_killed_in_the_midst_two_others_finish_it(urls: ServerUrls, what: str) -> None:
    name, canary = f"space-{secrets.token_hex(4)}", f"zq{secrets.token_hex(5)}x"
    async with open_memory(urls, HashedEmbedder()) as memory:
        messages = [Message(text=f"{canary} number {n}", external_id=str(n), speaker="Ada") for n in range(MANY)]
        await memory.space(name).import_messages(messages, source="chats")
        row = await memory.find_space(name)
        assert row is not None
        first = await asyncio.to_thread(erasing, urls, name, what)
        assert first.stdout is not None
        assert await asyncio.to_thread(first.stdout.readline)
        first.send_signal(signal.SIGKILL)
        await asyncio.to_thread(first.communicate)
        assert await left(memory, row.id, canary)
        others = [await asyncio.to_thread(erasing, urls, name, what) for _ in range(2)]
        erased = [await asyncio.to_thread(erased_by, other) for other in others]
        assert sum(erased) <= MANY
        assert not await left(memory, row.id, canary)
        if what == "space":
            assert set((await rows_of(memory, row.id)).values()) == {0}
        else:
            assert await memory.space(name).list() == ()


async def left(memory: Memory, space_id: int, canary: str) -> bool:
    """Whether anything of the space's words is there."""
    return bool(await tables_with(memory, canary)) and any((await rows_of(memory, space_id)).values())
