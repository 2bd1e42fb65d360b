"""The embedded server among real processes: shared, killed, interrupted, run by root and by others."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import psycopg
import pytest

from perdure.store.embedded import EmbeddedServer

CLIENT = """
import sys
from pathlib import Path
from perdure.store.embedded import EmbeddedServer
with EmbeddedServer.open(Path(sys.argv[1])) as server:
    print(server.admin_url, flush=True)
    sys.stdin.readline()
"""

AS_NOBODY = """
import os, pwd, sys
from pathlib import Path
import psycopg
from perdure.errors import ConfigurationError
from perdure.store.embedded import EmbeddedServer
from perdure.store.migrate import migrate
def cycle(path):
    with EmbeddedServer.open(path) as server:
        migrate(server.urls.owner)
        with psycopg.connect(server.urls.app) as conn:
            conn.execute("SELECT 1")
        print(os.stat(path / "postgres").st_uid, len(server.urls.app) > 0, flush=True)
cycle(Path(sys.argv[1]))  # loads every module while the interpreter's own directory can still be read
if os.geteuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.chown(sys.argv[3], nobody.pw_uid, nobody.pw_gid)
    os.setgroups([]); os.setgid(nobody.pw_gid); os.setuid(nobody.pw_uid)
    try:
        EmbeddedServer.open(Path(sys.argv[1]))
    except ConfigurationError as error:
        assert "cannot be used" in str(error)
    else:
        sys.exit("opened what belongs to root")
