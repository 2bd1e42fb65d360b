"""`perdure audit`: who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common
from perdure.cli.printing import Screen, local, moment

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.store.audit import AuditEntry


@click.command(short_help="Show who changed what, when, and through which door.")
@click.option("--everywhere", is_flag=True, help="What belongs to no space, as keys, in place of a space's changes.")
@click.option("--since", metavar="TIME", help="Nothing from before, as 2026-05-01 or 2026-05-01T12:00Z.")
@click.option("--kind", metavar="VERB", help="Only this verb, as save, forget or create_key.")
@click.option("--limit", type=int, default=100, show_default=True, help="Entries at most, 1 to 10000.")
@common
def audit(call: Call, *, everywhere: bool, since: str | None, kind: str | None, limit: int) -> None:
    """Show the changes of a space, newest first: who, when, through which door, what kind, how many rows and which.

    The log never holds what a memory says, so it outlives what is forgotten. It is kept for PERDURE_AUDIT_DAYS.
    """
    if everywhere and call.space_given:
        raise click.UsageError("--everywhere is of no space, --space of one of them. Leave one of the two out.")

    async def work(memory: Memory) -> tuple[AuditEntry, ...]:
        space = None if everywhere else call.space_name
        return await memory.audit(space, since=since, kind=kind, limit=limit)

    found = call.run(work)

    def show(screen: Screen) -> None:
        if not found:
            screen.line("Nothing was changed.")
            return
        rows = (
            (local(each.happened_at), each.actor, each.door, each.kind, f"{each.touched:,}", " ".join(each.ids))
            for each in found
        )
        screen.table(["when", "who", "door", "what", "rows", "ids"], rows, right=[4])

    call.answer({"space": None if everywhere else call.space_name, "entries": [_data(each) for each in found]}, show)


def _data(entry: AuditEntry) -> dict[str, object]:
    return {
        "id": str(entry.id),
        "happened_at": moment(entry.happened_at),
        "actor": entry.actor,
        "door": entry.door,
        "kind": entry.kind,
        "touched": entry.touched,
        "ids": list(entry.ids),
    }
