"""A Memory on the shared database, with an embedder that needs no model, and a space of its own for every test."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure import Memory, Space
    from perdure.store.embedded import ServerUrls


def open_memory(urls: ServerUrls, embedder: HashedEmbedder, **settings: object) -> Memory:
    from perdure import Memory

    return Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=embedder,
        **{"worker": False, **settings},
    )


@pytest.fixture
def embedder() -> HashedEmbedder:
    return HashedEmbedder()


@pytest.fixture
async def memory(urls: ServerUrls, embedder: HashedEmbedder) -> AsyncIterator[Memory]:
    async with open_memory(urls, embedder) as memory:
        yield memory


@pytest.fixture
def space(memory: Memory) -> Space:
    return memory.space(f"space-{secrets.token_hex(6)}")
