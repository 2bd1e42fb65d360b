"""`perdure forget`: erasing for good."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, audience_option, common
from perdure.cli.failing import FAILED
from perdure.cli.printing import one_line, tell

if TYPE_CHECKING:
    from perdure.ingest import Receipt
    from perdure.memory import Memory
    from perdure.types import StoredMemory


@click.command(short_help="Erase memories for good.")
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Don't ask. Needed where there is nobody to ask.")
@audience_option
@common
def forget(
    call: Call,
    *,
    memory_ids: tuple[str, ...],
    yes: bool,
    audience: str | None,
) -> int:
    """Erase memories with everything known of them: chunks, words, vectors, evidence, history. Can't be undone."""
    if not yes and (call.as_json or not sys.stdin.isatty()):
        raise click.UsageError("forget erases for good, and there is nobody to ask. Add --yes if you mean it.")

    async def look(memory: Memory) -> list[StoredMemory]:
        space = call.space(memory, audience)
        return [await space.get(each) for each in memory_ids]  # type: ignore[arg-type]  # the door reads digits

    if not yes:
        for found in call.run(look):
            tell(f"#{found.id}  {one_line(found.summary)[:200]}")
        if not click.confirm("Erase for good?", err=True):
            tell("Nothing was erased.")
            return FAILED

    async def work(memory: Memory) -> Receipt:
        return await call.space(memory, audience).forget(*memory_ids)  # type: ignore[arg-type]

    receipt = call.run(work)
    ids = [str(number) for number in receipt.ids]
    told = f"Erased {', '.join(f'#{number}' for number in ids)} from space {call.space_name}."
    call.answer({"space": call.space_name, "erased": ids}, lambda screen: screen.line(told))
    return 0
