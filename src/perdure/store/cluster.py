"""One PostgreSQL cluster on disk: made, configured, started, found running, stopped.

Every method that changes something needs the data directory's start lock.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from perdure.clock import DatabaseClock
from perdure.errors import ServerStartFailed
from perdure.store.embedded_address import choose_address, remove_socket_directory
from perdure.store.embedded_os import WINDOWS, Account, can_reach, hand_over, make_directory, run_program
from perdure.store.embedded_settings import configure
from perdure.store.postmaster import Postmaster, clear_after, may_live, read_postmaster, refuse_a_copy
from perdure.store.roles import ADMIN

START_TIMEOUT_S: Final = 300
"""How long a start may take: after a crash the server first replays up to max_wal_size of its log."""
STOP_TIMEOUT_S: Final = 60.0
LOG_FILES: Final = 5
_LOG_TAIL_LINES: Final = 15
_POLL_S: Final = 0.01
_NOTICE_S: Final = 2.0
# A postmaster that was started a moment ago has written its pid but doesn't listen yet.
_SILENT_S: Final = 10.0


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
            found = read_postmaster(self.path)
            waited = clock.monotonic() - began
            if found is None:
                return None
            if found.answers():
                if found.status == "ready":
                    refuse_a_copy(found, self.path)
                    return found
            elif not may_live(found, self.path) or waited > _SILENT_S:
                clear_after(found, self.path)
                return None
            if waited > START_TIMEOUT_S:
                raise self._failed(f"PostgreSQL (pid {found.pid}) is not ready after {START_TIMEOUT_S} s")
            notices.after(waited, f"Waiting for PostgreSQL, which is {found.status or 'starting'}, {waited:.0f} s ...")
            time.sleep(_POLL_S)

    def start(self, progress: Callable[[str], None]) -> Postmaster:
        """Starts the server and waits until it is ready. Raises ServerStartFailed with the end of its log."""
        directory, port = choose_address(self.path, self._account)
        configure(self.path, self._account, directory, port)
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
                started = read_postmaster(self.path)
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
        found = read_postmaster(self.path)
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
        while read_postmaster(self.path) is not None or may_live(found, self.path):
            if clock.monotonic() - began > STOP_TIMEOUT_S:
                return
            time.sleep(_POLL_S)
        remove_socket_directory(Path(found.socket_dir))
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


def _remove(tree: Path) -> None:
    """Removes a tree that an orphaned initdb may still be writing to; that one fails for it, and soon."""
    clock = DatabaseClock()
    began = clock.monotonic()
    while tree.exists() and clock.monotonic() - began < _SILENT_S:
        shutil.rmtree(tree, ignore_errors=True)
        time.sleep(_POLL_S)
