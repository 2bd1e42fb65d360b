"""`perdure export`: a whole space as a file, and how `perdure import` takes such a file in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common
from perdure.cli.printing import one_line, tell
from perdure.cli.words import counted
from perdure.clock import DatabaseClock

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.memory import Memory
    from perdure.transfer import Exported, Imported

QUIET_S = 3.0
"""Seconds between two lines of progress."""


@click.command(short_help="Write all that a space holds to a file.")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--with-vectors", is_flag=True, help="Take the vectors along: larger, and nothing is embedded anew.")
@common
def export(call: Call, *, path: Path, with_vectors: bool) -> int:
    """Write a space to PATH: memories, evidence, history, facts, documents, conclusions and what waits.

    It is JSON Lines, compressed where PATH ends in .gz, as the space was at one moment; docs/export.md has the format.
    `perdure import PATH` makes a space of it again, in any database and with any embedding model.
    """

    async def work(memory: Memory) -> Exported:
        progress = _Lines(path.name)
        return await memory.export_space(
            call.space_name, path, vectors=with_vectors, progress=lambda done, of: progress.tell("rows", done, of)
        )

    exported = call.run(work)
    document: dict[str, object] = {
        "space": call.space_name,
        "path": str(path),
        "rows": exported.rows,
        "counts": exported.counts,
        "vectors": exported.vectors,
    }
    call.answer(
        document,
        lambda screen: screen.line(f"Space {call.space_name} is in {path}: {_told(exported.counts)}."),
    )
    return 0


def import_export(call: Call, path: Path) -> int:
    """Takes in a file that `perdure export` wrote: as the space that it was, or the one that --space names."""
    name = call.space_name if call.space_given else None

    async def work(memory: Memory) -> Imported:
        progress = _Lines(path.name)
        return await memory.import_space(path, name=name, progress=progress.tell)

    imported = call.run(work)
    document: dict[str, object] = {
        "space": imported.space,
        "path": str(path),
        "rows": imported.rows,
        "counts": dict(imported.counts),
        "embedded": imported.embedded,
    }

    def show(screen: Screen) -> None:
        screen.line(f"Space {imported.space} is here: {_told(imported.counts)}.")
        if imported.embedded:
            screen.line(f"{counted(imported.embedded, 'memory', 'memories')} embedded with the model at hand.")

    call.answer(document, show)
    return 0


class _Lines:
    """A line on stderr now and then."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._clock = DatabaseClock()
        self._told = self._clock.monotonic()

    def tell(self, step: str, done: int, of: int) -> None:
        if self._clock.monotonic() - self._told >= QUIET_S:
            self._told = self._clock.monotonic()
            tell(f"{one_line(self._name)}: {step} {done:,} of {of:,}")


def _told(counts: Mapping[str, int]) -> str:
    facts = counts.get("server_memories", 0) + counts.get("personal_memories", 0)
    waiting = sum(count for table, count in counts.items() if table.startswith("pending_"))
    parts = [
        counted(counts.get("memories", 0), "memory", "memories"),
        *([counted(facts, "fact")] if facts else []),
        *([counted(counts["documents"], "document")] if counts.get("documents") else []),
        *([f"{waiting:,} waiting"] if waiting else []),
        counted(sum(counts.values()), "row"),
    ]
    return ", ".join(parts)
