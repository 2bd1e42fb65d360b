"""`perdure stats`: counts of spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.as_data import optional_moment
from perdure.cli.call import Call, common
from perdure.cli.called import as_called
from perdure.cli.printing import Screen, local, moment, tell

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.types import SpaceStats


@click.command(short_help="Count what spaces hold and what waits.")
@click.option("--all", "every", is_flag=True, help="Every space instead of one.")
@common
def stats(call: Call, *, every: bool) -> None:
    """Count the memories of a space, what waits in its queue, what failed, and name its embedding family."""
    if every and call.space_given:
        raise click.UsageError("--all counts every space, --space one of them. Leave one of the two out.")

    async def work(memory: Memory) -> list[SpaceStats]:
        names = [space.name for space in await memory.spaces()] if every else [call.space_name]
        return [await memory.space(name).stats() for name in names]

    found = call.run(work)

    def show(screen: Screen) -> None:
        if not found:
            screen.line(as_called("There is no space yet. `perdure save TEXT` or `perdure import FILE` makes one."))
            return
        rows = (
            (s.space, f"{s.memories:,}", f"{s.pending:,}", f"{s.failed:,}", s.family or "-", local(s.created_at))
            for s in found
        )
        screen.table(["space", "memories", "waiting", "failed", "embedding family", "made"], rows, right=[1, 2, 3])

    if any(each.pending for each in found):
        tell(as_called("What waits becomes memories by a worker, or now by `perdure drain --all`."))
    documents = [_data(each) for each in found]
    call.answer({"spaces": documents} if every else documents[0], show)


def _data(stats: SpaceStats) -> dict[str, object]:
    return {
        "space": stats.space,
        "memories": stats.memories,
        "pending": stats.pending,
        "oldest_pending": optional_moment(stats.oldest_pending),
        "failed": stats.failed,
        "family": stats.family,
        "created_at": moment(stats.created_at),
    }
