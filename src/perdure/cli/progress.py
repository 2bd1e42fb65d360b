"""How far long work is: a bar on a terminal, a line now and then anywhere else; always on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from perdure.cli.printing import one_line, tell
from perdure.clock import DatabaseClock

QUIET_S: Final = 5.0
"""Seconds between two lines where there is no terminal."""


class ByteProgress(Protocol):
    """Told after each batch how many bytes of the file and how many messages are done."""

    def reached(self, bytes_read: int, messages: int) -> None: ...


class _Lines:
    def __init__(self, name: str, total_bytes: int) -> None:
        self._name, self._total = name, total_bytes
        self._clock = DatabaseClock()
        self._told = self._clock.monotonic()

    def reached(self, bytes_read: int, messages: int) -> None:
        if self._clock.monotonic() - self._told >= QUIET_S:
            self._told = self._clock.monotonic()
            tell(f"{self._name}: {100 * bytes_read / self._total:.0f} % ({messages:,} messages)")


@contextmanager
def byte_progress(name: str, total_bytes: int) -> Iterator[ByteProgress]:
    """Progress through a file of `total_bytes`."""
    if not sys.stderr.isatty():
        yield _Lines(name, total_bytes)
        return
    from rich.console import Console  # noqa: PLC0415 - not needed without a terminal
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[messages]:,} messages", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(one_line(name), total=total_bytes, messages=0)

        class Bar:
            def reached(self, bytes_read: int, messages: int) -> None:
                bar.update(task, completed=bytes_read, messages=messages)

        yield Bar()


@contextmanager
def count_progress(name: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Progress through `total` pieces of work; what is yielded is told how many are done."""
    if not sys.stderr.isatty():
        clock = DatabaseClock()
        told = clock.monotonic()

        def tell_now_and_then(done: int) -> None:
            nonlocal told
            if clock.monotonic() - told >= QUIET_S:
                told = clock.monotonic()
                tell(f"{name}: {done:,} of {total:,} {unit}")

        yield tell_now_and_then
        return
    from rich.console import Console  # noqa: PLC0415 - not needed without a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit, markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(one_line(name), total=total)
        yield lambda done: bar.update(task, completed=done)
