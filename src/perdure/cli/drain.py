"""`perdure drain`: what was captured becomes memories now."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common
from perdure.cli.called import as_called
from perdure.cli.failing import FAILED
from perdure.cli.printing import tell
from perdure.cli.words import counted

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.ingest import DrainReport
    from perdure.memory import Memory


@click.command(short_help="Turn captured exchanges into memories now.")
@click.option("--all", "every", is_flag=True, help="Every space instead of one.")
@common
def drain(call: Call, *, every: bool) -> int:
    """Turn what waits in the queues (exchanges, mails, events, archives) into memories now.

    A program that keeps a Memory open does this by itself.
    """
    if every and call.space_given:
        raise click.UsageError("--all drains every space, --space one of them. Leave one of the two out.")

    off: tuple[str, ...] = ()

    async def work(memory: Memory) -> dict[str, DrainReport]:
        nonlocal off
        off = memory.resources.models.off()
        names = [space.name for space in await memory.spaces()] if every else [call.space_name]
        return {name: await memory.space(name).drain() for name in names}

    reports = call.run(work)
    done = sum(report.done for report in reports.values())
    failed = sum(report.failed for report in reports.values())
    waiting = sum(report.waiting for report in reports.values())
    outcomes: Counter[str] = sum((Counter(report.outcomes) for report in reports.values()), Counter())
    outages = sorted({report.outage for report in reports.values() if report.outage})

    def show(screen: Screen) -> None:
        if not done + failed + waiting:
            screen.line("Nothing waits.")
            return
        became = ", ".join(f"{count:,} {status}" for status, count in outcomes.items())
        told = f" ({became})" if became else ""
        screen.line(f"{done:,} drained{told}, {failed:,} failed, {waiting:,} still waiting.")
        if failed:
            tell(as_called("`perdure failed` shows what failed, and replays it."))

    if off and done:
        tell(f"Off without a language model: {', '.join(off)}.")
    for outage in outages:
        tell(f"perdure: {outage}")
    spaces = [
        {
            "space": name,
            "done": report.done,
            "failed": report.failed,
            "waiting": report.waiting,
            "followed_up": report.followed_up,
            "outcomes": dict(report.outcomes),
        }
        for name, report in reports.items()
    ]
    document: dict[str, object] = {
        "done": done,
        "failed": failed,
        "waiting": waiting,
        "outages": outages,
        "outcomes": dict(outcomes),
        "off": list(off),
    }
    call.answer(document | {"spaces": spaces}, show)
    return FAILED if failed or outages else 0


async def tell_waiting(call: Call, memory: Memory) -> None:
    """One line on stderr if exchanges of the space wait, so that nobody misses what was just captured."""
    if await memory.find_space(call.space_name) is None:
        return
    waiting = (await call.space(memory).stats()).pending
    if waiting:
        verb, what = ("waits", "it into a memory") if waiting == 1 else ("wait", "them into memories")
        where = f" --space {shlex.quote(call.space_name)}" if call.space_given else ""
        tell(as_called(f"{counted(waiting, 'exchange')} {verb}; `perdure drain{where}` turns {what} now."))
