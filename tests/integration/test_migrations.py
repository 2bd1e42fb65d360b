"""Migrations run once, wholly or not at all, whoever runs them and however they end."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from perdure.errors import ConfigurationError, DatabaseUnavailable
from perdure.store.migrate import migrate, migrations, pending, schema_version

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls
    from tests.conftest import TestServer

RUN = "import sys; from pathlib import Path; from perdure.store.migrate import migrate;"
RUN += "print(len(migrate(sys.argv[1], directory=Path(sys.argv[2]))))"


def write(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        (directory / f"{name.removeprefix('m')}.sql").write_text(text)
    return directory


def start_migrating(url: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", RUN, url, str(directory)], stdout=subprocess.PIPE, text=True)


def wait_until(condition: object, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_every_migration_runs_in_order_and_a_second_call_does_nothing(empty_database: ServerUrls) -> None:
    names = [migration.name for migration in migrations()]
    assert names
    assert pending(empty_database.owner) == names
    assert schema_version(empty_database.owner) is None
    assert migrate(empty_database.owner) == names
    assert migrate(empty_database.owner) == []
    assert pending(empty_database.owner) == []
    assert schema_version(empty_database.owner) == names[-1]


def test_a_failing_migration_leaves_nothing_behind(empty_database: ServerUrls, tmp_path: Path) -> None:
    write(tmp_path, m0001_first="CREATE TABLE a (x int);", m0002_broken="CREATE TABLE b (x int); SELECT 1/0;")
    with pytest.raises(ConfigurationError, match="0002_broken failed and was undone"):
        migrate(empty_database.owner, directory=tmp_path)
    with psycopg.connect(empty_database.owner) as conn:
        assert conn.execute("SELECT to_regclass('a') IS NOT NULL, to_regclass('b') IS NULL").fetchone() == (True, True)
    write(tmp_path, m0002_broken="CREATE TABLE b (x int);")
    assert migrate(empty_database.owner, directory=tmp_path) == ["0002_broken"]


def test_two_processes_at_once_run_each_migration_once(empty_database: ServerUrls, tmp_path: Path) -> None:
    write(tmp_path, **{f"m000{n}_step": f"SELECT pg_sleep(0.1); CREATE TABLE t{n} (x int);" for n in range(1, 6)})
    processes = [start_migrating(empty_database.owner, tmp_path) for _ in range(3)]
    ran = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum(ran) == 5


def test_a_process_killed_in_the_middle_leaves_neither_half_a_migration_nor_a_lock(
    empty_database: ServerUrls, tmp_path: Path
) -> None:
    write(tmp_path, m0001_slow="CREATE TABLE half (x int); SELECT pg_sleep(3); CREATE TABLE whole (x int);")
    process = start_migrating(empty_database.owner, tmp_path)
    with psycopg.connect(empty_database.owner, autocommit=True) as conn:
        sleeping = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
        wait_until(lambda: conn.execute(sleeping).fetchone())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert conn.execute("SELECT to_regclass('half')").fetchone() == (None,)
        write(tmp_path, m0001_slow="CREATE TABLE half (x int); CREATE TABLE whole (x int);")
        done: list[list[str]] = []
        second = threading.Thread(target=lambda: done.append(migrate(empty_database.owner, directory=tmp_path)))
        second.start()
        second.join(timeout=30)
        assert done == [["0001_slow"]]


def test_a_database_of_a_newer_version_is_refused(empty_database: ServerUrls, tmp_path: Path) -> None:
    write(tmp_path, m0001_first="SELECT 1;", m0002_newer="SELECT 1;")
    migrate(empty_database.owner, directory=tmp_path)
    (tmp_path / "0002_newer.sql").unlink()
    with pytest.raises(ConfigurationError, match="newer Perdure: it has 0002_newer"):
        migrate(empty_database.owner, directory=tmp_path)


def test_a_migration_changed_after_it_ran_is_refused_but_line_endings_may_differ(
    empty_database: ServerUrls, tmp_path: Path
) -> None:
    (tmp_path / "0001_first.sql").write_bytes(b"SELECT 1;\nSELECT 2;\n")
    migrate(empty_database.owner, directory=tmp_path)
    (tmp_path / "0001_first.sql").write_bytes(b"SELECT 1;\r\nSELECT 2;\r\n")
    assert migrate(empty_database.owner, directory=tmp_path) == []
    (tmp_path / "0001_first.sql").write_bytes(b"SELECT 3;\n")
    with pytest.raises(ConfigurationError, match="0001_first was changed"):
        migrate(empty_database.owner, directory=tmp_path)


@pytest.mark.parametrize("names", [["0001_a", "0001_b"], ["1_a"], ["0001-a"]])
def test_wrongly_numbered_files_are_refused(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / f"{name}.sql").write_text("SELECT 1;")
    with pytest.raises(ConfigurationError, match="numbered"):
        migrations(tmp_path)


def test_a_server_that_is_not_there_is_reported_as_unavailable(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="could not be reached"):
        migrate(f"postgresql://perdure_owner@/perdure?host={tmp_path}")


def test_an_unprepared_database_names_the_command_that_prepares_it(test_server: TestServer) -> None:
    name = f"perdure_bare_{secrets.token_hex(4)}"
    with psycopg.connect(test_server.server_url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} OWNER perdure_owner TEMPLATE template0")
    try:
        with pytest.raises(ConfigurationError, match="perdure init"):
            migrate(test_server.urls(name).owner)
    finally:
        test_server.drop(name)
