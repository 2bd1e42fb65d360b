"""What `perdure doctor` says about the database: versions, schema, guards, clocks, connections, and who may come in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from perdure.cli.finding import Finding
from perdure.clock import wall_clock
from perdure.store.external import Inspection, inspect_server, keeps_statements
from perdure.store.migrate import migrations, pending
from perdure.store.roles import OLDEST_POSTGRES, OLDEST_VECTOR

if TYPE_CHECKING:
    from perdure.settings import Settings
    from perdure.store.keys import ApiKey

SKEW_S: Final = 5.0
"""Clocks that are further apart than this order what happens wrongly wherever a host's own time is kept."""
WORKER_CONNECTIONS: Final = 2
ENDS_SOON: Final = timedelta(days=14)
INIT: Final = "Run `perdure init --owner-url URL`."


def examine_database(settings: Settings, url: str, owner_url: str | None) -> Iterator[Finding]:
    """Everything that can be seen without opening a memory. Blocks. Raises DatabaseUnavailable, ConfigurationError."""
    seen = inspect_server(url)
    yield from _versions(seen)
    if seen.vector is None:
        return
    yield _schema(owner_url)
    yield _isolation(seen)
    yield _clock(seen)
    yield from _pooler(settings, seen, url, owner_url)
    yield _connections(settings, seen)


def examine_keys(keys: tuple[ApiKey, ...]) -> Finding:
    """Whether the server can listen where others reach it, and which keys are about to end."""
    now = wall_clock()
    live = [key for key in keys if key.state(now) == "live"]
    if not keys:
        return Finding("keys", "ok", "none: `perdure serve` answers this machine alone, without a key")
    soon = [key.name for key in live if key.expires_at is not None and key.expires_at - now < ENDS_SOON]
    if not live:
        return Finding("keys", "warn", "none holds: the server lets nobody in", "`perdure keys create NAME` makes one.")
    if soon:
        advice = "Make others in time: `perdure keys create NAME`."
        return Finding("keys", "warn", f"within {ENDS_SOON.days} days these end: {', '.join(soon)}", advice)
    return Finding("keys", "ok", f"{len(live)} let callers in")


def _versions(seen: Inspection) -> Iterator[Finding]:
    if seen.major < OLDEST_POSTGRES:
        yield Finding("version", "fail", f"PostgreSQL {seen.postgres}", f"Perdure needs {OLDEST_POSTGRES} or later.")
    if seen.vector is None:
        yield Finding("pgvector", "fail", "missing", f"{INIT} Its owner may not make it? A superuser can.")
        return
    old = tuple(int(part) for part in seen.vector.split(".")[:2]) < OLDEST_VECTOR
    advice = "Install 0.8 or later on the server, then ALTER EXTENSION vector UPDATE." if old else None
    yield Finding("pgvector", "fail" if old else "ok", f"{seen.vector} on PostgreSQL {seen.postgres}", advice)


def _schema(owner_url: str | None) -> Finding:
    newest = migrations()[-1].name
    if owner_url is None:
        advice = "With PERDURE_DATABASE_OWNER_URL it is looked at, and brought up to date when a memory is opened."
        return Finding("schema", "ok", f"not looked at; this version's newest is {newest}", advice)
    todo = pending(owner_url)
    if todo:
        return Finding("schema", "warn", f"pending: {', '.join(todo)}", INIT)
    return Finding("schema", "ok", newest)


def _isolation(seen: Inspection) -> Finding:
    if seen.open_tables:
        names = ", ".join(seen.open_tables)
        advice = "Spaces are not kept apart there. Run the migrations again, or report this."
        return Finding("isolation", "fail", f"no row-level security on {names}", advice)
    return Finding("isolation", "ok", "row-level security guards every table of spaces")


def _clock(seen: Inspection) -> Finding:
    if abs(seen.ahead_s) <= SKEW_S:
        return Finding("clock", "ok", f"the database's is {abs(seen.ahead_s):.1f} s off this machine's")
    where = "ahead of" if seen.ahead_s > 0 else "behind"
    advice = "Memories are dated by the database. Let both machines keep their time by NTP (`timedatectl`)."
    return Finding("clock", "warn", f"the database's is {abs(seen.ahead_s):,.0f} s {where} this machine's", advice)


def _pooler(settings: Settings, seen: Inspection, url: str, owner_url: str | None) -> Iterator[Finding]:
    if seen.pooled:
        if settings.database_prepare and not keeps_statements(url):
            advice = (
                "Set PERDURE_DATABASE_PREPARE=false, or install PgBouncer 1.21 or later with max_prepared_statements."
            )
            yield Finding("pooler", "fail", "it mixes up prepared statements of different clients", advice)
        else:
            yield Finding("pooler", "ok", "one stands before the database, and does what is needed")
    if owner_url is not None and inspect_server(owner_url).pooled:
        advice = "Let PERDURE_DATABASE_OWNER_URL name the server itself: migrations need a connection of their own."
        yield Finding("owner", "warn", "the owner's URL goes through a pooler", advice)


def _connections(settings: Settings, seen: Inspection) -> Finding:
    wanted = settings.database_pool_size + WORKER_CONNECTIONS
    detail = f"{seen.taken} of {seen.most_connections} taken; a process takes up to {wanted}"
    if not seen.pooled and seen.taken + wanted > seen.most_connections:
        advice = "Raise max_connections, lower PERDURE_DATABASE_POOL_SIZE, or put PgBouncer in front."
        return Finding("connections", "warn", detail, advice)
    return Finding("connections", "ok", detail)
