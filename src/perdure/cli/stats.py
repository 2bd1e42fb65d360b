"""`perdure stats`: counts of spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from perdure.cli.as_data import optional_moment
from perdure.cli.call import Call, common
from perdure.cli.called import as_called
from perdure.cli.printing import Screen, local, moment, tell

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.store.usage import UsageRow
    from perdure.types import SpaceStats


@click.command(short_help="Count what spaces hold and what waits.")
@click.option("--all", "every", is_flag=True, help="Every space instead of one.")
@click.option("--usage", "days", type=int, metavar="DAYS", help="What language models were asked in so many days.")
@common
def stats(call: Call, *, every: bool, days: int | None) -> None:
    """Count the memories of a space, what waits in its queues, what failed, and name its embedding family.

    With --usage also what language models were asked, by day (UTC), purpose and model.
    """
    if every and call.space_given:
        raise click.UsageError("--all counts every space, --space one of them. Leave one of the two out.")

    async def work(memory: Memory) -> tuple[list[SpaceStats], dict[str, tuple[UsageRow, ...]]]:
        names = [space.name for space in await memory.spaces()] if every else [call.space_name]
        counts = [await memory.space(name).stats() for name in names]
        if days is None:
            return counts, {}
        return counts, {name: await memory.space(name).usage(days=days) for name in names}

    found, usage = call.run(work)

    def show(screen: Screen) -> None:
        if not found:
            screen.line(as_called("There is no space yet. `perdure save TEXT` or `perdure import FILE` makes one."))
            return
        rows = (
            (s.space, f"{s.memories:,}", f"{s.pending:,}", f"{s.failed:,}", s.family or "-", local(s.created_at))
            for s in found
        )
        screen.table(["space", "memories", "waiting", "failed", "embedding family", "made"], rows, right=[1, 2, 3])
        if days is not None:
            _show_usage(screen, usage, days)

    for each in found:
        if each.paused and each.pending:
            tell(f"{each.space}: {each.paused}.")
    if any(each.pending for each in found):
        tell(as_called("What waits becomes memories by a worker, or now by `perdure drain --all`."))
    documents = [_data(each) | _usage_data(usage.get(each.space)) for each in found]
    call.answer({"spaces": documents} if every else documents[0], show)


def _data(stats: SpaceStats) -> dict[str, object]:
    return {
        "space": stats.space,
        "memories": stats.memories,
        "documents": stats.documents,
        "pending": stats.pending,
        "oldest_pending": optional_moment(stats.oldest_pending),
        "failed": stats.failed,
        "family": stats.family,
        "created_at": moment(stats.created_at),
        "waiting": dict(stats.waiting),
        "model_calls": stats.model_calls,
        "model_tokens": stats.model_tokens,
        "paused": stats.paused,
    }


def _show_usage(screen: Screen, usage: Mapping[str, Sequence[UsageRow]], days: int) -> None:
    rows = [
        (
            space,
            row.day.isoformat(),
            row.call_site,
            row.model,
            f"{row.calls:,}",
            f"{row.failures:,}",
            f"{row.prompt_tokens:,}",
            f"{row.completion_tokens:,}",
            f"{row.latency_ms / row.calls / 1000:.1f}",
        )
        for space, found in usage.items()
        for row in found
    ]
    screen.line("")
    if not rows:
        screen.line(f"No language model was asked in {days} days.")
        return
    headings = ["space", "day", "for", "model", "calls", "failed", "tokens in", "out", "s each"]
    screen.table(headings, rows, right=[4, 5, 6, 7, 8])


def _usage_data(usage: Sequence[UsageRow] | None) -> dict[str, object]:
    if usage is None:
        return {}
    return {"usage": [{**asdict(row), "day": row.day.isoformat()} for row in usage]}