cycle(Path(sys.argv[2]))
cycle(Path(sys.argv[2]))
print(os.geteuid())
"""


class Client:
    """Another process that has a data directory open until `leave`."""

    def __init__(self, data_dir: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def admin_url(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory whose parents everybody may pass through; what a test leaves running in it is stopped."""
    with tempfile.TemporaryDirectory(prefix="perdure-test-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        path = Path(name) / "data"
        yield path
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(postmaster(path), signal.SIGQUIT)
            wait_until(lambda: not running(path))


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


def running(data_dir: Path) -> bool:
    return (data_dir / "postgres" / "postmaster.pid").exists()


def wait_until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def write_number(url: str, number: int) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        conn.execute("INSERT INTO kept VALUES (%s)", [number])


def numbers(url: str) -> list[int]:
    with psycopg.connect(url, autocommit=True) as conn:
        return [row[0] for row in conn.execute("SELECT n FROM kept ORDER BY n")]


def test_processes_that_open_a_new_directory_at_once_share_one_server_and_the_last_stops_it(data_dir: Path) -> None:
    with Client(data_dir) as one, Client(data_dir) as two, Client(data_dir) as three:
        urls = {client.admin_url() for client in (one, two, three)}
        assert len(urls) == 1
        pid = postmaster(data_dir)
        write_number(urls.pop(), 1)
        one.leave()
        two.leave()
        assert postmaster(data_dir) == pid
        three.leave()
        assert not running(data_dir)
        assert not list((data_dir / "clients").iterdir())


def test_a_killed_client_counts_as_gone_and_what_it_committed_is_there(data_dir: Path) -> None:
    with Client(data_dir) as client:
        write_number(client.admin_url(), 7)
        client.kill()
    assert running(data_dir)
    with EmbeddedServer.open(data_dir) as server:
        assert numbers(server.admin_url) == [7]
    assert not running(data_dir)


def test_a_killed_server_is_repaired_by_the_next_open_and_open_handles_find_it_again(data_dir: Path) -> None:
    with EmbeddedServer.open(data_dir) as first:
        write_number(first.admin_url, 7)
        killed = postmaster(data_dir)
        os.kill(killed, signal.SIGKILL)
        with EmbeddedServer.open(data_dir) as second:
            assert postmaster(data_dir) != killed
            assert numbers(second.admin_url) == [7]
            assert numbers(first.admin_url) == [7]
    assert not running(data_dir)


def test_client_and_server_killed_together_lose_nothing_committed(data_dir: Path) -> None:
    with Client(data_dir) as client:
        write_number(client.admin_url(), 7)
        os.kill(postmaster(data_dir), signal.SIGKILL)
        client.kill()
    with EmbeddedServer.open(data_dir) as server:
        assert numbers(server.admin_url) == [7]


def test_a_stale_pid_that_another_process_has_now_does_not_keep_the_server_from_starting(data_dir: Path) -> None:
    EmbeddedServer.open(data_dir).close()
    stale = data_dir / "postgres" / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n{data_dir / 'postgres'}\n1\n5432\n{data_dir / 'run'}\n\n  1 1\nready   \n")
    with EmbeddedServer.open(data_dir) as server:
        assert postmaster(data_dir) != os.getpid()
        with psycopg.connect(server.admin_url) as conn:
            assert conn.execute("SELECT 1").fetchone() == (1,)


def test_a_client_killed_while_it_makes_the_database_leaves_a_directory_that_opens(data_dir: Path) -> None:
    with Client(data_dir) as client:
        wait_until(lambda: data_dir.exists() and list(data_dir.glob("new-*/postgres/PG_VERSION")))
        client.kill()
    assert not (data_dir / "postgres").exists()
    with EmbeddedServer.open(data_dir) as server:
        write_number(server.admin_url, 1)
    assert not list(data_dir.glob("new-*"))


def test_interrupting_the_terminal_that_started_the_server_does_not_stop_it_for_others(data_dir: Path) -> None:
    with Client(data_dir) as starter:
        url = starter.admin_url()
        with EmbeddedServer.open(data_dir):
            os.killpg(starter.process.pid, signal.SIGINT)
            starter.process.communicate()
            write_number(url, 1)
            assert numbers(url) == [1]


def test_a_client_that_exits_without_closing_stops_the_server(data_dir: Path) -> None:
    program = "import sys; from pathlib import Path; from perdure.store.embedded import EmbeddedServer;"
    program += "EmbeddedServer.open(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, str(data_dir)], check=True, timeout=60)
    assert (data_dir / "postgres" / "PG_VERSION").exists()
    assert not running(data_dir)


def test_a_forked_child_that_ends_does_not_close_its_parents_handle(data_dir: Path) -> None:
    program = "import os, sys; from pathlib import Path; from perdure.store.embedded import EmbeddedServer;"
    program += "server = EmbeddedServer.open(Path(sys.argv[1])); pid = os.fork();"
    program += "sys.exit(0) if pid == 0 else os.waitpid(pid, 0);"
    program += "print((Path(sys.argv[1]) / 'postgres' / 'postmaster.pid').exists()); server.close()"
    done = subprocess.run(
        [sys.executable, "-c", program, str(data_dir)], check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stdout.strip() == "True"
    assert not running(data_dir)


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_no_directory_that_was_there_changes_its_mode_or_owner(data_dir: Path, mode: int) -> None:
    outer, inner = data_dir.parent / "outer", data_dir.parent / "outer" / "inner"
    for directory in (outer, inner):
        directory.mkdir()
        directory.chmod(mode)
    watched = [outer, inner, *outer.parents]
    before = [(path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in watched]
    with EmbeddedServer.open(inner) as server:
        write_number(server.admin_url, 1)
    with EmbeddedServer.open(inner) as server:
        assert numbers(server.admin_url) == [1]
    assert [(path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in watched] == before


def test_a_long_path_works_although_a_socket_could_not_be_bound_there(data_dir: Path) -> None:
    deep = data_dir.parent / ("long" * 30) / "data"
    with EmbeddedServer.open(deep) as server:
        write_number(server.admin_url, 1)
        place = Path(psycopg.conninfo.conninfo_to_dict(server.admin_url)["host"])  # type: ignore[arg-type]
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert not place.exists()


def test_a_normal_user_has_a_server_of_their_own(data_dir: Path) -> None:
    home = data_dir.parent / "home"
    home.mkdir(mode=0o755)
    arguments = [str(data_dir.parent / "first"), str(home / "data"), str(home)]
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *arguments], check=False, timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    *cycles, uid = done.stdout.split("\n")[:-1]
    assert cycles[1:] == [f"{uid} True"] * 2
    assert uid != "0"
