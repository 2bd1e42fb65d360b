"""A Memory on the shared database, with an embedder that needs no model, and a space of its own for every test."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.doubles.chat_server import ChatServer, serving
from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure import Memory, Space
    from perdure.store.embedded import ServerUrls
    from tests.conftest import TestServer
    from tests.doubles.clock import SkippingClock
    from tests.integration.ranking_spaces import LoadedSpace


def prepares() -> bool:
    """Whether statements may be prepared: an old pooler between tests and server mixes those of its clients up."""
    return os.environ.get("PERDURE_DATABASE_PREPARE") != "false"


def open_memory(urls: ServerUrls, embedder: HashedEmbedder, **settings: object) -> Memory:
    from perdure import Memory

    return Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=embedder,
        **{"worker": False, **settings},
    )


@pytest.fixture(scope="module")
def own_database(test_server: TestServer, template_database: str) -> Iterator[ServerUrls]:
    """A database for the tests of one module: once it has a key, its server needs one."""
    name = f"perdure_own_{secrets.token_hex(4)}"
    yield test_server.make(name, template_database)
    test_server.drop(name)


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


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    """A language model that answers from a script."""
    with serving() as server:
        yield server


@pytest.fixture
def noon() -> SkippingClock:
    """Noon, until it is moved."""
    from tests.doubles.clock import SkippingClock

    return SkippingClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
async def judged(
    urls: ServerUrls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer
) -> AsyncIterator[Space]:
    """A space whose memory has the scripted model in both roles, at a time that stands still."""
    roles = {"thinker_url": chat.url, "subagent_url": chat.url}
    async with open_memory(urls, embedder, clock=noon, **roles) as memory:
        yield memory.space(f"space-{secrets.token_hex(6)}")


@pytest.fixture(scope="session")
async def ranking_spaces(test_server: TestServer, template_database: str) -> AsyncIterator[dict[int, LoadedSpace]]:
    """Made-up spaces of 1,000, 4,000 and 20,000 memories in one database and one family, by size."""
    from benchmarks.corpus import Corpus
    from perdure.clock import SimulatedClock
    from perdure.store.database import Database
    from perdure.store.families import build_index, create_family
    from perdure.types import Family
    from tests.integration.ranking_spaces import NOW, LoadedSpace, load

    name = f"perdure_ranking_{secrets.token_hex(4)}"
    urls = test_server.make(name, template_database)
    database = Database(urls, SimulatedClock(NOW), prepare=prepares())
    await database.open()
    family = await create_family(database, Family("made up", "test", "none", 32), unrelated_similarity=0.1, index=False)
    loaded = []
    for space_id, size in enumerate((1000, 4000, 20_000), 1):
        corpus = Corpus(size, 32)
        loaded.append((space_id, corpus, load(urls.owner, space_id, family, space_id * 100_000, corpus)))
    family = await build_index(database, family)
    yield {
        corpus.size: LoadedSpace(database, space_id, space_id * 100_000, family, corpus, items, urls.owner)
        for space_id, corpus, items in loaded
    }
    await database.close()
    test_server.drop(name)


@pytest.fixture
def small(ranking_spaces: dict[int, LoadedSpace]) -> LoadedSpace:
    return ranking_spaces[1000]


@pytest.fixture
def medium(ranking_spaces: dict[int, LoadedSpace]) -> LoadedSpace:
    return ranking_spaces[4000]


@pytest.fixture
def large(ranking_spaces: dict[int, LoadedSpace]) -> LoadedSpace:
    return ranking_spaces[20_000]
