"""Opening and closing: nothing half open is left behind, and what is wrong is said at once and without secrets."""

from __future__ import annotations

import asyncio
import time
import traceback
from pathlib import Path

import psycopg
import pytest

from perdure import ConfigurationError, DatabaseUnavailable, FamilyMismatch, Memory, PerdureError
from perdure import memory as memory_module
from perdure.cli import checkup
from perdure.store import families
from perdure.store.database import Database
from perdure.store.embedded import EmbeddedServer
from perdure.types import Family
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

BAD_URLS = ("nonsense secretpw", "postgresql://u:secretpw%zz@h/db", "postgresql://u:secretpw@[h/db")


def running(data_dir: Path) -> bool:
    return (data_dir / "postgres" / "postmaster.pid").exists()


@pytest.mark.parametrize("place", ["database_url", "database_worker_url", "database_owner_url"])
@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_cannot_be_read_is_refused_at_once_and_not_quoted(
    urls, place: str, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"database_url": urls.app, "database_worker_url": urls.worker, "database_owner_url": urls.owner}
    start = time.perf_counter()
    with pytest.raises(ConfigurationError, match=f"PERDURE_{place.upper()}") as error:
        Memory.open(**good | {place: url})
    assert time.perf_counter() - start < 1
    printed = "".join(traceback.format_exception(error.value))
    assert "secretpw" not in str(error.value) + caplog.text + printed


async def test_doctor_names_a_url_that_cannot_be_read_and_does_not_quote_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", BAD_URLS[0])
    found = (await checkup.examine(None))[-1]
    assert (found.name, found.status) == ("settings", "fail")
    assert "PERDURE_DATABASE_URL" in found.detail
    assert "secretpw" not in found.detail


async def test_doctor_says_what_it_checked_of_both_roles(urls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "configured_embedder", lambda _settings: HashedEmbedder())
    monkeypatch.setattr(memory_module, "configured_embedder", lambda _settings: HashedEmbedder())
    for name, url in (("", urls.app), ("WORKER_", urls.worker), ("OWNER_", urls.owner)):
        monkeypatch.setenv(f"PERDURE_DATABASE_{name}URL", url)
    (roles,) = [finding for finding in await checkup.examine(None) if finding.name == "roles"]
    assert roles.status == "ok"
    assert "perdure_app and perdure_worker log in" in roles.detail


async def test_a_bad_embedder_leaves_no_server_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_settings: object) -> HashedEmbedder:
        raise ConfigurationError("There is no such embedder.")

    monkeypatch.setattr(memory_module, "configured_embedder", broken)
    with pytest.raises(ConfigurationError, match="no such embedder"):
        await Memory.open(data_dir=tmp_path / "data")
    assert not running(tmp_path / "data")


async def test_opening_that_is_cancelled_leaves_no_server_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = EmbeddedServer.open
    started, closed = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    close = EmbeddedServer.close

    def slow(*arguments, **options) -> EmbeddedServer:
        loop.call_soon_threadsafe(started.set)
        return opened(*arguments, **options)

    def watched(self: EmbeddedServer) -> None:
        close(self)
        loop.call_soon_threadsafe(closed.set)

    monkeypatch.setattr(EmbeddedServer, "open", slow)
    monkeypatch.setattr(EmbeddedServer, "close", watched)
    memory = Memory.open(data_dir=tmp_path / "data", embedder=HashedEmbedder(), worker=False)
    opening = asyncio.ensure_future(memory._open())
    async with asyncio.timeout(20):
        await started.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with asyncio.timeout(30):
        await closed.wait()
    assert not running(tmp_path / "data")


async def test_everything_is_closed_although_a_step_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = await Memory.open(data_dir=tmp_path / "data", embedder=HashedEmbedder())

    async def broken(self: Database) -> None:
        raise OSError("the connection can't be closed")

    close = Database.close
    database = memory.resources.database
    monkeypatch.setattr(Database, "close", broken)
    with pytest.raises(OSError, match="can't be closed"):
        await memory.close()
    assert not running(tmp_path / "data")
    await memory.close()
    await close(database)


async def test_a_memory_can_be_opened_again(urls) -> None:
    memory = open_memory(urls, HashedEmbedder())
    for number in range(2):
        async with memory:
            await memory.space("again").save(f"text {number}")


@pytest.mark.parametrize("step", ["_check_length", "_build_index"])
async def test_a_family_whose_maker_was_killed_is_finished_by_the_next_open(
    fresh_database, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    async def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(families, step, killed)
        opening = open_memory(fresh_database, HashedEmbedder())
        with pytest.raises(KeyboardInterrupt):
            await opening._open()
    async with open_memory(fresh_database, HashedEmbedder()) as memory:
        family = memory.resources.family
        assert family.index_name == f"memory_vectors_family_{family.id}_hnsw"
        async with memory.resources.database.owner() as owner:
            rows = await owner.execute(
                "SELECT conname AS name FROM pg_constraint WHERE conname = %s"
                " UNION ALL SELECT indexname FROM pg_indexes WHERE indexname = %s",
                (f"memory_vectors_family_{family.id}", family.index_name),
            )
            assert len(await rows.fetchall()) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"dimensions": 64},
        {"model": "other"},
        {"provider": "other"},
        {"query_prefix": "q: "},
        {"document_prefix": "d: "},
    ],
)
async def test_another_model_under_the_name_of_a_family_is_refused_at_opening(
    fresh_database, changes: dict[str, object]
) -> None:
    async with open_memory(fresh_database, HashedEmbedder()) as memory:
        await memory.space("ada").save("made with the first model")
    other = HashedEmbedder()
    known = other.family
    other.family = Family(
        **{"name": known.name, "provider": known.provider, "model": known.model, "dimensions": 256, **changes}
    )
    with pytest.raises(FamilyMismatch, match="another name"):
        await open_memory(fresh_database, other)


async def test_a_server_that_dies_while_it_is_opened_is_called_unavailable(
    urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_off(connection: psycopg.AsyncConnection, _role: str) -> None:
        await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(memory_module, "check_serving_role", cut_off)
    with pytest.raises(DatabaseUnavailable):
        await open_memory(urls, HashedEmbedder())


async def test_a_memory_is_not_opened_twice_at_once(urls) -> None:
    async with open_memory(urls, HashedEmbedder()) as memory:
        with pytest.raises(PerdureError, match="already open"):
            await memory
        assert await memory.spaces() is not None


def test_closing_in_another_event_loop_leaves_no_server_running(tmp_path: Path) -> None:
    memory = Memory.open(data_dir=tmp_path / "data", embedder=HashedEmbedder(), worker=False)

    async def opened() -> None:
        await memory

    asyncio.run(opened())
    with pytest.raises(RuntimeError, match="Event loop is closed"):
        asyncio.run(memory.close())
    assert not running(tmp_path / "data")
