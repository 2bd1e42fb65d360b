"""A real PostgreSQL for every test that needs one: an embedded server of its own, or one that is named.

PERDURE_TEST_DATABASE_URL names a throw-away server by the URL of a superuser; the tests make databases on it and the
roles perdure_owner, perdure_app and perdure_worker.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls


@dataclass(frozen=True)
class TestServer:
    """A running server and how to make databases on it."""

    __test__ = False

    server_url: str
    passwords: dict[str, str]

    def urls(self, database: str) -> ServerUrls:
        from psycopg.conninfo import make_conninfo

        from perdure.store.embedded import ServerUrls
        from perdure.store.roles import APP, OWNER, WORKER

        owner, app, worker = (
            make_conninfo(self.server_url, user=role, password=self.passwords[role], dbname=database)
            for role in (OWNER, APP, WORKER)
        )
        return ServerUrls(owner=owner, app=app, worker=worker)

    def make(self, database: str, template: str = "template1") -> ServerUrls:
        from perdure.store.migrate import migrate
        from perdure.store.roles import make_database

        make_database(self.server_url, database, template=template)
        urls = self.urls(database)
        migrate(urls.owner)
        return urls

    def drop(self, database: str) -> None:
        import psycopg

        with psycopg.connect(self.server_url, autocommit=True) as conn:
            conn.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')


@pytest.fixture(scope="session")
def test_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """The server that all tests share."""
    from perdure.store.embedded import EmbeddedServer
    from perdure.store.roles import APP, OWNER, WORKER, make_roles

    passwords = {role: secrets.token_urlsafe(12) for role in (OWNER, APP, WORKER)}
    named = os.environ.get("PERDURE_TEST_DATABASE_URL")
    if named:
        make_roles(named, passwords)
        yield TestServer(named, passwords)
        return
    with EmbeddedServer.open(tmp_path_factory.mktemp("server")) as server:
        make_roles(server.admin_url, passwords)
        yield TestServer(server.admin_url, passwords)


@pytest.fixture(scope="session")
def template_database(test_server: TestServer) -> Iterator[str]:
    """A migrated database without rows, copied for each test that wants one of its own."""
    name = f"perdure_template_{secrets.token_hex(4)}"
    test_server.make(name)
    yield name
    test_server.drop(name)


@pytest.fixture(scope="session")
def urls(test_server: TestServer, template_database: str) -> Iterator[ServerUrls]:
    """The migrated database that tests share: use spaces of your own in it."""
    name = f"perdure_shared_{secrets.token_hex(4)}"
    yield test_server.make(name, template_database)
    test_server.drop(name)


@pytest.fixture
def fresh_database(test_server: TestServer, template_database: str) -> Iterator[ServerUrls]:
    """A migrated database without rows, for this test alone."""
    name = f"perdure_fresh_{secrets.token_hex(4)}"
    yield test_server.make(name, template_database)
    test_server.drop(name)


@pytest.fixture
def empty_database(test_server: TestServer) -> Iterator[ServerUrls]:
    """A database with roles and extension but without a schema, for tests of migrations."""
    from perdure.store.roles import make_database

    name = f"perdure_empty_{secrets.token_hex(4)}"
    make_database(test_server.server_url, name)
    yield test_server.urls(name)
    test_server.drop(name)
