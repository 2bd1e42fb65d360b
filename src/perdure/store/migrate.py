"""Brings a database to this version's schema: the numbered SQL files in `migrations/`, forward only.

Each file runs in one transaction together with the row that records it, under a lock on the table of those rows. A
process killed midway therefore leaves nothing behind, neither half a migration nor a lock, and of two processes that
migrate at once the second finds the work done. docs/decisions/0003 says why no migration tool does it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from perdure.clock import wall_clock
from perdure.errors import ConfigurationError, DatabaseUnavailable
from perdure.store.roles import SERVING, check_versions

MIGRATIONS: Final = Path(__file__).parent / "migrations"
_FILE_NAME: Final = re.compile(r"\d{4}_[a-z0-9_]+\.sql")

_APPLIED: Final = "SELECT name, checksum FROM perdure_migrations ORDER BY name"
_CREATE: Final = """
    CREATE TABLE IF NOT EXISTS perdure_migrations (
        name text COLLATE "C" NOT NULL,
        checksum text NOT NULL,
        applied_at timestamptz NOT NULL,
        CONSTRAINT perdure_migrations_pkey PRIMARY KEY (name)
    )
"""
_LOCK: Final = "LOCK TABLE perdure_migrations IN SHARE ROW EXCLUSIVE MODE"
_RECORD: Final = """
    INSERT INTO perdure_migrations (name, checksum, applied_at) VALUES (%(name)s, %(checksum)s, %(now)s)
"""
_ROLES_PRESENT: Final = "SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = ANY (%(roles)s)"
_VECTOR: Final = "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file. The checksum ignores how lines end, which a checkout may change."""

    name: str
    sql: bytes

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.replace(b"\r\n", b"\n")).hexdigest()


def migrations(directory: Path = MIGRATIONS) -> list[Migration]:
    """The migrations of this version, in order."""
    found = [Migration(path.stem, path.read_bytes()) for path in sorted(directory.glob("*.sql"))]
    numbers = [migration.name[:4] for migration in found]
    if any(not _FILE_NAME.fullmatch(f"{each.name}.sql") for each in found) or len(set(numbers)) != len(numbers):
        raise ConfigurationError(f"The files in {directory} are not numbered 0001_name.sql, each number once.")
    return found


def migrate(owner_url: str, *, directory: Path = MIGRATIONS) -> list[str]:
    """Runs what is pending, in order, and returns the names; a few milliseconds where nothing is. Blocks.

    Raises ConfigurationError if the database is of a newer Perdure or was not prepared, if an applied file was changed
    since, or if a migration fails; DatabaseUnavailable if the server can't be reached.
    """
    known = migrations(directory)
    with _connect(owner_url) as conn:
        if not _pending(known, _applied(conn)):
            return []
        _check_prepared(conn)
        _make_table(conn)
        done: list[str] = []
        while True:
            with conn.transaction():
                conn.execute(_LOCK)
                todo = _pending(known, _applied(conn))
                if not todo:
                    return done
                _run(conn, todo[0])
            done.append(todo[0].name)


def pending(owner_url: str, *, directory: Path = MIGRATIONS) -> list[str]:
    """The names of the migrations that `migrate` would run; raises like it."""
    with _connect(owner_url) as conn:
        return [migration.name for migration in _pending(migrations(directory), _applied(conn))]


def schema_version(owner_url: str) -> str | None:
    """The name of the newest applied migration, None in an empty database."""
    with _connect(owner_url) as conn:
        return max(_applied(conn), default=None)


@contextmanager
def _connect(owner_url: str) -> Iterator[psycopg.Connection]:
    """One direct connection, not of a pool (docs/sql.md, rule 8)."""
    try:
        with psycopg.connect(owner_url, autocommit=True, prepare_threshold=None) as conn:
            yield conn
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(
            f"The database could not be reached for migrating: {error}.", hint="Check the owner's URL and the server."
        ) from error


def _applied(conn: psycopg.Connection) -> dict[str, str]:
    try:
        return dict(conn.execute(_APPLIED).fetchall())
    except psycopg.errors.UndefinedTable:
        return {}


def _pending(known: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    unknown = sorted(applied.keys() - {migration.name for migration in known})
    if unknown:
        raise ConfigurationError(
            f"The database belongs to a newer Perdure: it has {', '.join(unknown)}.",
            hint="Install that version or a later one; an older Perdure can't use this database.",
        )
    for migration in known:
        if applied.get(migration.name, migration.checksum) != migration.checksum:
            raise ConfigurationError(
                f"The migration {migration.name} was changed after this database had run it.",
                hint="Install a released Perdure; while developing, start from a new database.",
            )
    return [migration for migration in known if migration.name not in applied]


def _check_prepared(conn: psycopg.Connection) -> None:
    vector = conn.execute(_VECTOR).fetchone()
    roles = conn.execute(_ROLES_PRESENT, {"roles": list(SERVING)}).fetchone()
    if vector is None or roles is None or roles[0] != len(SERVING):
        raise ConfigurationError(
            "The database lacks the extension pgvector or Perdure's roles.", hint="Run `perdure init` first."
        )
    check_versions(conn.info.server_version // 10000, vector[0])


def _make_table(conn: psycopg.Connection) -> None:
    try:
        conn.execute(_CREATE)
    except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable):
        # IF NOT EXISTS still races with another process that is making the table; now it is there.
        conn.execute(_CREATE)


def _run(conn: psycopg.Connection, migration: Migration) -> None:
    try:
        conn.execute(migration.sql)
        conn.execute(_RECORD, {"name": migration.name, "checksum": migration.checksum, "now": wall_clock()})
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        raise ConfigurationError(
            f"The migration {migration.name} failed and was undone: {error}.",
            hint="Nothing was changed; report this with the message.",
        ) from error
