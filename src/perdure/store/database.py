"""Pools and the one function that opens a transaction.

Every statement of a space runs inside `Database.in_space`, which binds row-level security with SET LOCAL, asserts it,
and reads the database's time once. Nothing else in Perdure opens a transaction on a space's tables. No session state is
left behind, so the same code runs behind PgBouncer in transaction mode (docs/sql.md, rules 23 to 25).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, Final, LiteralString, Protocol, TypeVar
from weakref import WeakValueDictionary

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from perdure.clock import Clock
from perdure.errors import ConfigurationError, DatabaseUnavailable, NotFound
from perdure.store.roles import APP, WORKER
from perdure.store.statements import Numbered, kept

if TYPE_CHECKING:
    from perdure.store.spaces import SpaceState

T = TypeVar("T")
Statement = LiteralString | sql.SQL | sql.Composed
Connection = psycopg.AsyncConnection[DictRow]

BEGIN_IN_SPACE: Final = """
    BEGIN {mode};
    SET LOCAL perdure.space_id = {space_id};
    SET LOCAL statement_timeout = {timeout_ms};
    SET LOCAL idle_in_transaction_session_timeout = {idle_ms};
    {planner}
    SELECT current_setting('perdure.space_id') AS bound, now() AS now, {there} AS there
"""
# A process remembers the ids of spaces, and somebody else may erase one. A name that begins so is being erased
# (`spaces.ERASING`).
THERE: Final = "EXISTS (SELECT FROM spaces s WHERE s.id = {space_id}::bigint AND left(s.name, 1) <> chr(31))"
# A ranking would rather read the whole table, other spaces included, than a part of it by index; and compiling a
# statement of its size takes longer than running it.
BY_INDEX_ONLY: Final = """
    SET LOCAL enable_seqscan = off;
    SET LOCAL jit = off;
"""
SNAPSHOT: Final = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
BEGIN_GLOBAL: Final = """
    BEGIN;
    SET LOCAL statement_timeout = {timeout_ms};
    SET LOCAL idle_in_transaction_session_timeout = {idle_ms};
    SELECT now() AS now
"""

# Worth another try as a whole: deadlock, serialisation failure, lock timeout, a transaction that was ended because its
# process hung, and a connection that went away (docs/sql.md, rule 19). Compared by SQLSTATE, never by text.
RETRYABLE_STATES: Final = frozenset({"40P01", "40001", "55P03", "25P03", "08006", "08003", "57P01", "57P02", "57P03"})
# The server is there and can't: no space, memory or connections left (class 53), or its files fail it (class 58).
EXHAUSTED_CLASSES: Final = ("53", "58")
DISK_FULL: Final = "53100"
HANGING_S: Final = 10.0
"""How long a transaction may stand between two statements: longer, and its process hangs while others wait for its
locks. Nothing outside is asked within a transaction, so this is far more than any needs."""
RETRY_ATTEMPTS: Final = 5
DEFAULT_TIMEOUT_S: Final = 30.0
CLOSE_TIMEOUT_S: Final = 2.0
RECONNECT_S: Final = 5.0
"""A pool tries again at ever longer distances; after so many seconds it begins anew with short ones."""
SPARED: Final = 2
"""Connections that writers waiting for their turn never hold: those of recall and capture."""


class Urls(Protocol):
    """Connection strings of the three login roles; `owner` may be missing where others migrate."""

    @property
    def app(self) -> str: ...
    @property
    def worker(self) -> str: ...
    @property
    def owner(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """Connection strings for a server of the user's own."""

    app: str
    worker: str
    owner: str | None = None


def require_url(url: str, variable: str) -> str:
    """`url`, if it can be read as a connection string; `variable` is the setting's name.

    Raises ConfigurationError, which doesn't quote it: it holds a password.
    """
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ConfigurationError(
            f"{variable} can't be read as a connection URL.",
            hint="It looks like postgresql://user:password@host:5432/database; "
            "special characters of the password are written as %25 for %, %40 for @, %2F for /.",
        ) from None
    return url


