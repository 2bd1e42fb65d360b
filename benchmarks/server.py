"""The server that the benchmarks run on, with data sets that are kept from run to run.

They lie in PERDURE_BENCH_DIR (default .bench) under a key of the made-up corpus. New migrations are run on them, as on
anybody's memories; when the corpus or a migration that has run changes, the old directory is thrown away and the sets
are loaded anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg
from filelock import FileLock
from psycopg import sql
from psycopg.conninfo import make_conninfo

from benchmarks import corpus
from benchmarks.measuring import say
from perdure.clock import Clock, DatabaseClock
from perdure.store.database import Database
from perdure.store.embedded import EmbeddedServer, ServerUrls
from perdure.store.migrate import migrate, migrations
from perdure.store.roles import make_database

DEFAULT_DIR: Final = ".bench"
MIGRATED: Final = "migrations.json"
"""In the directory of the data sets: the migrations that they have been through, with checksums."""


@dataclass(frozen=True)
class BenchServer:
    """A running server; databases on it are made on demand."""

    server: EmbeddedServer
    directory: Path

    def urls(self, name: str) -> ServerUrls:
        """The URLs of a migrated database, made if it is not there."""
        make_database(self.server.admin_url, name)
        own = self.server.urls
        urls = ServerUrls(*(make_conninfo(url, dbname=name) for url in (own.owner, own.app, own.worker)))
        migrate(urls.owner)
        return urls

    def drop(self, name: str) -> None:
        with psycopg.connect(self.server.admin_url, autocommit=True) as admin:
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    @contextmanager
    def passing(self, name: str) -> Iterator[ServerUrls]:
        """A database without rows for one measurement."""
        self.drop(name)
        yield self.urls(name)
        self.drop(name)

    def cpu_s(self) -> float:
        """CPU seconds so far of the server's processes that still run."""
        postmaster = int((self.server.data_dir / "postgres" / "postmaster.pid").read_text("utf-8").split()[0])
        total = 0.0
        for process in psutil.Process(postmaster).children():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def loading(self, name: str) -> FileLock:
        """Held while a data set is loaded, so that two runs at once don't load it twice."""
        return FileLock(self.directory / f"{name}.lock")

    def remembered(self, name: str) -> dict[str, Any]:
        """What `remember` kept of a data set: how long it took to load."""
        path = self.directory / f"{name}.json"
        found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return found

    def remember(self, name: str, **facts: object) -> dict[str, Any]:
        kept = {**self.remembered(name), **facts}
        (self.directory / f"{name}.json").write_text(json.dumps(kept), "utf-8")
        return kept


@contextmanager
def open_server(directory: Path) -> Iterator[BenchServer]:
    """Starts the server of the data sets that fit this version; removes those of another."""
    kept = directory / f"data-{_key()}"
    for other in directory.glob("data-*"):
        # A directory with a process id in it belongs to a server that still runs, for another checkout perhaps.
        if (other != kept or _rewritten(kept)) and not list(other.rglob("postmaster.pid")):
            say(f"{other.name} belongs to another schema or corpus and is removed.")
            shutil.rmtree(other)
    kept.mkdir(parents=True, exist_ok=True)
    (kept / MIGRATED).write_text(json.dumps(_checksums()), "utf-8")
    with EmbeddedServer.open(kept / "server", progress=say) as server:
        yield BenchServer(server, kept)


@asynccontextmanager
async def open_database(urls: ServerUrls, clock: Clock | None = None, *, pool_size: int = 8) -> AsyncIterator[Database]:
    database = Database(urls, clock or DatabaseClock(), pool_size=pool_size)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def bench_dir() -> Path:
    return Path(os.environ.get("PERDURE_BENCH_DIR") or DEFAULT_DIR)


def _key() -> str:
    return hashlib.sha256(Path(corpus.__file__).read_bytes()).hexdigest()[:12]


def _checksums() -> dict[str, str]:
    return {migration.name: migration.checksum for migration in migrations()}


def _rewritten(kept: Path) -> bool:
    """Whether a migration that these sets have been through is another one now, or is gone."""
    path = kept / MIGRATED
    been_through: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    now = _checksums()
    return any(now.get(name) != checksum for name, checksum in been_through.items())
