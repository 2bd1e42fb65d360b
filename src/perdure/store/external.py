"""A server of the user's own: its roles are made, its schema brought up to date, and it is looked over for `doctor`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import tuple_row

from perdure.clock import wall_clock
from perdure.errors import ConfigurationError, DatabaseUnavailable
from perdure.store.migrate import migrate
from perdure.store.roles import APP, SERVING, WORKER, bootstrap_roles

_ROLES_THERE: Final = "SELECT rolname FROM pg_catalog.pg_roles WHERE rolname = ANY (%(roles)s)"
_VERSIONS: Final = """
    SELECT pg_catalog.current_setting('server_version'),
           (SELECT e.extversion FROM pg_catalog.pg_extension e WHERE e.extname = 'vector')
"""
_OPEN_TABLES: Final = """
    SELECT c.relname
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id' AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity
    ORDER BY c.relname
"""
_NOW: Final = """
    SELECT pg_catalog.clock_timestamp(), pg_catalog.pg_backend_pid(), pg_catalog.current_setting('max_connections'),
           (SELECT pg_catalog.sum(d.numbackends) FROM pg_catalog.pg_stat_database d)
"""
_PREPARED: Final = {True: "SELECT 1 AS one", False: "SELECT 2 AS other"}
_CONNECT_TIMEOUT_S: Final = 15


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `prepare_server` did. A password of None was left as it was."""

    migrations: tuple[str, ...]
    app_password: str | None
    worker_password: str | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """A database as its owner or application role sees it.

    Attributes:
        postgres: the version, and `major` its first number. vector: pgvector's; None where it is missing.
        open_tables: tables of spaces that row-level security does not guard; there should be none.
        ahead_s: by how much the database's clock is ahead of this machine's, give or take the journey.
        pooled: whether a pooler, such as PgBouncer, stands in between.
        most_connections: that the server lets in. taken: how many are in use.
    """

    postgres: str
    major: int
    vector: str | None
    open_tables: tuple[str, ...]
    ahead_s: float
    pooled: bool
    most_connections: int
    taken: int


async def prepare_server(owner_url: str, *, new_passwords: bool) -> Prepared:
    """Makes the serving roles of a database and runs its migrations. Safe to repeat.

    Roles belong to the whole server and may serve other databases of it, so existing ones keep their passwords unless
    `new_passwords` is set. Raises ConfigurationError saying what a superuser has to do first, and DatabaseUnavailable.
    """
    try:
        conn = await psycopg.AsyncConnection.connect(
            owner_url, autocommit=True, prepare_threshold=None, connect_timeout=_CONNECT_TIMEOUT_S
        )
    except psycopg.Error as error:
        raise _unreachable(error) from error
    async with conn:
        async with conn.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(_ROLES_THERE, {"roles": list(SERVING)})
            there = {str(row[0]) for row in await cursor.fetchall()}
        made = {role: secrets.token_urlsafe(24) for role in SERVING if new_passwords or role not in there}
        await bootstrap_roles(conn, made.get(APP), made.get(WORKER))
    return Prepared(tuple(migrate(owner_url)), made.get(APP), made.get(WORKER))


def check_reachable(url: str) -> None:
    """Raises DatabaseUnavailable in the server's own words (a wrong password), where a pool would only wait."""
    with _connected(url):
        pass


def inspect_server(url: str) -> Inspection:
    """Looks a database over, as whatever role the URL names. Blocks. Raises DatabaseUnavailable."""
    with _connected(url) as conn:
        versions = conn.execute(_VERSIONS).fetchone()
        before = wall_clock()
        there = conn.execute(_NOW).fetchone()
        after = wall_clock()
        assert versions is not None
        assert there is not None
        # A pooler answers in its own name when a connection is made, and hands on who works behind it.
        now, worker, most, taken = there
        return Inspection(
            postgres=str(versions[0]),
            major=conn.info.server_version // 10000,
            vector=versions[1],
            open_tables=tuple(str(row[0]) for row in conn.execute(_OPEN_TABLES)),
            ahead_s=(now - before - (after - before) / 2).total_seconds(),
            pooled=worker != conn.info.backend_pid,
            most_connections=int(most),
            taken=int(taken),
        )


def keeps_statements(url: str) -> bool:
    """Whether what one connection prepares doesn't get in another's way, as it does with PgBouncer before 1.21."""
    with _connected(url) as one, _connected(url) as other:
        try:
            for conn in (one, other, one, other):
                conn.prepare_threshold = 0
                conn.execute(_PREPARED[conn is one])
        except (psycopg.errors.DuplicatePreparedStatement, psycopg.errors.InvalidSqlStatementName):
            return False
    return True


def serving_url(owner_url: str, role: str, password: str) -> str:
    """The URL of a serving role on the database that the owner's URL names, with its other parameters kept.

    Raises ConfigurationError if the owner's URL is none.
    """
    if not owner_url.startswith(("postgresql://", "postgres://")):
        try:
            return make_conninfo(owner_url, user=role, password=password)
        except psycopg.ProgrammingError:
            # Its message quotes the part that it can't read, which may be the password.
            raise ConfigurationError(
                "The owner's URL can't be read.", hint="It looks like postgresql://owner:password@host:5432/database."
            ) from None
    parts = urlsplit(owner_url)
    host = parts.netloc.rpartition("@")[2]
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name not in {"user", "password"}]
    login = f"{quote(role, safe='')}:{quote(password, safe='')}@{host}"
    return urlunsplit((parts.scheme, login, parts.path or "/", urlencode(kept), ""))


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    try:
        with psycopg.connect(url, autocommit=True, prepare_threshold=None, connect_timeout=_CONNECT_TIMEOUT_S) as conn:
            yield conn
    except psycopg.OperationalError as error:
        raise _unreachable(error) from error


def _unreachable(error: psycopg.Error) -> DatabaseUnavailable:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return DatabaseUnavailable(
        f"The database could not be reached: {first}.", hint="Check host, port, name and password of the URL."
    )
