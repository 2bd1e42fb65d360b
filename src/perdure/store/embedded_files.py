"""What lies in a data directory: who made it, its passwords, and which processes have it open.

perdure.json    format, versions and state of the directory
secrets.json    passwords of the four database roles, mode 0600
start.lock      held while a process starts, joins or stops the server
clients/        one locked file per open handle; the lock ends with its process, however that ends
run/            the server's socket, where its path is short enough
postgres/       the cluster, with its logs in postgres/log
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from perdure.errors import ConfigurationError, DatabaseUnavailable
from perdure.store.embedded_os import POSTGRES_MAJOR, WINDOWS, make_directory, running_as_root

FORMAT: Final = 1
_SHELL: Final = "\"'\\$`\n\r"
"""What a shell does not take literally between double quotes, and the quotes."""
LOCK_TIMEOUT_S: Final = 600.0
_LOCK_NOTICE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Description:
    """The contents of perdure.json. `prepared_for` is the package version whose roles and extension are in place."""

    format: int
    postgres_major: int
    created_by: str
    server_version: str = ""
    prepared_for: str = ""


@dataclass(frozen=True, slots=True)
class Passwords:
    """Generated passwords of the roles, URL-safe."""

    admin: str
    owner: str
    app: str
    worker: str


class DataDirectory:
    """A data directory and the files in it that are ours rather than PostgreSQL's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cluster = path / "postgres"
        self._clients = path / "clients"

    def make(self) -> None:
        """Makes the directory if it is missing; parents are made like `mkdir -p` does, existing ones are left alone.

        One made by root can be passed through but not listed by the account that runs the server.
        """
        if not WINDOWS and any(character in _SHELL for character in str(self.path)):
            raise ConfigurationError(
                f"The data directory {str(self.path)!r} cannot be used: PostgreSQL starts itself through a shell.",
                hint="Choose a path without quotes, backslashes, dollar signs, backticks and line breaks.",
            )
        mode = 0o711 if running_as_root() else 0o700
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            make_directory(self.path, mode)
            self._own(self._clients, made=make_directory(self._clients, 0o700))
        except OSError as error:
            raise self._unusable(error) from error

    @contextmanager
    def exclusive(self, progress: Callable[[str], None]) -> Iterator[None]:
        """Holds the start lock. Raises DatabaseUnavailable if another process keeps it for ten minutes."""
        path = self.path / "start.lock"
        lock = FileLock(path, mode=0o600, thread_local=False)
        try:
            try:
                lock.acquire(timeout=_LOCK_NOTICE_S, poll_interval=0.01)
            except Timeout:
                progress("Waiting for another process that is starting or stopping the database ...")
                lock.acquire(timeout=LOCK_TIMEOUT_S, poll_interval=0.05)
        except OSError as error:
            if not isinstance(error, Timeout):
                raise self._unusable(error) from error
            raise DatabaseUnavailable(
                f"Another process has been starting or stopping the database in {self.path} for ten minutes.",
                hint=f"See who holds {path}, end it, and try again.",
            ) from error
        try:
            self._own(path, made=True)
            yield
        finally:
            lock.release()

    def _unusable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"The data directory {self.path} cannot be used: {error.strerror}.",
            hint="Set PERDURE_DATA_DIR to a directory that you can write to.",
        )

    # perdure.json and secrets.json ------------------------------------------------------------------------------

    def describe(self) -> Description | None:
        """What perdure.json says, None in a new directory; raises ConfigurationError if this version can't use it."""
        path = self.path / "perdure.json"
        if not path.exists():
            if self.cluster.exists():
                raise ConfigurationError(
                    f"{self.cluster} holds something that Perdure did not make.",
                    hint="Set PERDURE_DATA_DIR to another directory.",
                )
            return None
        try:
            description = Description(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError) as error:
            written = _written_format(path)
            if written is not None and written > FORMAT:
                raise self._newer(f"format {written}") from error
            raise ConfigurationError(
                f"{path} is damaged: {error}.", hint="Restore it from a backup of the data directory."
            ) from error
        if description.format > FORMAT:
            raise self._newer(f"format {description.format}")
        if description.postgres_major > POSTGRES_MAJOR:
            raise self._newer(f"PostgreSQL {description.postgres_major}")
        if description.postgres_major < POSTGRES_MAJOR:
            raise ConfigurationError(
                f"The data directory {self.path} was made by PostgreSQL {description.postgres_major}; "
                f"this Perdure brings PostgreSQL {POSTGRES_MAJOR}.",
                hint="Use the Perdure that made it, or import into a new PERDURE_DATA_DIR.",
            )
        return description

    def _newer(self, what: str) -> ConfigurationError:
        return ConfigurationError(
            f"The data directory {self.path} belongs to a newer Perdure ({what}).",
            hint="Install that version or a later one, or set PERDURE_DATA_DIR to another directory.",
        )

    def write_description(self, description: Description) -> None:
        self._write("perdure.json", asdict(description))

    def new_description(self) -> Description:
        return Description(FORMAT, POSTGRES_MAJOR, f"perdure {perdure_version()}")

    def passwords(self) -> Passwords:
        """The stored passwords; generated once, before the cluster is."""
        path = self.path / "secrets.json"
        if path.exists():
            try:
                return Passwords(**json.loads(path.read_text("utf-8")))
            except (ValueError, TypeError) as error:
                raise ConfigurationError(f"{path} is damaged.", hint="Restore it from a backup.") from error
        if self.cluster.exists():
            raise ConfigurationError(
                f"{path} with the database's passwords is missing.", hint="Restore it from a backup of the directory."
            )
        made = Passwords(*(secrets.token_urlsafe(24) for _ in range(4)))
        self._write("secrets.json", asdict(made))
        return made

    def _write(self, name: str, content: dict[str, object]) -> None:
        partial = self.path / f"{name}.new"
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        self._own(partial, made=True)
        partial.replace(self.path / name)

    def _own(self, path: Path, *, made: bool) -> None:
        """What root makes in somebody's data directory is that person's, who may come back without root."""
        if made and running_as_root():
            found = self.path.stat()
            os.chown(path, found.st_uid, found.st_gid)

    # clients -----------------------------------------------------------------------------------------------------

    def register(self) -> FileLock:
        """Registers an open handle; releasing the returned lock, or dying in any way, ends it."""
        path = self._clients / f"{os.getpid()}-{secrets.token_hex(4)}.lock"
        lock = FileLock(path, thread_local=False)
        lock.acquire(timeout=0)
        self._own(path, made=True)
        return lock

    def deregister(self, client: FileLock) -> None:
        client.release()
        Path(client.lock_file).unlink(missing_ok=True)

    def others(self) -> int:
        """How many handles are open in any process; the files of dead ones are removed. Needs the start lock."""
        count = 0
        for path in self._clients.glob("*.lock"):
            lock = FileLock(path, thread_local=False)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                count += 1
            else:
                self.deregister(lock)
        return count


def perdure_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - only a new directory needs it

    return version("perdure")


def _written_format(path: Path) -> int | None:
    try:
        value = json.loads(path.read_text("utf-8"))["format"]
    except (ValueError, TypeError, KeyError):
        return None
    return value if isinstance(value, int) else None
