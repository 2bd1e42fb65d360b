"""`perdure restore`: a superseded memory lives again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.as_data import memory_data
from perdure.cli.call import Call, audience_option, common
from perdure.cli.ids import called_for

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.types import StoredMemory


@click.command(short_help="Bring a replaced memory back.")
@click.argument("written_id", metavar="ID")
@audience_option
@common
def restore(call: Call, *, written_id: str, audience: str | None) -> None:
    """Bring a memory back that a newer one replaced; the newer one stays, too.

    `perdure list --superseded` shows what was replaced.
    """

    async def work(memory: Memory) -> tuple[StoredMemory, StoredMemory]:
        space = call.space(memory, audience)
        before = await called_for(call, space, written_id)
        return before, await space.restore(before.id)

    before, after = call.run(work)
    done = "lives again" if before.superseded_at is not None else "was never replaced; nothing changed"
    call.answer(
        {"memory": memory_data(after), "restored": before.superseded_at is not None},
        lambda screen: screen.line(f"#{after.id} {done}."),
    )
