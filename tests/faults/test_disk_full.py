"""A disk that is full: a typed error, nothing acknowledged is lost, and it works again when there is room."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL

import psycopg
import pytest

from perdure import Memory
from perdure.errors import DatabaseUnavailable
from perdure.store.embedded import EmbeddedServer
from perdure.store.migrate import migrate
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

DISK_BYTES = 160 * 2**20
LEFT_BYTES = 3 * 2**20
LONGEST_FILE = 17 * 2**20
"""A little more than a file of the journal."""
MOST_CALLS = 400


class SmallDisk:
    """A data directory on a file system of its own, which can be filled up."""

    told = "disk of the database is full"
    refusals: tuple[type[Exception], ...] = (DatabaseUnavailable,)

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> None:
        state = os.statvfs(self.path)
        with (self.path / "filler").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, state.f_bavail * state.f_frsize - LEFT_BYTES))

    def empty(self) -> None:
        (self.path / "filler").unlink()


class SmallFiles(SmallDisk):
    """Where nothing can be mounted: a server that may not make a file longer than its journal's, until it is restarted.

    The limit is this process's, which it inherits.
    """

    told = ""
    # PostgreSQL knows no SQLSTATE for this one and calls it an internal error of its own.
    refusals = (DatabaseUnavailable, psycopg.errors.InternalError_)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        _limit_files(LONGEST_FILE)

    def fill(self) -> None:
        return

    def empty(self) -> None:
        _limit_files(resource.getrlimit(resource.RLIMIT_FSIZE)[1])


def _limit_files(longest: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (longest, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@contextmanager
def _mounted(path: Path) -> Iterator[bool]:
    """A tmpfs at `path`, where this process may mount one."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(path)]
    mounted = shutil.which("mount") is not None and not subprocess.run(command, check=False, stderr=DEVNULL).returncode
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    path = tmp_path / "disk"
    path.mkdir()
    # The server may run as somebody else.
    for parent in (path, tmp_path):
        parent.chmod(0o755)
    with _mounted(path) as mounted:
        disk = SmallDisk(path) if mounted else SmallFiles(path)
        yield disk
        if not mounted:
            disk.empty()


async def test_a_full_disk_is_told_as_such_and_nothing_acknowledged_is_lost(disk: SmallDisk) -> None:
    with EmbeddedServer.open(disk.path / "data") as server:
        migrate(server.urls.owner)
        async with open_memory(server.urls, HashedEmbedder()) as memory:
            await _save(memory, 0)
            disk.fill()
            saved, error = await _save_until_it_fails(memory, 1, disk)
            assert disk.told in str(error)
            # While it is, a call fails as such again, and a turn goes on.
            saved, error = await _save_until_it_fails(memory, saved, disk)
            recall = await memory.space("ada").recall("Which stone weighs 0 pounds?")
            assert recall.memories or recall.degraded
            disk.empty()
    # A server that could not even keep its journal has ended itself: the next to open it starts it again.
    with EmbeddedServer.open(disk.path / "data") as server:
        async with open_memory(server.urls, HashedEmbedder()) as memory:
            for number in range(saved, saved + 5):
                await _save(memory, number)
            for number in range(saved + 5):
                chunks = await memory.space("ada").list(limit=1000, conversation_id=str(number))
                assert Counter(chunk.chunk_no for chunk in chunks) == Counter(range(len(chunks))), number
                assert len(chunks) > 1


async def _save_until_it_fails(memory: Memory, first: int, disk: SmallDisk) -> tuple[int, Exception]:
    """Saves one text after another; returns the number of the first that was not acknowledged."""
    for number in range(first, first + MOST_CALLS):
        try:
            await _save(memory, number)
        except disk.refusals as error:
            return number, error
    raise AssertionError("the disk never was full")


async def _save(memory: Memory, number: int) -> None:
    """A text of about 50 kB, of words that hardly shrink."""
    words = " ".join(f"{number * 7919 + place * 104_729:x}" for place in range(6000))
    text = f"Stone {number} weighs {number} pounds. {words}"
    await memory.space("ada").save(text, conversation_id=str(number), operation_id=f"stone-{number}")
