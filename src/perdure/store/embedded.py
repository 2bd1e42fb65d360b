"""The embedded PostgreSQL: one server per data directory, shared by every process that opens it.

The first process to open a data directory starts the server, the others join it, and the last to close stops it. A
process that was killed counts as closed. The server itself outlives a killed process; the next one joins it.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote

from perdure.store.cluster import Cluster
from perdure.store.embedded_files import DataDirectory
from perdure.store.embedded_os import WINDOWS, default_data_dir, package_version, programs_directory, server_account
from perdure.store.postmaster import Postmaster
from perdure.store.roles import ADMIN, APP, OWNER, WORKER, close_default_databases, make_database, make_roles

if TYPE_CHECKING:
    from filelock import FileLock

DATABASE: Final = "perdure"


@dataclass(frozen=True)
class ServerUrls:
    """Connection URLs of the three login roles. They hold passwords: don't log them."""

    owner: str
    app: str
    worker: str


class EmbeddedServer:
    """An open handle on the server of a data directory. Made by `open`; ends with `close`, or with its process."""

    def __init__(self, directory: DataDirectory, cluster: Cluster, client: FileLock, address: Postmaster) -> None:
        self._directory = directory
        self._cluster = cluster
        self._client: FileLock | None = client
        self._address = address
        self._passwords = directory.passwords()
        self._version = ""
        self._process = os.getpid()
        self._closing = threading.Lock()

    @classmethod
    def open(cls, data_dir: Path | None = None, *, progress: Callable[[str], None] | None = None) -> EmbeddedServer:
        """Starts the server of a data directory or joins it, and makes its roles and its database. Blocks.

        `data_dir`: default PERDURE_DATA_DIR, else the platform's user data directory (root: /var/lib/perdure).
        `progress` gets a line when the directory is new and whenever something takes more than two seconds.
        Migrations are not run. Raises ConfigurationError for a directory that is not ours, or of a newer version, and
        ServerStartFailed with the end of the server's log.
        """
        say = progress or _silent
        # Not resolved: a symbolic link to another disk is a fine way to place the directory.
        directory = DataDirectory((data_dir or default_data_dir()).expanduser().absolute())
        directory.make()
        with directory.exclusive(say):
            description = directory.describe()
            account = server_account(directory.path, directory.cluster)
            cluster = Cluster(directory.cluster, programs_directory(account), account)
            passwords = directory.passwords()
            client = directory.register()
            started = False
            try:
                if description is None:
                    description = directory.new_description()
                    directory.write_description(description)
                if not cluster.exists:
                    say(f"Making a new database in {directory.path} ...")
                    cluster.initialise(passwords.admin)
                address = cluster.running(say)
                if address is None:
                    address = cluster.start(say)
                    started = True
                server = cls(directory, cluster, client, address)
                if description.prepared_for != package_version():
                    version = server._prepare()
                    description = replace(description, server_version=version, prepared_for=package_version())
                    directory.write_description(description)
            except BaseException:
                directory.deregister(client)
                if started and not directory.others():
                    cluster.stop()
                raise
        server._version = description.server_version
        atexit.register(server.close)
        return server

    def _prepare(self) -> str:
        passwords = self._passwords
        server_url = self.url(ADMIN, passwords.admin, "postgres")
        version = make_roles(server_url, {OWNER: passwords.owner, APP: passwords.app, WORKER: passwords.worker})
        close_default_databases(server_url)
        make_database(server_url, DATABASE)
        return version

    @property
    def urls(self) -> ServerUrls:
        passwords = self._passwords
        return ServerUrls(
            owner=self.url(OWNER, passwords.owner),
            app=self.url(APP, passwords.app),
            worker=self.url(WORKER, passwords.worker),
        )

    @property
    def admin_url(self) -> str:
        """The superuser, for repairs and for tests that make databases; nothing in Perdure serves with it."""
        return self.url(ADMIN, self._passwords.admin)

    @property
    def data_dir(self) -> Path:
        return self._directory.path

    @property
    def version(self) -> str:
        """PostgreSQL's version, such as "18.4"."""
        return self._version

    @property
    def log_path(self) -> Path:
        """The newest log file of the server."""
        return self._cluster.log_path

    def url(self, role: str, password: str, database: str = DATABASE) -> str:
        """A connection URL of this server."""
        login = f"postgresql://{quote(role, safe='')}:{quote(password, safe='')}@"
        if WINDOWS:
            return f"{login}127.0.0.1:{self._address.port}/{quote(database, safe='')}"
        where = f"host={quote(self._address.socket_dir, safe='')}&port={self._address.port}"
        return f"{login}/{quote(database, safe='')}?{where}"

    def close(self) -> None:
        """Ends this handle; the last one to end stops the server. Safe to call again, and at exit."""
        with self._closing:
            client, self._client = self._client, None
        atexit.unregister(self.close)
        # A forked child has a copy of this object, but the handle is its parent's.
        if client is None or os.getpid() != self._process:
            return
        with self._directory.exclusive(_silent):
            self._directory.deregister(client)
            if not self._directory.others():
                self._cluster.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _silent(_line: str) -> None:
    """Progress that nobody asked for."""
