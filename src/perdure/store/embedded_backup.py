"""Backups of the embedded server: one file of everything, made while it runs, and a new data directory from it.

It is PostgreSQL's own dump (custom format), so that its tools can read it, too.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from perdure.errors import ConfigurationError, DatabaseUnavailable, InvalidInput
from perdure.store.embedded import DATABASE, EmbeddedServer
from perdure.store.embedded_os import programs_directory

MAGIC: Final = b"PGDMP"
TOLD_EVERY_S: Final = 3.0
_POLL_S: Final = 0.05
_TAIL: Final = 400


def back_up(server: EmbeddedServer, path: Path, progress: Callable[[str], None]) -> int:
    """Writes everything to a file, as it was at one moment; writers go on. Its size in bytes.

    There is no file before it is whole. It holds all memories: keep it as safe as the data directory.

    Raises:
        InvalidInput: the file can't be written. DatabaseUnavailable: the dump failed.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.touch(0o600)
        _run("pg_dump", server.admin_url, ["--format=custom", "--compress=gzip:3", "--file", str(part)], part, progress)
        part.replace(path)
    except OSError as error:
        raise InvalidInput("file", str(path), f"it can't be written ({error.strerror or error})") from None
    finally:
        part.unlink(missing_ok=True)
    return path.stat().st_size


def restore(path: Path, data_dir: Path, progress: Callable[[str], None]) -> None:
    """Makes a data directory of a backup. Building the indexes of vectors takes as long as it did at first.

    Raises:
        InvalidInput: the file is no backup. ConfigurationError: the directory holds something already.
        DatabaseUnavailable: it could not be restored; the directory is to be removed.
    """
    try:
        with path.open("rb") as file:
            sound = file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise InvalidInput("file", str(path), f"it can't be read ({error.strerror or error})") from None
    if not sound:
        raise InvalidInput("file", path.name, "it is no backup of `perdure backup`")
    if data_dir.exists() and any(data_dir.iterdir()):
        raise ConfigurationError(
            f"{data_dir} holds something already.", hint="Name a directory that isn't there yet: --data-dir DIRECTORY."
        )
    with closing(EmbeddedServer.open(data_dir, progress=progress)) as server:
        options = ["--exit-on-error", "--single-transaction", "--dbname", DATABASE, str(path)]
        _run("pg_restore", server.admin_url, options, None, progress)


def _run(program: str, url: str, options: list[str], growing: Path | None, progress: Callable[[str], None]) -> None:
    """Runs one of PostgreSQL's programs; the password goes by the environment, where others can't read it."""
    parts = urlsplit(url)
    where = dict(parse_qsl(parts.query))
    login = {
        "PGHOST": where.get("host") or parts.hostname or "",
        "PGPORT": where.get("port") or str(parts.port or ""),
        "PGUSER": unquote(parts.username or ""),
        "PGPASSWORD": unquote(parts.password or ""),
        "PGDATABASE": DATABASE,
    }
    command = [str(programs_directory(None) / program), "--no-password", *options]
    process = subprocess.Popen(  # noqa: S603 - the program is the embedded server's own
        command, env=os.environ | login, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        waited = 0.0
        while process.poll() is None:
            time.sleep(_POLL_S)
            waited += _POLL_S
            if waited >= TOLD_EVERY_S:
                waited = 0.0
                written = f": {growing.stat().st_size / 1e6:,.0f} MB" if growing is not None else ""
                progress(f"{program}{written} ...")
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0:
        said = process.stderr.read().decode("utf-8", "replace").strip()[:_TAIL]
        raise DatabaseUnavailable(f"{program} failed: {said}", hint="Is there room on the disk?")
