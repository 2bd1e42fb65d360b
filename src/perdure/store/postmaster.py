"""The server of a cluster as its pid file tells of it: whether it lives, answers, and is this cluster's."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from perdure.errors import ConfigurationError
from perdure.store.embedded_os import WINDOWS

PORT: Final = 5432
_ANSWER_S: Final = 5.0
_TLS_REQUEST: Final = struct.pack("!ii", 8, 80877103)  # SSLRequest of the frontend/backend protocol


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


def read_postmaster(cluster: Path) -> Postmaster | None:
    """What the pid file in the cluster's directory says, None without one; whether it is true is another question."""
    try:
        lines = (cluster / "postmaster.pid").read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return None
    lines += [""] * (8 - len(lines))
    port = int(lines[3]) if lines[3].strip().isdigit() else PORT
    pid = int(lines[0]) if lines[0].strip().isdigit() else 0
    return Postmaster(pid, lines[4].strip(), port, lines[7].strip())


def may_live(found: Postmaster, cluster: Path) -> bool:
    """Whether the pid is a live PostgreSQL process of this cluster's owner; a zombie of ours is buried."""
    if found.pid <= 0:
        return False
    try:
        process = psutil.Process(found.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            with suppress(ChildProcessError):
                os.waitpid(found.pid, os.WNOHANG)
            return False
        ours = WINDOWS or process.uids().real == cluster.stat().st_uid
        return bool(ours and process.name().startswith("postgres"))
    except psutil.Error:
        return False


def refuse_a_copy(found: Postmaster, cluster: Path) -> None:
    """A directory that was copied while its server ran holds the pid file of the original, whose server answers.

    A postmaster works in its data directory, which tells the two apart where there is a /proc to look into.
    Raises ConfigurationError.
    """
    process = Path("/proc") / str(found.pid)
    try:
        if (process / "comm").read_text("utf-8").strip() != "postgres" or (process / "cwd").samefile(cluster):
            return
    except OSError:
        return
    raise ConfigurationError(
        f"{cluster.parent} was copied while its server was running, and that server still runs elsewhere.",
        hint=f"Copy it again after everything that uses it was closed, or delete {cluster / 'postmaster.pid'}.",
    )


def clear_after(stale: Postmaster, cluster: Path) -> None:
    """Removes what a killed server left behind; PostgreSQL itself still checks that nobody uses its memory."""
    (cluster / "postmaster.pid").unlink(missing_ok=True)
    if stale.socket_dir:
        path = socket_path(Path(stale.socket_dir), stale.port)
        for left in (path, path.with_name(f"{path.name}.lock")):
            with suppress(OSError):
                left.unlink(missing_ok=True)
