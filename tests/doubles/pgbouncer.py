"""A real PgBouncer in transaction mode, for whoever has it installed (Debian: `apt install pgbouncer`)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

STARTS_IN_S = 15
_CONFIG = """
[databases]
* = host={host} port={port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users.txt
pool_mode = transaction
max_client_conn = 2000
default_pool_size = 40
server_idle_timeout = 5
logfile = {folder}/log
"""


@dataclass(frozen=True)
class Pooler:
    """Where it listens, and whether it keeps prepared statements of different clients apart."""

    host: str
    port: int
    prepares: bool


def program() -> str | None:
    """Where PgBouncer is installed; a login's PATH may not name the folder."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pooling(host: str, port: int, passwords: Mapping[str, str]) -> Iterator[Pooler]:
    """PgBouncer before a server; these roles log in through it."""
    binary = program()
    assert binary is not None, "PgBouncer is not installed"
    with TemporaryDirectory(prefix="perdure-pooler-") as folder:
        # Not below pytest's own directory, which lets no other account pass.
        Path(folder).chmod(0o777)
        with _running(binary, Path(folder), host, port, passwords) as pooler:
            yield pooler


@contextmanager
def _running(binary: str, folder: Path, host: str, port: int, passwords: Mapping[str, str]) -> Iterator[Pooler]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own_port = free.getsockname()[1]
    (folder / "users.txt").write_text("".join(f'"{role}" "{word}"\n' for role, word in passwords.items()))
    config = folder / "pgbouncer.ini"
    config.write_text(_CONFIG.format(host=host, port=port, own_port=own_port, folder=folder))
    # As root it refuses to run; the embedded server then runs as nobody, too, and lets nobody else to its socket.
    account = ["-u", "nobody"] if os.geteuid() == 0 else []
    process = subprocess.Popen([binary, "-q", *account, str(config)])
    try:
        _wait(own_port, process)
        yield Pooler("127.0.0.1", own_port, prepares=_version(binary) >= (1, 21))
    finally:
        process.terminate()
        process.wait(10)


def _version(binary: str) -> tuple[int, ...]:
    told = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in told.split()[1].split(".")[:2])


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTS_IN_S
    while time.monotonic() < end:
        assert process.poll() is None, "PgBouncer ended at once"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("PgBouncer did not listen in time")
