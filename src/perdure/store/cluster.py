"""One PostgreSQL cluster on disk: made, configured, started, found running, stopped.

Every method that changes something needs the data directory's start lock.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from perdure.clock import DatabaseClock
from perdure.errors import ConfigurationError, ServerStartFailed
from perdure.store.embedded_os import WINDOWS, Account, can_reach, hand_over, make_directory, run_program
from perdure.store.roles import ADMIN

PORT: Final = 5432
START_TIMEOUT_S: Final = 300
"""How long a start may take: after a crash the server first replays up to max_wal_size of its log."""
STOP_TIMEOUT_S: Final = 60.0
LOG_FILES: Final = 5
_LOG_TAIL_LINES: Final = 15
_POLL_S: Final = 0.01
_NOTICE_S: Final = 2.0
# A postmaster that was started a moment ago has written its pid but doesn't listen yet.
_SILENT_S: Final = 10.0
_ANSWER_S: Final = 5.0
_TLS_REQUEST: Final = struct.pack("!ii", 8, 80877103)  # SSLRequest of the frontend/backend protocol
# What the kernel takes for the path of a socket: 108 bytes on Linux, 104 on macOS, with the final zero.
_SOCKET_PATH_BYTES: Final = 103
_MIB: Final = 1024 * 1024

HOST_BASED_AUTHENTICATION: Final = {
    False: "local all all scram-sha-256\n",
    True: "host all all 127.0.0.1/32 scram-sha-256\n",
}


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What postmaster.pid says: which process listens where, and its status (starting, ready, stopping)."""

    pid: int
    socket_dir: str
    port: int
    status: str

    def answers(self) -> bool:
        """Whether a server answers there: it is asked whether it speaks TLS, as every client may.

        Unlike a pid, that can't be taken over by another process; and a server that was just killed may still have its
        connections accepted by the kernel, but it doesn't answer.
        """
        family, address = (
            (socket.AF_INET, ("127.0.0.1", self.port))
            if WINDOWS
            else (socket.AF_UNIX, str(socket_path(Path(self.socket_dir), self.port)))
        )
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(_ANSWER_S)
            try:
                probe.connect(address)
                probe.sendall(_TLS_REQUEST)
                return probe.recv(1) in (b"N", b"S")
            except OSError:
                return False


def socket_path(directory: Path, port: int) -> Path:
    return directory / f".s.PGSQL.{port}"


