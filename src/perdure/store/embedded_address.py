"""Where the embedded server listens: beside its cluster, or where that can't be, in a private directory below /tmp."""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from perdure.store.embedded_os import WINDOWS, Account, can_reach, hand_over, make_directory
from perdure.store.postmaster import PORT, socket_path

# What the kernel takes for the path of a socket: 108 bytes on Linux, 104 on macOS, with the final zero.
_SOCKET_PATH_BYTES: Final = 103


def choose_address(cluster: Path, account: Account | None) -> tuple[Path, int]:
    """Where to listen: the same place as before if that is still there, so that open handles find it again."""
    if WINDOWS:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return cluster, int(probe.getsockname()[1])
    beside = cluster.parent / "run"
    fits = len(os.fsencode(socket_path(beside, PORT))) < _SOCKET_PATH_BYTES
    if fits and can_reach(cluster.parent, account):
        if make_directory(beside, 0o700):
            hand_over(beside, account)
        return beside, PORT
    previous = _configured_directory(cluster)
    if previous is not None and _is_private(previous, account):
        return previous, PORT
    made = Path(tempfile.mkdtemp(prefix="perdure-", dir="/tmp"))  # fresh, 0700, and short
    hand_over(made, account)
    return made, PORT


def remove_socket_directory(directory: Path) -> None:
    """Removes the directory of a stopped server's socket, if it is one of its own below /tmp."""
    if directory.parent == Path("/tmp"):  # noqa: S108 - the one that choose_address made
        with suppress(OSError):
            directory.rmdir()


def _configured_directory(cluster: Path) -> Path | None:
    try:
        lines = (cluster / "postgresql.conf").read_text("utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("unix_socket_directories = '/tmp/perdure-"):
            return Path(line.split("'")[1])
    return None


def _is_private(directory: Path, account: Account | None) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    owner = os.geteuid() if account is None else account.uid
    return directory.is_dir() and not directory.is_symlink() and found.st_uid == owner and not found.st_mode & 0o077
