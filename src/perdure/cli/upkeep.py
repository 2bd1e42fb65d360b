"""`perdure upkeep`: what time does to memories, now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, audience_option, common
from perdure.cli.failing import FAILED
from perdure.cli.printing import tell
from perdure.cli.words import counted

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.memory import Memory
    from perdure.upkeep import PrunedMemory, UpkeepReport

WHY = {"superseded": "superseded for its grace", "faded": "faded, and never used"}


@click.command(short_help="Let memories fade, and prune what has had its time.")
@click.option("--all", "every", is_flag=True, help="Every space instead of one.")
@click.option("--dry-run", is_flag=True, help="Change nothing; list what would go, and why.")
@audience_option
@common
def upkeep(call: Call, *, every: bool, dry_run: bool, audience: str | None) -> int:
    """Take off the decay that is due, and prune what was superseded or has faded unused.

    A worker does this by itself. What is pruned no longer turns up, but `perdure search --as-of` still answers with it.
    """
    if every and call.space_given:
        raise click.UsageError("--all keeps every space up, --space one of them. Leave one of the two out.")

    async def work(memory: Memory) -> dict[str, UpkeepReport]:
        names = [space.name for space in await memory.spaces()] if every else [call.space_name]
        return {name: await memory.space(name, audience=audience).upkeep(dry_run=dry_run) for name in names}

    reports = call.run(work)

    def show(screen: Screen) -> None:
        for name, report in reports.items():
            _show(screen, name, report, dry_run=dry_run)

    call.answer({"dry_run": dry_run, "spaces": [_data(name, report) for name, report in reports.items()]}, show)
    for name, report in reports.items():
        if report.busy:
            tell(f"Space {name} is being kept up by somebody else; nothing was done.")
        if report.awkward:
            many = counted(len(report.awkward), "memory", "memories")
            tell(f"perdure: {many} of space {name} could not be kept up: see the log.")
    return FAILED if any(report.awkward for report in reports.values()) else 0


def _show(screen: Screen, name: str, report: UpkeepReport, *, dry_run: bool) -> None:
    gone = sum(report.pruned.values())
    screen.line(f"{name}: {gone:,} would go." if dry_run else f"{name}: {report.aged:,} aged, {gone:,} pruned.")
    if dry_run and report.listed:
        screen.table(
            ["id", "days", "why", "memory"],
            [[str(each.id), f"{each.age_days:.0f}", WHY[each.reason], each.summary] for each in report.listed],
            right=(0, 1),
        )
    if dry_run and gone > len(report.listed):
        screen.line(f"and {gone - len(report.listed):,} more, or of another audience")


def _data(name: str, report: UpkeepReport) -> dict[str, object]:
    return {
        "space": name,
        "aged": report.aged,
        "pruned": dict(report.pruned),
        "memories": [_memory(memory) for memory in report.listed],
        "retired": dict(report.retired),
        "awkward": [str(memory_id) for memory_id in report.awkward],
        "busy": report.busy,
        "finished": report.finished,
    }


def _memory(memory: PrunedMemory) -> dict[str, object]:
    return {
        "id": str(memory.id),
        "summary": memory.summary,
        "reason": memory.reason,
        "salience": memory.salience,
        "age_days": memory.age_days,
    }