def settings(memory_bytes: int) -> dict[str, str]:
    """The server's settings on a host with that much memory (bytes).

    Logs hold what the server itself has to say, never a statement or its data: errors go to the client that caused
    them. `minimal` WAL, because nothing replicates from an embedded server, spares index builds the log.
    """
    shared = _between(memory_bytes // 8, 64 * _MIB, 512 * _MIB)
    maintenance = _between(memory_bytes // 16, 64 * _MIB, 1024 * _MIB)
    chosen = {
        "max_connections": "100",
        "shared_buffers": _mib(shared),
        "effective_cache_size": _mib(max(shared, memory_bytes // 2)),
        "maintenance_work_mem": _mib(maintenance),
        "autovacuum_work_mem": "64MB",
        "work_mem": "16MB",
        "huge_pages": "off",
        "jit": "off",
        "random_page_cost": "1.1",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "1GB",
        "autovacuum": "on",
        "password_encryption": "scram-sha-256",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "on",
        "log_directory": "log",
        "log_filename": "server-%Y%m%d-%H%M%S.log",
        "log_file_mode": "0600",
        "log_rotation_age": "0",
        "log_rotation_size": "10MB",
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "log_statement": "none",
        "log_min_duration_statement": "-1",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        "log_autovacuum_min_duration": "-1",
        "log_checkpoints": "off",
        "log_connections": "",
        "log_line_prefix": "%m [%p] ",
    }
    if sys.platform == "linux":
        # Containers often have 64 MB of /dev/shm, too little for a parallel index build; System V segments aren't
        # bounded by it. syncfs makes recovery independent of the number of files.
        chosen |= {
            "dynamic_shared_memory_type": "sysv",
            "recovery_init_sync_method": "syncfs",
            "client_connection_check_interval": "2s",
        }
    return chosen


class Cluster:
    """The cluster in `path`, run by `account` (None: the current user) with the programs in `programs`."""

    def __init__(self, path: Path, programs: Path, account: Account | None) -> None:
        self.path = path
        self._programs = programs
        self._account = account

    @property
    def exists(self) -> bool:
        return (self.path / "PG_VERSION").exists()

    @property
    def log_path(self) -> Path:
        """The newest log file of the server, or the directory they will be in."""
        logs = self._logs()
        return logs[-1] if logs else self.path / "log"

    def initialise(self, admin_password: str) -> None:
        """Makes the cluster, complete or not at all. Raises ServerStartFailed if initdb fails."""
        for abandoned in self.path.parent.glob("new-*"):
            _remove(abandoned)
        workshop = Path(tempfile.mkdtemp(prefix="new-", dir=self.path.parent))
        made = workshop / "postgres"
        try:
            make_directory(made, 0o700)
            password = workshop / "password"
            password.touch(0o600)
            password.write_text(admin_password, "utf-8")
            for path in (password, made, workshop):
                hand_over(path, self._account)
            options = ["-U", ADMIN, "--pwfile=../password", "--auth=scram-sha-256", "--no-instructions"]
            # Locale and encoding are ours, whatever the host's are: byte order, full Unicode case mapping, and the
            # same on every platform, so that a directory can be moved and no index depends on a system's libc.
            options += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            options += ["--data-checksums"]
            if sys.platform == "linux":
                options += ["--sync-method=syncfs", "-c", "dynamic_shared_memory_type=sysv"]
            process = self._run("initdb", *options, within=made)
            output, _ = process.communicate(timeout=START_TIMEOUT_S)
            if process.returncode != 0:
                raise ServerStartFailed(f"initdb could not make a database in {self.path.parent}:\n{output.strip()}")
            make_directory(made / "log", 0o700)
            hand_over(made / "log", self._account)
            made.rename(self.path)
        finally:
            _remove(workshop)

    # running -----------------------------------------------------------------------------------------------------

    def running(self, progress: Callable[[str], None]) -> Postmaster | None:
        """The server if it runs, once it is ready; waits for one that is starting, recovering or stopping."""
        clock = DatabaseClock()
        began = clock.monotonic()
        notices = _Notices(progress)
        while True:
            found = self._postmaster()
            waited = clock.monotonic() - began
            if found is None:
                return None
            if found.answers():
                if found.status == "ready":
                    self._refuse_a_copy(found)
                    return found
            elif not self._may_live(found) or waited > _SILENT_S:
                self._clear(found)
                return None
            if waited > START_TIMEOUT_S:
                raise self._failed(f"PostgreSQL (pid {found.pid}) is not ready after {START_TIMEOUT_S} s")
            notices.after(waited, f"Waiting for PostgreSQL, which is {found.status or 'starting'}, {waited:.0f} s ...")
            time.sleep(_POLL_S)

    def start(self, progress: Callable[[str], None]) -> Postmaster:
        """Starts the server and waits until it is ready. Raises ServerStartFailed with the end of its log."""
        directory, port = self._address()
        self._configure(directory, port)
        self.prune_logs()
        clock = DatabaseClock()
        began = clock.monotonic()
        notices = _Notices(progress)
        while True:
            (self.path / "log" / "start.txt").unlink(missing_ok=True)
            process = self._run("pg_ctl", "start", "-w", "-s", "-t", str(START_TIMEOUT_S), "-l", "log/start.txt")
            while True:
                try:
                    output, _ = process.communicate(timeout=_NOTICE_S)
                    break
                except subprocess.TimeoutExpired:
                    waited = clock.monotonic() - began
                    notices.after(
                        waited, f"PostgreSQL is starting (repairing itself after a crash), {waited:.0f} s ..."
                    )
            if process.returncode == 0:
                started = self._postmaster()
                if started is None:
                    raise self._failed("PostgreSQL stopped right after its start")
                return started
            # After kill -9 of the postmaster its children need a moment to notice and to let go of the memory.
            waited = clock.monotonic() - began
            if waited > _SILENT_S or "pre-existing shared memory" not in self._log_tail():
                raise self._failed("PostgreSQL did not start", output)
            time.sleep(0.1)

    def stop(self) -> None:
        """Stops the server (fast shutdown) and waits for its end, at most a minute; it ends by itself after that."""
        found = self._postmaster()
        if found is None or not found.answers():
            return
        clock = DatabaseClock()
        began = clock.monotonic()
        if WINDOWS:
            process = self._run("pg_ctl", "stop", "-s", "-m", "fast", "-t", str(STOP_TIMEOUT_S))
            process.communicate()
        else:
            with suppress(ProcessLookupError):
                os.kill(found.pid, signal.SIGINT)
        while self._postmaster() is not None or self._may_live(found):
            if clock.monotonic() - began > STOP_TIMEOUT_S:
                return
            time.sleep(_POLL_S)
        self._remove_socket_directory(Path(found.socket_dir))
        self.prune_logs()

    def prune_logs(self) -> None:
        """Keeps the newest five log files of at most about 10 MB each."""
        for path in self._logs()[:-LOG_FILES]:
            path.unlink(missing_ok=True)

    # below -------------------------------------------------------------------------------------------------------

    def _run(self, program: str, *arguments: str, within: Path | None = None) -> subprocess.Popen[str]:
        """Runs a program on the cluster, from inside it.

        Below a private directory of root's (0700) the account can't walk to the cluster, but it may stand in it: the
        working directory is entered before the account is switched, and /proc/self/cwd names it from there.
        """
        directory = within or self.path
        data = directory if can_reach(directory, self._account) else Path("/proc/self/cwd")
        if not can_reach(directory, self._account) and sys.platform != "linux":
            raise ServerStartFailed(
                f"{directory} lies below a directory that the account running PostgreSQL can't enter.",
                hint="Set PERDURE_DATA_DIR to a directory whose parents others may enter, such as /var/lib/perdure.",
            )
        argv = [str(self._programs / program), "-D", str(data), *arguments]
        return run_program(argv, cwd=directory, account=self._account)

    def _postmaster(self) -> Postmaster | None:
        try:
            lines = (self.path / "postmaster.pid").read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return None
        lines += [""] * (8 - len(lines))
        port = int(lines[3]) if lines[3].strip().isdigit() else PORT
        pid = int(lines[0]) if lines[0].strip().isdigit() else 0
        return Postmaster(pid, lines[4].strip(), port, lines[7].strip())

    def _may_live(self, found: Postmaster) -> bool:
        """Whether the pid is a live PostgreSQL process of this cluster's owner; a zombie of ours is buried."""
        if found.pid <= 0:
            return False
        try:
            process = psutil.Process(found.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                with suppress(ChildProcessError):
                    os.waitpid(found.pid, os.WNOHANG)
                return False
            ours = WINDOWS or process.uids().real == self.path.stat().st_uid
            return bool(ours and process.name().startswith("postgres"))
        except psutil.Error:
            return False

    def _refuse_a_copy(self, found: Postmaster) -> None:
        """A directory that was copied while its server ran holds the pid file of the original, whose server answers.

        A postmaster works in its data directory, which tells the two apart where there is a /proc to look into.
        """
        process = Path("/proc") / str(found.pid)
        try:
            if (process / "comm").read_text("utf-8").strip() != "postgres" or (process / "cwd").samefile(self.path):
                return
        except OSError:
            return
        raise ConfigurationError(
            f"{self.path.parent} was copied while its server was running, and that server still runs elsewhere.",
            hint=f"Copy it again after everything that uses it was closed, or delete {self.path / 'postmaster.pid'}.",
        )

    def _clear(self, stale: Postmaster) -> None:
        """Removes what a killed server left behind; PostgreSQL itself still checks that nobody uses its memory."""
        (self.path / "postmaster.pid").unlink(missing_ok=True)
        if stale.socket_dir:
            path = socket_path(Path(stale.socket_dir), stale.port)
            for left in (path, path.with_name(f"{path.name}.lock")):
                with suppress(OSError):
                    left.unlink(missing_ok=True)

    def _address(self) -> tuple[Path, int]:
        """Where to listen: the same place as before if that is still there, so that open handles find it again."""
        if WINDOWS:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                return self.path, int(probe.getsockname()[1])
        beside = self.path.parent / "run"
        fits = len(os.fsencode(socket_path(beside, PORT))) < _SOCKET_PATH_BYTES
        if fits and can_reach(self.path.parent, self._account):
            if make_directory(beside, 0o700):
                hand_over(beside, self._account)
            return beside, PORT
        previous = self._configured_directory()
        if previous is not None and self._is_private(previous):
            return previous, PORT
        made = Path(tempfile.mkdtemp(prefix="perdure-", dir="/tmp"))  # fresh, 0700, and short
        hand_over(made, self._account)
        return made, PORT

    def _configured_directory(self) -> Path | None:
        try:
            lines = (self.path / "postgresql.conf").read_text("utf-8").splitlines()
        except OSError:
            return None
        for line in lines:
            if line.startswith("unix_socket_directories = '/tmp/perdure-"):
                return Path(line.split("'")[1])
        return None

    def _is_private(self, directory: Path) -> bool:
        try:
            found = directory.lstat()
        except OSError:
            return False
        owner = os.geteuid() if self._account is None else self._account.uid
        return directory.is_dir() and not directory.is_symlink() and found.st_uid == owner and not found.st_mode & 0o077

    def _remove_socket_directory(self, directory: Path) -> None:
        if directory.parent == Path("/tmp"):  # noqa: S108 - the one that _address made
            with suppress(OSError):
                directory.rmdir()

    def _configure(self, socket_dir: Path, port: int) -> None:
        """Writes our configuration files anew, so that they follow Perdure's version and the host's memory."""
        chosen = settings(psutil.virtual_memory().total) | {"port": str(port)}
        if WINDOWS:
            chosen |= {"listen_addresses": "127.0.0.1"}
        else:
            chosen |= {
                "listen_addresses": "",
                "unix_socket_directories": str(socket_dir),
                "unix_socket_permissions": "0700",
            }
        self._write("postgresql.conf", _configuration(chosen))
        self._write("pg_hba.conf", HOST_BASED_AUTHENTICATION[WINDOWS])
        self._write("pg_ident.conf", "")

    def _write(self, name: str, content: str) -> None:
        partial = self.path / f"{name}.new"
        partial.write_text(content, "utf-8")
        partial.chmod(0o600)
        hand_over(partial, self._account)
        partial.replace(self.path / name)

    def _logs(self) -> list[Path]:
        return sorted((self.path / "log").glob("server-*.log"))

    def _log_tail(self) -> str:
        lines: list[str] = []
        for path in (self.path / "log" / "start.txt", *self._logs()[-1:]):
            with suppress(OSError):
                lines += path.read_text("utf-8", "replace").splitlines()[-_LOG_TAIL_LINES:]
        return "\n".join(lines)

    def _failed(self, what: str, output: str = "") -> ServerStartFailed:
        told = "\n".join(filter(None, (output.strip(), self._log_tail())))
        return ServerStartFailed(f"{what}. The end of its log ({self.path / 'log'}):\n{told}")


class _Notices:
    """Tells of a long wait every two seconds."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._next = _NOTICE_S

    def after(self, waited_s: float, text: str) -> None:
        if waited_s >= self._next:
            self._progress(text)
            self._next = waited_s + _NOTICE_S


def _configuration(chosen: Mapping[str, str]) -> str:
    lines = ["# Written by Perdure at every start. Your own settings belong into postgresql.auto.conf (ALTER SYSTEM)."]
    lines += [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in chosen.items()]
    return "\n".join(lines) + "\n"


def _remove(tree: Path) -> None:
    """Removes a tree that an orphaned initdb may still be writing to; that one fails for it, and soon."""
    clock = DatabaseClock()
    began = clock.monotonic()
    while tree.exists() and clock.monotonic() - began < _SILENT_S:
        shutil.rmtree(tree, ignore_errors=True)
        time.sleep(_POLL_S)


def _between(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def _mib(value: int) -> str:
    return f"{value // _MIB}MB"
