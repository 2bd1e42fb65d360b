"""The login roles: who may do what in a Perdure database.

`perdure_owner` owns the database and migrates. `perdure_app` works in one space per transaction, `perdure_worker` finds
out where work is due; both own nothing, are no superusers and can't get around row-level security. What they may do
with each table stands in the migrations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from perdure.errors import ConfigurationError

ADMIN: Final = "perdure_admin"
"""The superuser of an embedded server; nothing serves or migrates with it."""
OWNER: Final = "perdure_owner"
APP: Final = "perdure_app"
WORKER: Final = "perdure_worker"
SERVING: Final = (APP, WORKER)

OLDEST_POSTGRES: Final = 15
OLDEST_VECTOR: Final = (0, 8)

_CREATE_ROLE: Final = """
    CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD {password}
"""
# An owner who is no superuser may not even repeat NOSUPERUSER, so that an existing role only gets its password.
_SET_PASSWORD: Final = "ALTER ROLE {role} LOGIN PASSWORD {password}"  # noqa: S105
_EXISTING_ROLES: Final = "SELECT rolname FROM pg_catalog.pg_roles WHERE rolname = ANY (%(roles)s)"
_DATABASE_KNOWN: Final = "SELECT 1 FROM pg_catalog.pg_database WHERE datname = %(database)s"
_CREATE_DATABASE: Final = "CREATE DATABASE {database} OWNER {owner} TEMPLATE {template}"
_VECTOR_VERSION: Final = "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'"
_CREATE_VECTOR: Final = "CREATE EXTENSION IF NOT EXISTS vector"
_UPDATE_VECTOR: Final = "ALTER EXTENSION vector UPDATE"

_GRANTS: Final = (
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    "GRANT CONNECT ON DATABASE {database} TO {app}, {worker}",
    "GRANT USAGE ON SCHEMA public TO {app}, {worker}",
)
# In a database that is nobody else's: whoever isn't named gets nothing.
_CLOSE_DATABASE: Final = "REVOKE ALL ON DATABASE {database} FROM PUBLIC"
_EXCLUSIVE: Final = (_CLOSE_DATABASE, "REVOKE ALL ON SCHEMA public FROM PUBLIC")

# Membership counts as ownership: a member of the owner role bypasses row-level security like the owner does.
_STANDING: Final = """
    SELECT r.rolname,
           r.rolsuper OR s.rolsuper,
           r.rolbypassrls OR s.rolbypassrls,
           EXISTS (
               SELECT 1 FROM pg_catalog.pg_class c
               WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
                 AND (pg_catalog.pg_has_role(r.oid, c.relowner, 'MEMBER')
                      OR pg_catalog.pg_has_role(s.oid, c.relowner, 'MEMBER'))),
           pg_catalog.pg_has_role(r.oid, %(role)s, 'MEMBER')
    FROM pg_catalog.pg_roles r, pg_catalog.pg_roles s
    WHERE r.rolname = current_user AND s.rolname = session_user
