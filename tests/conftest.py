"""A real PostgreSQL for every test that needs one: an embedded server of its own, or one that is named.

PERDURE_TEST_DATABASE_URL names a throw-away server by the URL of a superuser; the tests make databases on it and the
roles perdure_owner, perdure_app and perdure_worker. With PERDURE_TEST_POOLER=1 both serving roles go through PgBouncer
in transaction mode, which has to be installed.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls
    from tests.doubles.pgbouncer import Pooler


@dataclass(frozen=True)
class TestServer:
    """A running server and how to make databases on it."""

    __test__ = False

    server_url: str
    passwords: dict[str, str]
    pooler: Pooler | None = None

    def urls(self, database: str) -> ServerUrls:
        from psycopg.conninfo import make_conninfo

        from perdure.store.embedded import ServerUrls
        from perdure.store.roles import APP, OWNER, WORKER

        owner, app, worker = (
            make_conninfo(self.server_url, user=role, password=self.passwords[role], dbname=database)
            for role in (OWNER, APP, WORKER)
        )
        if self.pooler is not None:
            through = {"host": self.pooler.host, "port": self.pooler.port}
            app, worker = make_conninfo(app, **through), make_conninfo(worker, **through)
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
    with ExitStack() as stack:
        url = os.environ.get("PERDURE_TEST_DATABASE_URL")
        if not url:
            url = stack.enter_context(EmbeddedServer.open(tmp_path_factory.mktemp("server"))).admin_url
        make_roles(url, passwords)
        pooler = None
        if os.environ.get("PERDURE_TEST_POOLER"):
            pooler = stack.enter_context(_pooler(url, passwords))
        yield TestServer(url, passwords, pooler)


@contextmanager
def _pooler(url: str, passwords: dict[str, str]) -> Iterator[Pooler]:
    """PgBouncer for both serving roles; the owner goes to the server itself, as everywhere."""
    from psycopg.conninfo import conninfo_to_dict

    from tests.doubles.pgbouncer import pooling

    parts = conninfo_to_dict(url)
    with (
        pooling(str(parts["host"]), int(parts.get("port") or 5432), passwords) as pooler,
        pytest.MonkeyPatch.context() as patch,
    ):
        if not pooler.prepares:
            patch.setenv("PERDURE_DATABASE_PREPARE", "false")
        yield pooler


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