class Transaction:
    """An open transaction: statements, bound to what every statement may refer to."""

    def __init__(self, connection: Connection, now: datetime, bound: Mapping[str, object]) -> None:
        self._connection = connection
        self._bound = bound
        self.now = now

    async def fetch_all(
        self,
        statement: Statement | Numbered,
        params: Mapping[str, object] | None = None,
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> list[dict[str, Any]]:
        """Rows as dictionaries. `prepare=False` keeps a ranking statement on custom plans (docs/sql.md, rule c).

        `binary` is for vectors: their digits take many times as long to write and to read.
        """
        if isinstance(statement, Numbered):
            values = self._with(params)
            cursor: psycopg.AsyncCursor[DictRow] = psycopg.AsyncRawCursor(self._connection)
            await cursor.execute(
                statement.text, [values[name] for name in statement.names], prepare=prepare, binary=binary
            )
        else:
            cursor = await self._connection.execute(
                _composable(statement), self._with(params), prepare=prepare, binary=binary
            )
        return await cursor.fetchall()

    async def fetch_one(
        self, statement: Statement, params: Mapping[str, object] | None = None, *, prepare: bool | None = None
    ) -> dict[str, Any] | None:
        cursor = await self._connection.execute(_composable(statement), self._with(params), prepare=prepare)
        return await cursor.fetchone()

    async def stream(
        self, statement: Statement, params: Mapping[str, object] | None = None, *, size: int
    ) -> AsyncIterator[dict[str, Any]]:
        """Rows as they come, so many at a time, however many there are."""
        async with self._connection.cursor(name="perdure_stream") as cursor:
            cursor.itersize = size
            await cursor.execute(_composable(statement), self._with(params))
            async for row in cursor:
                yield row

    async def execute(self, statement: Statement, params: Mapping[str, object] | None = None) -> int:
        """Runs a statement and returns the number of rows it touched."""
        cursor = await self._connection.execute(_composable(statement), self._with(params))
        return cursor.rowcount

    def _with(self, params: Mapping[str, object] | None) -> Mapping[str, object]:
        return {**self._bound, **params} if params else self._bound


class SpaceTransaction(Transaction):
    """A transaction inside one space. Bound for every statement are `%(space_id)s`, `%(now)s`, and `%(decays)s`.

    The last tells whether memories decay in this installation (see `decay.py`).
    """

    def __init__(
        self, connection: Connection, now: datetime, space_id: int, *, decays: bool = True, ranks: bool = False
    ) -> None:
        super().__init__(connection, now, {"space_id": space_id, "now": now, "decays": decays})
        self.space_id = space_id
        self.ranks = ranks
        """Whether it was opened for rankings: nothing is written in it, and nothing read but by index."""
        self.state: SpaceState | None = None
        """What `spaces.read_state` found, where nothing is written."""
        self.locked: SpaceState | None = None
        """What `spaces.lock_space` found, once this transaction has called it."""


class Database:
    """The pools of the application and worker roles, and direct connections of the owner."""

    def __init__(
        self, urls: Urls, clock: Clock, *, pool_size: int = 8, prepare: bool = True, decays: bool = True
    ) -> None:
        self._urls = urls
        self._clock = clock
        self._decays = decays
        self._app = _Pool(_pool(urls.app, pool_size, prepare=prepare))
        self._worker = _Pool(_pool(urls.worker, 2, prepare=prepare))
        self._writers = asyncio.Semaphore(max(1, pool_size - SPARED))
        self._writing: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self.when_erased: Callable[[int], None] | None = None
        """Is told the id of a space that isn't there any more."""

    @property
    def has_owner(self) -> bool:
        return self._urls.owner is not None

    @property
    def clock(self) -> Clock:
        return self._clock

    def connections(self) -> dict[str, tuple[int, int, int]]:
        """Of each role's pool: connections, those that are free, and who waits for one."""
        stats = {APP: self._app.pool.get_stats(), WORKER: self._worker.pool.get_stats()}
        return {
            role: (told["pool_size"], told["pool_available"], told.get("requests_waiting", 0))
            for role, told in stats.items()
        }

    async def open(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Connects as both serving roles; raises DatabaseUnavailable after `timeout_s` seconds."""
        for held, variable in ((self._app, "PERDURE_DATABASE_URL"), (self._worker, "PERDURE_DATABASE_WORKER_URL")):
            try:
                await held.pool.open(wait=True, timeout=timeout_s)
            except PoolTimeout as error:
                await self.close()
                raise DatabaseUnavailable(
                    f"The database let nobody in within {timeout_s:g} s.",
                    hint=f"Is the server up? If {variable} is set: check its host, port, user, password and database.",
                ) from error

    async def check(self, look: Callable[[psycopg.AsyncConnection[Any], str], Awaitable[None]]) -> None:
        """Lets `look` examine a connection of each serving role, as `roles.check_serving_role` does.

        Raises DatabaseUnavailable if the server goes away meanwhile, besides what `look` raises.
        """
        for held, role in ((self._app, APP), (self._worker, WORKER)):
            try:
                async with asyncio.timeout(DEFAULT_TIMEOUT_S), held.pool.connection() as connection:
                    await look(connection, role)
            except (TimeoutError, PoolTimeout, PoolClosed, psycopg.OperationalError, psycopg.InterfaceError) as error:
                raise _unavailable(error) from error

    async def close(self) -> None:
        """Lets go of all connections; what still runs on one is cut off when it ends."""
        async with AsyncExitStack() as stack:
            for held in (self._app, self._worker):
                stack.push_async_callback(held.pool.close, CLOSE_TIMEOUT_S)

    async def in_space(
        self,
        space_id: int,
        work: Callable[[SpaceTransaction], Awaitable[T]],
        *,
        writer: bool = False,
        ranks: bool = False,
        snapshot: bool = False,
        erasing: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> T:
        """Runs `work` in one transaction of one space and commits; retries as a whole on deadlock or lost connection.

        `work` may run more than once, so it must not do anything but speak to the transaction. Nothing is retried
        once COMMIT has been sent: whether it took effect is then unknown, the caller repeats with its operation_id.

        `writer` is for work that locks the space (`spaces.lock_space`): writers of a space wait here for their turn,
        and not with a connection each, which would leave none for recall and capture. `ranks` is for work that ranks
        memories and writes nothing: it is spared a few journeys to the server. `snapshot` is for work that reads for
        long and writes nothing: all its statements see the space as it was at the first. `erasing` is for who
        erases it.

        Raises:
            NotFound: the space was erased. DatabaseUnavailable.
        """
        # Nothing is found in a space that is gone; a ranking needn't ask whether it is.
        sure = ranks or erasing
        opening = _opening(space_id, _in_steps(timeout_s), ranks=ranks, snapshot=snapshot, sure=sure)

        async def attempt(connection: Connection, row: Mapping[str, Any]) -> T:
            if row["bound"] != str(space_id):
                raise DatabaseUnavailable("The server did not bind the space.", hint="Check the connection pooler.")
            if not row["there"]:
                if self.when_erased is not None:
                    self.when_erased(space_id)
                raise NotFound("This space was erased meanwhile.", hint="Called again, a write makes it anew.")
            return await work(SpaceTransaction(connection, self._now(row), space_id, decays=self._decays, ranks=ranks))

        if not writer:
            return await self._run(self._app, opening, attempt, timeout_s)
        async with self._turn_to_write(space_id, timeout_s):
            return await self._run(self._app, opening, attempt, timeout_s)

    async def across(
        self, work: Callable[[Transaction], Awaitable[T]], *, as_worker: bool = False, timeout_s: float = 10.0
    ) -> T:
        """Runs `work` on the global tables, or as the worker role on queue columns of all spaces."""
        opening = _opening(None, timeout_s)

        async def attempt(connection: Connection, row: Mapping[str, Any]) -> T:
            now = self._now(row)
            return await work(Transaction(connection, now, {"now": now}))

        return await self._run(self._worker if as_worker else self._app, opening, attempt, timeout_s)

    @asynccontextmanager
    async def owner(self) -> AsyncIterator[Connection]:
        """A direct connection of the owner role, for migrations and family indexes only."""
        if self._urls.owner is None:
            raise DatabaseUnavailable("No owner URL is configured.", hint="Set PERDURE_DATABASE_OWNER_URL.")
        try:
            connection = await psycopg.AsyncConnection.connect(
                self._urls.owner, autocommit=True, row_factory=dict_row, prepare_threshold=None
            )
        except psycopg.OperationalError as error:
            raise _unavailable(error) from error
        async with connection:
            yield connection

    @asynccontextmanager
    async def _turn_to_write(self, space_id: int, timeout_s: float) -> AsyncIterator[None]:
        lock = self._writing.setdefault(space_id, asyncio.Lock())
        async with AsyncExitStack() as turn:
            try:
                async with asyncio.timeout(timeout_s):
                    await turn.enter_async_context(lock)
                    await turn.enter_async_context(self._writers)
            except TimeoutError as error:
                raise _unavailable(error) from error
            yield

    def _now(self, row: Mapping[str, Any]) -> datetime:
        simulated = self._clock.now()
        now: datetime = row["now"] if simulated is None else simulated
        return now.astimezone(UTC)

    async def _run(
        self,
        kept: _Pool,
        opening: sql.SQL,
        work: Callable[[Connection, Mapping[str, Any]], Awaitable[T]],
        timeout_s: float,
    ) -> T:
        for attempt in range(1, RETRY_ATTEMPTS + 1):
            generation = kept.generation
            try:
                async with asyncio.timeout(timeout_s), kept.pool.connection(timeout=timeout_s) as connection:
                    return await _in_transaction(connection, opening, work)
            except _CommitUnknown as error:
                await kept.renew(generation)
                raise _unavailable(error) from error
            except (TimeoutError, PoolTimeout, PoolClosed, psycopg.errors.QueryCanceled) as error:
                raise _unavailable(error) from error
            except psycopg.Error as error:
                if _exhausted(error):
                    raise _unavailable(error) from error
                if not _retryable(error):
                    raise
                if connection.closed:
                    await kept.renew(generation)
                if attempt == RETRY_ATTEMPTS:
                    raise _unavailable(error) from error
            # Spread the losers of a deadlock apart; the amount of jitter decides nothing that is stored.
            await asyncio.sleep(0.02 * 2**attempt * random.uniform(0.5, 1.5))
        raise AssertionError("unreachable")


@dataclass(slots=True)
class _Pool:
    """A pool whose connections are replaced together: where one has died, the server mostly has taken all with it."""

    pool: AsyncConnectionPool[Connection]
    generation: int = field(default=0)

    async def renew(self, seen: int) -> None:
        """Replaces all connections, unless that was done since `seen` was read."""
        if seen == self.generation and not self.pool.closed:
            self.generation += 1
            await self.pool.drain()


class _CommitUnknown(psycopg.OperationalError):
    """The connection broke after COMMIT was sent."""


async def _in_transaction(
    connection: Connection, opening: sql.SQL, work: Callable[[Connection, Mapping[str, Any]], Awaitable[T]]
) -> T:
    cursor = await connection.execute(opening, prepare=False)
    while cursor.nextset():
        pass
    row = await cursor.fetchone()
    assert row is not None
    try:
        result = await work(connection, row)
    except BaseException:
        # A connection that can't roll back is thrown away by the pool; the first error is the one to report.
        with suppress(psycopg.Error):
            await connection.rollback()
        raise
    try:
        await connection.commit()
    except psycopg.OperationalError as error:
        raise _CommitUnknown(str(error)) from error
    return result


def _pool(url: str, size: int, *, prepare: bool) -> AsyncConnectionPool[Connection]:
    async def configure(connection: Connection) -> None:
        await register_vector_async(connection)
        if not prepare:
            connection.prepare_threshold = None

    async def begin_anew(pool: AsyncConnectionPool[Connection]) -> None:
        if not pool.closed:
            await pool.check()

    return AsyncConnectionPool(
        url,
        connection_class=psycopg.AsyncConnection[DictRow],
        kwargs={"autocommit": True, "row_factory": dict_row},
        min_size=1,
        max_size=size,
        open=False,
        configure=configure,
        reconnect_timeout=RECONNECT_S,
        reconnect_failed=begin_anew,
    )


@lru_cache(maxsize=4096)
def _opening(
    space_id: int | None, timeout_s: float, *, ranks: bool = False, snapshot: bool = False, sure: bool = False
) -> sql.SQL:
    """What begins a transaction, in one space or in none: put together once, and sent before every other statement."""
    limits = {"timeout_ms": _ms(timeout_s), "idle_ms": _ms(HANGING_S)}
    if space_id is None:
        return kept(sql.SQL(BEGIN_GLOBAL).format(**limits))
    quoted = sql.Literal(str(space_id))
    there = sql.SQL("TRUE" if sure else THERE).format(space_id=quoted)
    parts = {
        "there": there,
        "planner": sql.SQL(BY_INDEX_ONLY if ranks else ""),
        "mode": sql.SQL(SNAPSHOT if snapshot else ""),
    }
    return kept(sql.SQL(BEGIN_IN_SPACE).format(space_id=quoted, **parts, **limits))


def _composable(statement: Statement) -> sql.SQL | sql.Composed:
    return sql.SQL(statement) if isinstance(statement, str) else statement


def _in_steps(seconds: float) -> float:
    """Up to a tenth of a second more: what is left of a deadline is another number each time, and another statement."""
    return ceil(10 * seconds) / 10


def _ms(seconds: float) -> sql.Literal:
    return sql.Literal(max(1, round(seconds * 1000)))


def _retryable(error: psycopg.Error) -> bool:
    lost = error.sqlstate is None and isinstance(error, psycopg.OperationalError)
    return lost or error.sqlstate in RETRYABLE_STATES


def _exhausted(error: psycopg.Error) -> bool:
    return error.sqlstate is not None and error.sqlstate.startswith(EXHAUSTED_CLASSES)


def _unavailable(error: Exception) -> DatabaseUnavailable:
    kind = type(error).__name__
    if isinstance(error, psycopg.Error) and error.sqlstate == DISK_FULL:
        return DatabaseUnavailable(
            "The disk of the database is full.",
            hint="Make room on it; then repeating the call with the same operation_id is safe.",
        )
    return DatabaseUnavailable(
        f"The database could not be reached or did not answer in time ({kind}).",
        hint="Repeating the call with the same operation_id is safe.",
    )