"""


async def bootstrap_roles(
    owner_conn: psycopg.AsyncConnection[Any], app_password: str | None, worker_password: str | None
) -> None:
    """Makes the serving roles and lets them into this database; for a server of the user's own. Safe to repeat.

    Roles belong to the whole server: where they exist already, a password of None leaves theirs as it is. Raises
    ConfigurationError, saying what to have done by a superuser, if the owner lacks CREATEROLE, if pgvector is missing
    and can't be created, or if the server is too old.
    """
    passwords = {APP: app_password, WORKER: worker_password}
    async with owner_conn.cursor(row_factory=tuple_row) as cursor:
        try:
            await cursor.execute(_EXISTING_ROLES, {"roles": list(SERVING)})
            existing = {str(row[0]) for row in await cursor.fetchall()}
            statements = _role_statements(owner_conn, passwords, existing)
            statements += _composed(_GRANTS, owner_conn.info.dbname)
            for statement in statements:
                await cursor.execute(statement)
        except psycopg.errors.InsufficientPrivilege as error:
            raise _needs_superuser(error) from error
        await cursor.execute(_VECTOR_VERSION)
        found = await cursor.fetchone()
        if found is None:
            try:
                await cursor.execute(_CREATE_VECTOR)
            except psycopg.Error as error:
                raise _needs_vector(error) from error
            await cursor.execute(_VECTOR_VERSION)
            found = await cursor.fetchone()
    check_versions(owner_conn.info.server_version // 10000, str(found[0]) if found else "0")


def check_versions(postgres_major: int, vector: str) -> None:
    """Raises ConfigurationError below PostgreSQL 15 or pgvector 0.8."""
    if postgres_major < OLDEST_POSTGRES:
        raise ConfigurationError(
            f"The server is PostgreSQL {postgres_major}.", hint=f"Perdure needs {OLDEST_POSTGRES} or later."
        )
    if tuple(int(part) for part in vector.split(".")[:2]) < OLDEST_VECTOR:
        raise ConfigurationError(
            f"The database has pgvector {vector}; Perdure needs 0.8 or later.",
            hint="Install it on the server, then run ALTER EXTENSION vector UPDATE as a superuser.",
        )


async def check_serving_role(conn: psycopg.AsyncConnection[Any], role: str) -> None:
    """Refuses a connection that row-level security would not hold: superuser, BYPASSRLS, or an owner of the tables.

    It also has to be `role`, or a member of it: as another one it would find nothing. Raises ConfigurationError saying
    which URL to use instead.
    """
    async with conn.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(_STANDING, {"role": role})
        row = await cursor.fetchone()
    assert row is not None
    name, superuser, bypasses, owns, serves = row
    reasons = {
        "is a superuser": superuser,
        "has BYPASSRLS": bypasses,
        "owns the tables, or is a member of their owner": owns,
    }
    for reason, holds in reasons.items():
        if holds:
            raise ConfigurationError(
                f"The database role {name} {reason}, so the database would not keep spaces apart.",
                hint=f"Serve as {APP} and {WORKER}, made by `perdure init`; the owner's URL is for migrations only.",
            )
    if not serves:
        raise ConfigurationError(
            f"The database role {name} is not {role}, so it may not do that role's work.",
            hint=f"PERDURE_DATABASE_URL logs in as {APP}, PERDURE_DATABASE_WORKER_URL as {WORKER}.",
        )


def make_roles(server_url: str, passwords: Mapping[str, str]) -> str:
    """Makes the roles of a server, as its superuser; safe to repeat. Returns the server's version, such as "18.4"."""
    with psycopg.connect(server_url, autocommit=True) as conn:
        existing = {str(row[0]) for row in conn.execute(_EXISTING_ROLES, {"roles": list(passwords)})}
        for statement in _role_statements(conn, passwords, existing):
            conn.execute(statement)
        return conn.info.parameter_status("server_version") or ""


def close_default_databases(server_url: str) -> None:
    """Keeps the serving roles of an embedded server out of the databases that initdb made."""
    with psycopg.connect(server_url, autocommit=True) as conn:
        for name in ("postgres", "template1"):
            conn.execute(sql.SQL(_CLOSE_DATABASE).format(database=sql.Identifier(name)))


def make_database(server_url: str, database: str, *, template: str = "template1") -> None:
    """Makes one empty Perdure database on a server that has the roles, as its superuser; safe to repeat."""
    with psycopg.connect(server_url, autocommit=True) as conn:
        known = conn.execute(_DATABASE_KNOWN, {"database": database}).fetchone()
        if known is None:
            parts = {"database": database, "owner": OWNER, "template": template}
            names = {key: sql.Identifier(value) for key, value in parts.items()}
            conn.execute(sql.SQL(_CREATE_DATABASE).format(**names))
    with psycopg.connect(server_url, dbname=database, autocommit=True) as conn:
        conn.execute(_CREATE_VECTOR)
        conn.execute(_UPDATE_VECTOR)
        for statement in _composed((*_EXCLUSIVE, *_GRANTS), database):
            conn.execute(statement)


def _role_statements(
    conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
    passwords: Mapping[str, str | None],
    existing: Iterable[str],
) -> list[sql.Composed]:
    statements = []
    for role, password in passwords.items():
        if password is None:
            if role not in existing:
                raise ConfigurationError(f"The database role {role} is missing.", hint="Give it a password to be made.")
            continue
        # Hashed here, so that no password ever stands in a statement or in a server's log.
        hashed = conn.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
        template = sql.SQL(_SET_PASSWORD if role in existing else _CREATE_ROLE)
        statements.append(template.format(role=sql.Identifier(role), password=sql.Literal(hashed)))
    return statements


def _composed(templates: Iterable[Any], database: str) -> list[sql.Composed]:
    names = {"database": sql.Identifier(database), "app": sql.Identifier(APP), "worker": sql.Identifier(WORKER)}
    return [sql.SQL(template).format(**names) for template in templates]


def _needs_superuser(error: psycopg.Error) -> ConfigurationError:
    return ConfigurationError(
        f"The owner may not make the roles {APP} and {WORKER}: {error.diag.message_primary}.",
        hint="Use an owner with CREATEROLE, or have a superuser run: "
        f"CREATE ROLE {APP} LOGIN PASSWORD '...'; CREATE ROLE {WORKER} LOGIN PASSWORD '...'.",
    )


def _needs_vector(error: psycopg.Error) -> ConfigurationError:
    return ConfigurationError(
        f"The extension pgvector can't be created in this database: {error.diag.message_primary}.",
        hint="Install pgvector 0.8 or later on the server and have a superuser run CREATE EXTENSION vector in it.",
    )
