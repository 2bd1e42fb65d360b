"""`perdure drain`: what was captured becomes memories now."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

import click

from perdure.cli.as_data import optional_moment
from perdure.cli.call import Call, common
from perdure.cli.called import as_called
from perdure.cli.failing import FAILED
from perdure.cli.printing import moment, tell
from perdure.cli.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perdure.cli.printing import Screen
    from perdure.ingest import DrainReport, Waiting
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
    followed_up = sum(report.followed_up for report in reports.values())
    outages = sorted({report.outage for report in reports.values() if report.outage})

    def show(screen: Screen) -> None:
        if not done + failed + waiting + followed_up:
            screen.line("Nothing waits.")
            return
        became = ", ".join(f"{count:,} {status}" for status, count in outcomes.items())
        told = f" ({became})" if became else ""
        screen.line(f"{done:,} drained{told}, {failed:,} failed, {waiting:,} still waiting.")
        _show_details(screen, reports, followed_up)
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
            "followed_up_outcomes": dict(report.followed_up_outcomes),
            "outcomes": dict(report.outcomes),
            "waits": [
                {"reason": wait.reason, "count": wait.count, "until": optional_moment(wait.until)}
                for wait in report.waits
            ],
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


def _show_details(screen: Screen, reports: Mapping[str, DrainReport], followed_up: int) -> None:
    if followed_up:
        screen.line(f"{counted(followed_up, 'question')} about stored memories settled.")
    for name, report in reports.items():
        for wait in report.waits:
            screen.line(f"{_waits(wait)}{f' ({name})' if len(reports) > 1 else ''}.")


def _waits(wait: Waiting) -> str:
    """What some rows wait for, in words."""
    until = f" until {moment(wait.until)}" if wait.until else ""
    return {
        "leased": f"{wait.count:,} held by a worker, the first one at most{until}",
        "backing_off": f"{wait.count:,} back off after a failure or an outage, the first one{until}",
        "due": f"{wait.count:,} could be drained, and wait for an earlier one or for what is said below",
    }[wait.reason]


async def tell_waiting(call: Call, memory: Memory) -> None:
    """One line on stderr if exchanges of the space wait, so that nobody misses what was just captured."""
    if await memory.find_space(call.space_name) is None:
        return
    waiting = (await call.space(memory).stats()).pending
    if waiting:
        verb, what = ("waits", "it into a memory") if waiting == 1 else ("wait", "them into memories")
        where = f" --space {shlex.quote(call.space_name)}" if call.space_given else ""
        tell(as_called(f"{counted(waiting, 'exchange')} {verb}; `perdure drain{where}` turns {what} now."))
