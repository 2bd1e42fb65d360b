"""What `perdure doctor` looks at. Each check ends in a finding, never in an error; what can't be reached is skipped."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import stat
import sys
from contextlib import ExitStack
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import perdure
from perdure.cli.checkup_database import examine_database, examine_keys
from perdure.cli.checkup_models import examine_models
from perdure.cli.finding import Finding
from perdure.clock import DatabaseClock, wall_clock
from perdure.embedding import Embedder
from perdure.errors import PerdureError
from perdure.memory import Memory, configured_embedder, require_urls
from perdure.settings import PREFIX, Settings, load_settings
from perdure.store.embedded import EmbeddedServer
from perdure.store.embedded_os import default_data_dir, running_as_root
from perdure.store.migrate import migrate
from perdure.store.roles import APP, WORKER
from perdure.types import SpaceStats

ANOTHER_DIRECTORY: Final = "Set PERDURE_DATA_DIR, or --data-dir, to a directory of your own."
NOT_SETTINGS: Final = ("space", "debug", "mail_password", "calendar_password")
"""Variables of the command line alone."""
FEW_BYTES: Final = 100 * 1024**2
"""Free disk space below which writes are about to fail."""
LOW_BYTES: Final = 1024**3
SLOW_EMBEDDING_S: Final = 0.25
STALE: Final = timedelta(minutes=15)
"""Queued exchanges older than three heartbeats: no worker seems to run."""


async def examine(data_dir: Path | None) -> list[Finding]:
    """All checks, in an order in which each may rely on those before it."""
    found = [_python()]
    try:
        settings = load_settings(data_dir=data_dir)
        require_urls(settings)
    except PerdureError as error:
        return [*found, _failure("settings", error)]
    found += _unknown_variables()
    found += await _embedder(settings)
    with ExitStack() as stack:
        owner_url = None
        if settings.database_url is None:
            found.append(_data_dir(settings.data_dir or default_data_dir()))
            try:
                server = await asyncio.to_thread(EmbeddedServer.open, settings.data_dir)
            except PerdureError as error:
                return [*found, _failure("database", error)]
            stack.callback(server.close)
            owner_url = url = server.urls.owner
            # As at every opening; on a server of the user's own that is left to `init`.
            await asyncio.to_thread(migrate, owner_url)
            found.append(Finding("server", "ok", f"embedded PostgreSQL {server.version}; log: {server.log_path}"))
        else:
            url = settings.database_url.get_secret_value()
            found.append(Finding("server", "ok", "your own (PERDURE_DATABASE_URL)"))
            if settings.database_owner_url is not None:
                owner_url = settings.database_owner_url.get_secret_value()
        try:
            found += await asyncio.to_thread(lambda: [*examine_database(settings, url, owner_url)])
            async with Memory.open(data_dir=data_dir, worker=False) as memory:
                found += await _memory(memory)
        except PerdureError as error:
            found.append(_failure("database", error))
    return found


def _python() -> Finding:
    where = f"{platform.system()} {platform.machine()}"
    return Finding("python", "ok", f"Perdure {perdure.__version__} on Python {platform.python_version()}, {where}")


def _unknown_variables() -> list[Finding]:
    """Variables that look like settings and are none: misspelt, mostly."""
    known = {f"{PREFIX}{name.upper()}" for name in (*Settings.model_fields, *NOT_SETTINGS)}
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    found = []
    for name in unknown:
        near = get_close_matches(name, known, 1)
        advice = f"Did you mean {near[0]}?" if near else "docs/settings.md lists all settings."
        found.append(Finding("environment", "warn", f"{name} is no setting; it is ignored", advice))
    return found


async def _embedder(settings: Settings) -> list[Finding]:
    """The model answers, and how quickly. The first text includes loading it."""
    try:
        embedder = configured_embedder(settings)
    except PerdureError as error:
        return [_failure("embedding model", error)]
    try:
        first, second = [await _timed(embedder, text) for text in ("Where are the bikes?", "Who has the spare key?")]
    except PerdureError as error:
        return [_failure("embedding model", error)]
    finally:
        await embedder.close()
    family = embedder.family
    detail = (
        f"{family.name} ({family.model}), {family.dimensions} dimensions; a text takes {second * 1000:.0f} ms, "
        f"the first one {first:.1f} s"
    )
    if second > SLOW_EMBEDDING_S:
        advice = "Slow: recall has 2 s for everything. Is the machine busy, or the endpoint far away?"
        return [Finding("embedding model", "warn", detail, advice)]
    return [Finding("embedding model", "ok", detail)]


async def _timed(embedder: Embedder, text: str) -> float:
    clock = DatabaseClock()
    began = clock.monotonic()
    await embedder.embed([text], "query")
    return clock.monotonic() - began


def _data_dir(path: Path) -> Finding:
    """Whether the directory can be used, who may read it, and how much space is left where it is or will be."""
    try:
        existing = path
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
    except OSError as error:
        return Finding("data directory", "fail", f"{path}: {error.strerror}", ANOTHER_DIRECTORY)
    return _unusable(path, existing) or _room_and_access(path, existing)


def _unusable(path: Path, existing: Path) -> Finding | None:
    if not existing.is_dir():
        what = "is a file" if existing == path else f"can't be made, as {existing} is a file"
        return Finding("data directory", "fail", f"{path} {what}", ANOTHER_DIRECTORY)
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        return Finding("data directory", "fail", f"{path}: you may not write in {existing}", ANOTHER_DIRECTORY)
    return None


def _room_and_access(path: Path, existing: Path) -> Finding:
    free = shutil.disk_usage(existing).free
    detail = f"{path}, {free / 1024**3:.1f} GiB free"
    if free < FEW_BYTES:
        return Finding("data directory", "fail", detail, "Make room, or set PERDURE_DATA_DIR to another disk.")
    if path.exists() and sys.platform != "win32":
        mode = stat.S_IMODE(path.stat().st_mode)
        # Root's directory can be passed through by the account that runs the server, never listed.
        if mode & (0o066 if running_as_root() else 0o077):
            advice = f"Others can read it. `chmod {'711' if running_as_root() else '700'} {path}`"
            return Finding("data directory", "warn", f"{detail}, mode {mode:o}", advice)
    if free < LOW_BYTES:
        return Finding("data directory", "warn", detail, "Less than 1 GiB is left on its disk.")
    return Finding("data directory", "ok", detail if path.exists() else f"{detail}, not made yet")


async def _memory(memory: Memory) -> list[Finding]:
    """Opening it has checked roles and family; then what lies in the spaces."""
    family = memory.resources.family
    found = [
        Finding("roles", "ok", f"{APP} and {WORKER} log in; neither owns tables or can bypass row-level security"),
        Finding("embedding family", "ok", f"{family.name}, index {family.index_name or 'none (too many dimensions)'}"),
        *await examine_models(memory.resources.models),
        examine_keys(await memory.keys()),
    ]
    spaces = [await memory.space(row.name).stats() for row in await memory.spaces()]
    others = [space for space in spaces if space.family not in {None, family.name}]
    total = sum(space.memories for space in spaces)
    found.append(Finding("spaces", "ok", f"{len(spaces)} with {total:,} memories"))
    if others:
        names = ", ".join(f"{space.space} ({space.family})" for space in others[:5])
        advice = "Configure the model that they were made with to use them."
        found.append(Finding("other models", "warn", f"embedded by another model: {names}", advice))
    return [*found, *_queues(spaces)]


def _queues(spaces: list[SpaceStats]) -> list[Finding]:
    waiting = sum(space.pending for space in spaces)
    failed = sum(space.failed for space in spaces)
    oldest = min((space.oldest_pending for space in spaces if space.oldest_pending), default=None)
    return [_backlog(waiting, oldest), *_paused(spaces), _failures(failed)]


def _backlog(waiting: int, oldest: datetime | None) -> Finding:
    if oldest is None:
        return Finding("queue", "ok", "nothing waits")
    age = wall_clock() - oldest
    detail = f"{waiting:,} wait in the queues, the oldest for {age.total_seconds() / 60:.0f} min"
    if age > STALE:
        advice = "No worker seems to run. `perdure worker` is one; `Memory.open()` in a program that stays open, too."
        return Finding("queue", "warn", detail, advice)
    return Finding("queue", "ok", detail)


def _paused(spaces: list[SpaceStats]) -> list[Finding]:
    paused = [space for space in spaces if space.paused and space.pending]
    if not paused:
        return []
    names = ", ".join(space.space for space in paused[:5])
    advice = "Set here what the others have set: PERDURE_THINKER_URL, PERDURE_SUBAGENT_URL; or raise a daily budget."
    return [Finding("what waits for a model", "warn", f"{names}: {paused[0].paused}", advice)]


def _failures(failed: int) -> Finding:
    if failed:
        advice = "`perdure failed list --space NAME` shows why, `perdure failed replay --space NAME` tries them again."
        return Finding("failed operations", "warn", f"{failed:,}", advice)
    return Finding("failed operations", "ok", "none")


def _failure(name: str, error: PerdureError) -> Finding:
    return Finding(name, "fail", error.message, error.hint)
