"""A space for each test, of the memory with an event loop and of the one without, on one database."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import pytest

from perdure import sync
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure import Memory, Space
    from perdure.store.embedded import ServerUrls

T = TypeVar("T")


def alone(work: Callable[[], T]) -> T:
    """What comes of `work` in a thread without an event loop, as a script's main thread is."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@pytest.fixture(scope="session")
async def memory(urls: ServerUrls) -> AsyncIterator[Memory]:
    async with open_memory(urls, HashedEmbedder()) as memory:
        yield memory


@pytest.fixture(scope="session")
def blocking_memory(urls: ServerUrls) -> Iterator[sync.Memory]:
    with sync.Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=HashedEmbedder(),
        worker=False,
    ) as memory:
        yield memory


@pytest.fixture
def space(memory: Memory) -> Space:
    return memory.space(f"space-{secrets.token_hex(6)}")


@pytest.fixture
def blocking(blocking_memory: sync.Memory) -> sync.Space:
    return blocking_memory.space(f"space-{secrets.token_hex(6)}")
