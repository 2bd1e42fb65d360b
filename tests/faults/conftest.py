"""A server of their own for the tests that kill one, and the process that runs scripts against it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from perdure.store.embedded import EmbeddedServer
    from tests.faults.harness import Place, Runner


@pytest.fixture(scope="session")
def fault_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A migrated embedded server that may be killed; its handle outlives that."""
    from perdure.store.embedded import EmbeddedServer
    from perdure.store.migrate import migrate

    with EmbeddedServer.open(tmp_path_factory.mktemp("faults")) as server:
        migrate(server.urls.owner)
        yield server


@pytest.fixture(scope="session")
def place(fault_server: EmbeddedServer) -> Place:
    """The database of the scripts, with the double's family registered."""
    from tests.doubles.embedder import HashedEmbedder
    from tests.faults.harness import Place
    from tests.integration.conftest import open_memory

    async def register() -> None:
        async with open_memory(fault_server.urls, HashedEmbedder()):
            return

    asyncio.run(register())
    urls = fault_server.urls
    return Place(fault_server.data_dir, urls.app, urls.worker, fault_server.admin_url)


@pytest.fixture(scope="session")
def runners(place: Place) -> Iterator[tuple[Runner, ...]]:
    """Two of them, to use two cores."""
    from tests.faults.harness import open_runner

    with open_runner(place) as one, open_runner(place) as other:
        yield one, other


@pytest.fixture
def new_space() -> Callable[[], str]:
    """Names of spaces that nobody else has."""
    return lambda: f"faults-{secrets.token_hex(6)}"
