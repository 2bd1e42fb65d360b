"""Memory: opens and closes everything, and hands out spaces."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from perdure.assembling import finish_afterwards
from perdure.calibrating import stop as stop_calibrating
from perdure.clock import Clock, DatabaseClock
from perdure.embedding import Embedder, GuardedEmbedder, NoiseLevel, open_embedder
from perdure.errors import ConfigurationError, PerdureError, SpaceRefused
from perdure.fact_types import FactNotice, Notifier, PrivacyLookup
from perdure.llm import Models
from perdure.ltm import open_notifier
from perdure.memory_admin import MemoryAdmin, require_spaces
from perdure.memory_transfer import MemoryTransfer
from perdure.resources import Resources
from perdure.settings import Settings, load_settings
from perdure.space import Space
from perdure.store.crossing import read_backlogs
from perdure.store.database import Database, DatabaseUrls, Transaction, Urls, require_url
from perdure.store.embedded import EmbeddedServer
from perdure.store.families import SampleTurnShelf, StoredFamily, create_family, find_family, list_families
from perdure.store.migrate import migrate
from perdure.store.roles import check_serving_role
from perdure.store.spaces import SpaceRow, create_space, find_space, list_spaces
from perdure.store.workers import WorkerStatus, list_workers
from perdure.worker import Worker


class Memory(MemoryAdmin, MemoryTransfer):
    """Everything opened: server, database, embedder, worker.

    Use it as `async with Memory.open() as memory:`, or `memory = await Memory.open()` with `await memory.close()`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None,
        models: Models | None,
        worker: bool,
        clock: Clock,
        progress: Callable[[str], None] | None,
        notifier: Notifier | None = None,
        privacy: PrivacyLookup | None = None,
        spaces: frozenset[str] | None = None,
    ) -> None:
        self.settings = settings
        self._embedder: Embedder | None = None if embedder is None else GuardedEmbedder(embedder)
        self._owns_embedder = embedder is None
        self._models = models
        self._owns_models = models is None
        self._wants_worker = worker
        self._clock = clock
        self._progress = progress
        self._notifier = notifier
        self._privacy = privacy
        self._server: EmbeddedServer | None = None
        self._database: Database | None = None
        self._resources: Resources | None = None
        self._worker: Worker | None = None
        self._opened = False
        self._closings = 0
        self._reaching = threading.Lock()
        self._spaces: dict[str, SpaceRow] = {}
        self._bound_to = spaces

    @classmethod
    def open(
        cls,
        *,
        data_dir: Path | str | None = None,
        database_url: str | None = None,
        embedder: Embedder | str | None = None,
        models: Models | None = None,
        worker: bool = True,
        clock: Clock | None = None,
        progress: Callable[[str], None] | None = None,
        notifier: Notifier | Callable[[FactNotice], object] | None = None,
        privacy: PrivacyLookup | None = None,
        spaces: Iterable[str] | str | None = None,
        **settings: Any,
    ) -> Memory:
        """Memory that opens when it is entered or awaited.

        Args:
            data_dir: where the embedded server keeps its data (setting `data_dir`).
            database_url: application role on a server of your own, instead of the embedded one.
            embedder: an opened embedder of your own, or the setting `embedder`; default is what the settings name.
            models: language models of your own; default is what the settings name, which may be none.
            worker: run the heartbeat inside this process.
            clock: where the time comes from; default is the database's clock.
            progress: gets a line for each step that takes time.
            notifier: hears of each committed change of a fact, besides what the settings name.
            privacy: the host's answer to whether an assistant may learn of a person, besides what is set here.
            spaces: the only spaces that this memory reaches; it runs no worker, since that works for all of them.
            **settings: any field of `Settings`, winning over the environment.

        Raises (when entered):
            ConfigurationError: a setting, URL, role or data directory cannot be used as it is.
            ServerStartFailed, DatabaseUnavailable: no database within the timeout.
        """
        named, own = (embedder, None) if isinstance(embedder, str) else (None, embedder)
        if own is not None and not (hasattr(own, "family") and hasattr(own, "embed")):
            raise ConfigurationError(
                f"embedder is a {type(own).__name__}, which is neither the name of an embedder nor an opened one.",
                hint="An opened one has `family`, `calibration`, `embed` and `close`.",
            )
        chosen = load_settings(data_dir=data_dir, database_url=database_url, embedder=named, **settings)
        require_urls(chosen)
        bound = None if spaces is None else frozenset(require_spaces(spaces))
        return cls(
            chosen,
            embedder=own,
            models=models,
            worker=worker and bound is None,
            clock=clock or DatabaseClock(),
            progress=progress,
            notifier=open_notifier(chosen, notifier),
            privacy=privacy,
            spaces=bound,
        )

    def __await__(self) -> Generator[Any, None, Self]:
        return self._open().__await__()

    async def __aenter__(self) -> Self:
        return await self._open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops the worker, closes the connections, and leaves the embedded server, which stops with its last user.

        Everything is closed, even if a step fails; its error is raised at the end.
        """
        self._opened = False
        resources, self._resources = self._resources, None
        worker, self._worker = self._worker, None
        embedder = self._embedder if self._owns_embedder else None
        models = self._models if self._owns_models else None
        database, self._database = self._database, None
        with self._reaching:
            self._closings += 1
            server, self._server = self._server, None
        async with AsyncExitStack() as steps:
            if server is not None:
                steps.push_async_callback(asyncio.to_thread, server.close)
            if database is not None:
                steps.push_async_callback(database.close)
            if embedder is not None:
                self._embedder = None
                steps.push_async_callback(embedder.close)
            if models is not None:
                self._models = None
                steps.push_async_callback(models.close)
            if resources is not None:
                if resources.notifier is not None:
                    steps.push_async_callback(resources.notifier.close)
                steps.push_async_callback(resources.noise.close)
                steps.push_async_callback(stop_calibrating, resources)
                steps.push_async_callback(finish_afterwards, resources)
            if worker is not None:
                steps.push_async_callback(worker.stop)

    async def stop_worker(self) -> None:
        """Stops the worker of this process, as `close` would; everything else goes on."""
        if self._worker is not None:
            await self._worker.stop()

    def space(self, name: str, *, audience: str | None = None) -> Space:
        """A handle on a space; the space itself is made by its first write.

        Args:
            name: 1..200 bytes. audience: who may see what is said through this handle; None is the whole space.

        Raises:
            SpaceRefused: the memory was opened for other spaces.
        """
        space = Space(self, name, audience)
        self._require_reach(space.name)
        return space

    async def worker_status(self) -> WorkerStatus:
        """Which workers there are, in all processes, what each of them did, and what waits over all spaces."""
        self.require_unbound()

        async def read(tx: Transaction) -> WorkerStatus:
            return WorkerStatus(tuple(await list_workers(tx)), tuple(await read_backlogs(tx)))

        return await self.resources.database.across(read, as_worker=True)

    async def spaces(self) -> tuple[SpaceRow, ...]:
        """All spaces by name; of a memory that was opened for some, those of them that are there."""
        found = await self.resources.database.across(list_spaces)
        return tuple(space for space in found if self._bound_to is None or space.name in self._bound_to)

    def require_unbound(self) -> None:
        """Refuses what concerns all spaces. Raises SpaceRefused for a memory that was opened for some only."""
        if self._bound_to is not None:
            raise SpaceRefused(
                "This Memory was opened for some spaces only.", hint="Open one without `spaces` for what concerns all."
            )

    def _require_reach(self, name: str) -> None:
        if self._bound_to is not None and name not in self._bound_to:
            raise SpaceRefused(
                f"This Memory does not reach the space {name!r}.",
                hint="It was opened with `spaces` that don't name it.",
            )

    @property
    def resources(self) -> Resources:
        """What is opened.

        Raises:
            PerdureError: the memory is not open.
        """
        if self._resources is None:
            raise PerdureError("This Memory is not open.", hint="Use `async with Memory.open() as memory:`.")
        return self._resources

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server, if this memory uses one."""
        return self._server

    async def find_space(self, name: str) -> SpaceRow | None:
        """The space of this name, if there is one; found ones are remembered, since spaces keep their ids."""
        self._require_reach(name)
        if name not in self._spaces:

            async def read(tx: Transaction) -> SpaceRow | None:
                return await find_space(tx, name)

            found = await self.resources.database.across(read)
            if found is None:
                return None
            self._spaces[name] = found
        return self._spaces[name]

    def let_go(self, space_id: int) -> None:
        """Remembers a space no longer: it is gone, and what is written under its name begins anew."""
        self._spaces = {name: space for name, space in self._spaces.items() if space.id != space_id}

    async def ensure_space(self, name: str) -> SpaceRow:
        """The space of this name, made if it is not there."""
        found = await self.find_space(name)
        if found is None:

            async def write(tx: Transaction) -> SpaceRow:
                return await create_space(tx, name)

            found = self._spaces[name] = await self.resources.database.across(write)
        return found

    async def _open(self) -> Self:
        if self._opened:
            raise PerdureError("This Memory is already open.", hint="Make another one with Memory.open().")
        self._opened = True
        try:
            # First what costs milliseconds and may be set wrongly, then the server.
            if self._embedder is None:
                self._embedder = await asyncio.to_thread(configured_embedder, self.settings)
            embedder = self._embedder
            if self._models is None:
                self._models = Models.from_settings(self.settings, self._clock)
            models = self._models
            database = await self._open_database()
            family = await self._register_family(database, embedder)
            names = {known.id: known.name for known in await database.across(list_families)}
        except BaseException:
            await self.close()
            raise
        shelf = SampleTurnShelf(database, family)
        self._resources = Resources(
            database,
            embedder,
            family,
            self.settings,
            NoiseLevel(embedder, shelf),
            names,
            models=models,
            notifier=self._notifier,
            privacy=self._privacy,
        )
        if self._wants_worker:
            self._worker = Worker(self._resources)
            self._worker.start()
        return self

    async def _open_database(self) -> Database:
        urls = await asyncio.to_thread(self._reach_server, self._closings)
        settings = self.settings
        self._database = Database(
            urls,
            self._clock,
            pool_size=settings.database_pool_size,
            prepare=settings.database_prepare,
            decays=settings.memory_decay_enabled,
        )
        self._database.when_erased = self.let_go
        await self._database.open(settings.database_timeout_s)
        await self._database.check(check_serving_role)
        return self._database

    def _reach_server(self, opening: int) -> Urls:
        """URLs of a server with the current schema. Blocks; `opening` is how often this memory was closed before."""
        settings = self.settings
        if settings.database_url is None:
            server = EmbeddedServer.open(settings.data_dir, progress=self._progress)
            with self._reaching:
                wanted = opening == self._closings
                if wanted:
                    self._server = server
            if not wanted:
                # Opening was cancelled while this thread went on, and nobody else would close it.
                server.close()
                raise PerdureError("Opening was cancelled.")
            migrate(server.urls.owner)
            return server.urls
        worker, owner = settings.database_worker_url, settings.database_owner_url
        if worker is None:
            raise ConfigurationError(
                "PERDURE_DATABASE_URL is set, but PERDURE_DATABASE_WORKER_URL is not.",
                hint="Run `perdure init --owner-url URL`, which makes both roles and prints their URLs.",
            )
        if owner is not None:
            migrate(owner.get_secret_value())
        return DatabaseUrls(
            app=settings.database_url.get_secret_value(),
            worker=worker.get_secret_value(),
            owner=owner.get_secret_value() if owner else None,
        )

    async def _register_family(self, database: Database, embedder: Embedder) -> StoredFamily:
        async def read(tx: Transaction) -> StoredFamily | None:
            return await find_family(tx, embedder.family.name)

        found = await database.across(read)
        if found is not None:
            found.require(embedder.family)
        # One without an index may be the half of a family whose maker was killed.
        if database.has_owner and (found is None or found.index_name is None):
            return await register_family(database, embedder)
        if found is None:
            raise ConfigurationError(
                f"The embedding family {embedder.family.name!r} is not registered in this database.",
                hint="Run `perdure init --owner-url URL` once with the same embedder settings.",
            )
        return found


def require_urls(settings: Settings) -> None:
    """Raises ConfigurationError for a database URL that can't be read, which a pool would only try again and again."""
    for name in ("database_url", "database_worker_url", "database_owner_url"):
        url = getattr(settings, name)
        if url is not None:
            require_url(url.get_secret_value(), f"PERDURE_{name.upper()}")


def configured_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name; a local model is loaded at its first use."""
    key = settings.embedder_key
    return open_embedder(
        settings.embedder,
        url=settings.embedder_url,
        model=settings.embedder_model,
        key=key.get_secret_value() if key else None,
        dimensions=settings.embedder_dimensions,
        timeout=settings.embedder_timeout_s,
        cache_dir=settings.cache_dir,
    )


async def register_family(database: Database, embedder: Embedder) -> StoredFamily:
    """Makes the embedder's family if it is not there, with its index. Uses the owner's connection only."""
    calibration = embedder.calibration
    if calibration is None:
        return await create_family(database, embedder.family)
    return await create_family(
        database,
        embedder.family,
        unrelated_similarity=calibration.query_mean,
        unrelated_spread=calibration.query_spread,
    )
